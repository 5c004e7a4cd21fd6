// parallel_answer: steps of several ranks as lines and tables, for `laptime plan --ranks`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/parallel_plan.h"
#include "report/answer.h"

namespace laptime {

enum class ParallelSort : uint8_t { kTime, kCost };
constexpr auto choices_of(ParallelSort) {
  return std::array{Choice<ParallelSort>{ParallelSort::kTime, "time"},
                    Choice<ParallelSort>{ParallelSort::kCost, "cost"}};
}

// Prices of an hour of one device, by the name of its machine. Error as read_prices.
using Prices = std::map<std::string, double>;

// Lines such as `h100 = 2.5`. Error with the place for anything but a positive number, and for an unknown machine.
Prices parse_prices(std::string_view text, std::string_view name);
Prices read_prices(const std::string& path);

struct ParallelQuery {
  double tokens = 1e9;  // of the training whose time and cost are told
  Prices prices{};
  ParallelSort sort = ParallelSort::kTime;
  bool verbose = false;
};

// A row for each plan: time, what of it is exposed, bytes by category, and what makes it fit.
PointAnswer parallel_answer(std::vector<ParallelPlan> plans, const ParallelQuery& query);

// Tells the result of best_plans: the fastest that fits, and why the next three are not it.
PointAnswer best_answer(const std::vector<ParallelPlan>& found, const ParallelQuery& query);

}  // namespace laptime
