// parallel_answer: plans for several ranks as lines and tables, for `laptime plan --ranks`; and the prices of devices.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/parallel_plan.h"
#include "config/option.h"
#include "report/answer.h"

namespace laptime {

enum class ParallelSort : uint8_t { kTime, kCost };
constexpr auto choices_of(ParallelSort) { return choices<ParallelSort>("time", "cost"); }

// Price per device and hour, keyed by the name of the machine.
using Prices = std::map<std::string, double>;

// Parses lines such as `h100 = 2.5`. Throws Error with the line number for an unknown machine, and for a price that is
// not a positive number.
Prices parse_prices(std::string_view text, std::string_view name);
Prices read_prices(const std::string& path);

struct ParallelQuery {
  double tokens = 1e9;  // tokens of the training whose time and cost are shown
  Prices prices{};
  ParallelSort sort = ParallelSort::kTime;
  bool verbose = false;
};

// A line for the best plan by `sort`, preferring plans that fit, and one row per plan: time, exposed communication,
// bytes by category, and options that make the plan fit.
PointAnswer parallel_answer(std::vector<ParallelPlan> plans, const ParallelQuery& query);

// Shows the result of best_plans: the fastest plan that fits, or the smallest if none fits, and why the next three are
// worse.
PointAnswer best_answer(const std::vector<ParallelPlan>& found, const ParallelQuery& query);

}  // namespace laptime
