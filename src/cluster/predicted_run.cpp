// Predicts published figures from the predicted time and memory of a step.
#include "cluster/predicted_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/error.h"
#include "base/words.h"

namespace laptime {
namespace {

// Published peaks of memory lie between these multiples of the prediction (docs/predictions.md).
constexpr double kMemoryLow = 0.9;
constexpr double kMemoryHigh = 1.25;

// The quantity that a figure states: a time, a rate that follows from the time of a step, or peak memory.
enum class Quantity : uint8_t {
  kTokensOfRank,
  kTokens,
  kFlops,
  kMfu,
  kHfu,
  kStep,
  kForward,
  kBackward,
  kForwardBackward,
  kMemory
};

std::optional<Quantity> quantity_of(std::string_view word) {
  static const std::map<std::string_view, Quantity> kQuantities{{"tokens_per_s_per_gpu", Quantity::kTokensOfRank},
                                                                {"tokens_per_s", Quantity::kTokens},
                                                                {"tflops_per_gpu", Quantity::kFlops},
                                                                {"mfu", Quantity::kMfu},
                                                                {"hfu", Quantity::kHfu},
                                                                {"step_time_s", Quantity::kStep},
                                                                {"forward_time_s", Quantity::kForward},
                                                                {"inference_time_s", Quantity::kForward},
                                                                {"backward_time_s", Quantity::kBackward},
                                                                {"forward_backward_time_s", Quantity::kForwardBackward},
                                                                {"peak_memory_gib", Quantity::kMemory}};
  const auto found = kQuantities.find(word);
  return found == kQuantities.end() ? std::nullopt : std::optional(found->second);
}

// FLOPs per token as the source counts them, including recomputed FLOPs if `executes`.
double flops_of_token(const DescribedRun& run, bool executes) {
  const double parameters = 6 * run.counted_parameters;
  double attention = 12 * static_cast<double>(run.step.layers) * run.step.d_model *
                     static_cast<double>(run.config.model.context_length);
  if (run.counted_attention == CountedAttention::kCausal) attention /= 2;
  if (run.counted_attention == CountedAttention::kNone) attention = 0;
  constexpr double kRecomputed = 1.0 / 3;  // recomputed FLOPs relative to forward and backward
  const double again = executes ? kRecomputed : 0;
  const bool recomputes_all = run.step.checkpointing == Checkpointing::kFull;
  const bool recomputes_attention = recomputes_all || run.step.checkpointing == Checkpointing::kAttention;
  return parameters * (1 + (recomputes_all ? again : 0)) + attention * (1 + (recomputes_attention ? again : 0));
}

double peak_of(const DescribedRun& run, const DataSheet& machine) {
  if (run.product_bits == 4 && machine.float4 > 0) return machine.float4;
  if (run.product_bits < 16 && machine.float8 > 0) return machine.float8;
  if (run.config.dtype == Precision::kTf32) return machine.tf32;
  return is_mixed(run.config.dtype) ? machine.bfloat16 : machine.float32;
}

// Returns the product of the quantity and the seconds of a step, or 0 if the quantity is a time or memory.
double work_of_quantity(Quantity quantity, const DescribedRun& run, const DataSheet& machine) {
  const auto ranks = static_cast<double>(run.step.layout.ranks);
  switch (quantity) {
    case Quantity::kTokens: return run.tokens;
    case Quantity::kTokensOfRank: return run.tokens / ranks;
    case Quantity::kFlops: return run.tokens / ranks * flops_of_token(run, false) / 1e12;
    case Quantity::kMfu: return run.tokens / ranks * flops_of_token(run, false) / peak_of(run, machine);
    case Quantity::kHfu: return run.tokens / ranks * flops_of_token(run, true) / peak_of(run, machine);
    case Quantity::kStep:
    case Quantity::kForward:
    case Quantity::kBackward:
    case Quantity::kForwardBackward:
    case Quantity::kMemory: break;
  }
  return 0;
}

double seconds_of(Quantity quantity, const ParallelTime& time) {
  if (quantity == Quantity::kForward) return time.forward;
  if (quantity == Quantity::kBackward) return time.backward;
  if (quantity == Quantity::kForwardBackward) return time.step - time.optimizer;
  return time.step;
}

}  // namespace

double PredictedRun::value() const { return *number_in(run.value); }

namespace {

// The predicted peak of reserved memory if the source states reserved memory, otherwise of allocated memory.
double predicted_gibibytes(const PredictedRun& run, SharePlans& plans) {
  constexpr double kGibibyte = 1 << 30;
  const RankBytes bytes = bytes_of(run.described, plans);
  return (run.run.note.find("reserved") != std::string::npos ? bytes.reserved() : bytes.allocated()) / kGibibyte;
}

void predict_figure(PredictedRun& one, Quantity quantity, SharePlans& plans) {
  const DescribedRun& described = one.described;
  if (quantity == Quantity::kMemory) {
    one.predicted = predicted_gibibytes(one, plans);
    one.low = *one.predicted * kMemoryLow;
    one.high = *one.predicted * kMemoryHigh;
    return;
  }
  one.share = plans.index_of(described);
  one.time = time_of(described, plans);
  const double seconds = seconds_of(quantity, *one.time);
  const double total = work_of_quantity(quantity, described, machine_of(described));
  const auto of = [&](double time) { return total > 0 ? total / time : time; };
  one.predicted = of(seconds);
  one.published_seconds = of(one.value());
  one.predicted_seconds = seconds;
  const KnownRuns errors = known_errors(described);
  if (!errors.has_interval()) return;
  one.low = std::min(of(seconds * errors.low), of(seconds * errors.high));
  one.high = std::max(of(seconds * errors.low), of(seconds * errors.high));
}

}  // namespace

PredictedRuns predict_runs(std::vector<PublishedRun> runs) {
  PredictedRuns all;
  all.runs.reserve(runs.size());
  SharePlans plans;
  for (PublishedRun& run : runs) {
    PredictedRun one;
    one.run = std::move(run);
    one.described = described(one.run);
    one.refusal = one.described.refusal;
    const std::optional<Quantity> quantity = quantity_of(one.run.quantity);
    if (one.refusal.empty() && !quantity)
      one.refusal = fmt::format("the quantity {} is not predicted", quote(one.run.quantity));
    if (one.refusal.empty()) {
      try {
        predict_figure(one, *quantity, plans);
      } catch (const Error& error) {
        one.refusal = error.what();
      }
    }
    all.runs.push_back(std::move(one));
  }
  all.shares = plans.all();
  return all;
}

}  // namespace laptime
