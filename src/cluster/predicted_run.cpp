// Predicts published figures from the predicted time and memory of a step.
#include "cluster/predicted_run.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/words.h"

namespace laptime {
namespace {

// Published peaks of memory lie between these multiples of the prediction (docs/predictions.md).
constexpr double kMemoryLow = 0.9;
constexpr double kMemoryHigh = 1.25;

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

double peak_of(const DescribedRun& run) {
  const DataSheet machine = machine_of(run);
  if (run.product_bits == 4 && machine.float4 > 0) return machine.float4;
  if (run.product_bits < 16 && machine.float8 > 0) return machine.float8;
  if (run.config.dtype == Precision::kTf32) return machine.tf32;
  return is_mixed(run.config.dtype) ? machine.bfloat16 : machine.float32;
}

double tokens_of_rank(const DescribedRun& run) { return run.tokens / static_cast<double>(run.step.layout.ranks); }

double step_seconds(const ParallelTime& time) { return time.step; }
double forward_seconds(const ParallelTime& time) { return time.forward; }

// A figure that a source states: a time, a rate that follows from the time of a step, or peak memory.
struct Quantity {
  std::string_view word;
  double (*seconds)(const ParallelTime& time) = nullptr;  // null for memory
  double (*work)(const DescribedRun& run) = nullptr;      // per step; null if the figure is not a rate
};

constexpr std::array kQuantities{
    Quantity{"tokens_per_s", step_seconds, [](const DescribedRun& run) { return run.tokens; }},
    Quantity{"tokens_per_s_per_gpu", step_seconds, tokens_of_rank},
    Quantity{"tflops_per_gpu", step_seconds,
             [](const DescribedRun& run) { return tokens_of_rank(run) * flops_of_token(run, false) / 1e12; }},
    Quantity{"mfu", step_seconds,
             [](const DescribedRun& run) { return tokens_of_rank(run) * flops_of_token(run, false) / peak_of(run); }},
    Quantity{"hfu", step_seconds,
             [](const DescribedRun& run) { return tokens_of_rank(run) * flops_of_token(run, true) / peak_of(run); }},
    Quantity{"step_time_s", step_seconds},
    Quantity{"forward_time_s", forward_seconds},
    Quantity{"inference_time_s", forward_seconds},
    Quantity{"backward_time_s", [](const ParallelTime& time) { return time.backward; }},
    Quantity{"forward_backward_time_s", [](const ParallelTime& time) { return time.step - time.optimizer; }},
    Quantity{"peak_memory_gib"}};

// The predicted peak of reserved memory if the source states reserved memory, otherwise of allocated memory.
double predicted_gibibytes(const PredictedRun& run, SharePlans& plans) {
  constexpr double kGibibyte = 1 << 30;
  const RankBytes bytes = bytes_of(run.described, plans);
  return (run.run.note.find("reserved") != std::string::npos ? bytes.reserved() : bytes.allocated()) / kGibibyte;
}

void predict_figure(PredictedRun& one, const Quantity& quantity, SharePlans& plans) {
  const DescribedRun& described = one.described;
  if (quantity.seconds == nullptr) {
    one.predicted = predicted_gibibytes(one, plans);
    one.low = *one.predicted * kMemoryLow;
    one.high = *one.predicted * kMemoryHigh;
    return;
  }
  one.share = plans.index_of(described);
  one.time = time_of(described, plans);
  const double seconds = quantity.seconds(*one.time);
  const double work = quantity.work == nullptr ? 0 : quantity.work(described);
  const auto of = [&](double time) { return work > 0 ? work / time : time; };
  one.predicted = of(seconds);
  one.published_seconds = of(one.value());
  one.predicted_seconds = seconds;
  const KnownRuns errors = known_errors(described);
  if (!errors.has_interval()) return;
  one.low = std::min(of(seconds * errors.low), of(seconds * errors.high));
  one.high = std::max(of(seconds * errors.low), of(seconds * errors.high));
}

}  // namespace

double PredictedRun::value() const { return *number_in(run.value); }

PredictedRuns predict_runs(std::vector<PublishedRun> runs) {
  PredictedRuns all;
  all.runs.reserve(runs.size());
  SharePlans plans;
  for (PublishedRun& run : runs) {
    PredictedRun one;
    one.run = std::move(run);
    one.described = described(one.run);
    one.refusal = one.described.refusal;
    const auto quantity = std::ranges::find(kQuantities, one.run.quantity, &Quantity::word);
    if (one.refusal.empty() && quantity == kQuantities.end())
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
