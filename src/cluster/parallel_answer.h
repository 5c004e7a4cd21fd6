// parallel_answer: steps of several ranks planned and shown, for `laptime plan --ranks`; and the prices of devices.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cluster/parallel_plan.h"
#include "config/option.h"
#include "prepare/resolved_point.h"
#include "report/answer.h"

namespace laptime {

enum class ParallelSort : uint8_t { kTime, kCost };
constexpr auto choices_of(ParallelSort) { return choices<ParallelSort>("time", "cost"); }

// The price of one device per hour, keyed by priced_name().
using Prices = std::map<std::string, double>;

// The key of a described device in Prices: "h100" for roofline:h100, "my_gpu" for roofline:folder/my_gpu.toml.
std::string priced_name(std::string_view device);

// Parses lines such as `h100 = 2.5`; machines may be written as for --device. Throws Error with the line number for a
// machine that has two prices or is neither known nor in `planned`, and for a price that is not a positive number.
Prices parse_prices(std::string_view text, std::string_view name, const std::set<std::string>& planned = {});

// Reads the prices from the file that --price-file names; returns none if `file` is empty. Throws Error if plans are to
// be sorted by cost and a device has no price, or if two devices have the same name in the file.
Prices prices_of(const std::vector<std::string>& devices, const std::string& file, bool sorts);

struct ParallelQuery {
  std::optional<double> tokens{};  // of the whole training; none: its time is not shown
  Prices prices{};
  ParallelSort sort = ParallelSort::kTime;
  bool verbose = false;

  // The number of tokens for which a cost is shown.
  double priced_tokens() const { return tokens.value_or(1e9); }
};

// A line for the best plan by `sort`, preferring plans that fit, and one row per plan: time, exposed communication,
// bytes by category, and options that make the plan fit.
PointAnswer parallel_answer(std::vector<ParallelPlan> plans, const ParallelQuery& query);

// Shows the result of best_plans for one point and number of ranks: the fastest plan that fits, or the smallest if none
// fits, and why the next three are worse.
PointAnswer best_answer(const std::vector<ParallelPlan>& found, const ParallelQuery& query);

struct RankQuestion {
  std::vector<ResolvedPoint> points{};  // steps of a single rank on described machines
  // Each point is planned with every combination of these. A search ignores all but the numbers of ranks.
  std::vector<int64_t> ranks;
  std::vector<Shard> shards;
  std::vector<int64_t> tensors, pipelines;
  Program program = Program::kLaptime;
  bool searches = false;           // finds the best layouts
  bool follows_recompute = false;  // plans use their points' --recompute; otherwise they recompute nothing
};

// One comparison of all plans or, with `searches`, an answer per search. If there are several points or searches, a
// comparison of their best plans precedes these answers and states the reasons of searches that found none. An answer
// has a reason if none of its plans can be predicted. Throws Error for a point that is not a whole step, keeps its
// gradients for the next step, or has a --recompute that several ranks do not support.
std::vector<PointAnswer> rank_answers(const RankQuestion& question, const ParallelQuery& query);

}  // namespace laptime
