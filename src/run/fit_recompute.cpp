// Search for the fewest recomputed layers.
#include "run/fit_recompute.h"

#include <algorithm>
#include <limits>
#include <vector>

#include "base/units.h"
#include "run/memory_check.h"
#include "run/step_graph.h"

namespace laptime {
namespace {

constexpr int64_t kLongestRegion = 4;  // layers; longer ones hold more at once than they save in all but huge stacks

// The bytes that a step may hold: --memory-limit, and 95 % of what the device or machine has left.
int64_t usable_bytes(const RunConfig& config, const Device& device) {
  const int64_t usable = usable_of(memory_left(device));
  return config.memory_limit ? std::min(usable, parse_bytes("--memory-limit", *config.memory_limit)) : usable;
}

class Fit {
 public:
  Fit(const RunConfig& config, const Device& device, const ChooseKernel& choose)
      : config_(config),
        choose_(choose),
        usable_(usable_bytes(config, device)),
        available_(memory_left(device).bytes) {}

  FittedRecompute run() {
    if (fits({0, 0})) return step({0, 0}, "none");
    if (fits({1, 0})) return step({1, 0}, "loss");
    const int64_t layers = config_.model.num_layers;
    if (fits({1, layers})) return fewest_layers(layers);
    for (int64_t group = 2; group <= std::min(kLongestRegion, layers); ++group) {
      if (fits({group, layers})) return step({group, layers}, fmt::format("every={}", group));
    }
    refuse();
  }

 private:
  struct Choice {
    int64_t group, layers;
  };

  RecomputeRule rule(const Choice& choice) const {
    RecomputeRule rule = recompute_rule(config_);
    rule.group = choice.group;
    rule.layers = choice.layers;
    return rule;
  }
  int64_t bytes(const Choice& choice) {
    const int64_t need = make_plan(lowered_graph(config_, rule(choice)), choose_).predicted_peak_bytes();
    least_ = std::min(least_, need);
    return need;
  }
  bool fits(const Choice& choice) { return bytes(choice) <= usable_; }
  FittedRecompute step(const Choice& choice, const std::string& text) const { return {rule(choice), text}; }

  // Each layer more saves memory and costs time: the smallest number that fits.
  FittedRecompute fewest_layers(int64_t layers) {
    int64_t too_few = 0;
    int64_t enough = layers;
    while (enough - too_few > 1) {
      const int64_t middle = too_few + (enough - too_few) / 2;
      (fits({1, middle}) ? enough : too_few) = middle;
    }
    const std::string text = enough == layers ? "block" : fmt::format("block in layers 0-{} of {}", enough - 1, layers);
    return step({1, enough}, text);
  }

  [[noreturn]] void refuse() {
    std::string advice = fmt::format("the least that any recomputation needs is {}", format_bytes(least_));
    if (config_.pass == Pass::kStep && !config_.optimizer_in_backward && !config_.clip_norm && !config_.accumulate) {
      RunConfig other = config_;
      other.optimizer_in_backward = true;
      other.recompute = "block";
      const int64_t need = make_plan(lowered_graph(other), choose_).predicted_peak_bytes();
      advice += fmt::format(", with --optimizer-in-backward {}", format_bytes(need));
    }
    throw OutOfMemory(least_, available_,
                      fmt::format("predicted: {}; {} are usable{}", advice, format_bytes(usable_),
                                  config_.memory_limit ? " (--memory-limit)" : ""));
  }

  const RunConfig& config_;
  const ChooseKernel& choose_;
  const int64_t usable_;
  const int64_t available_;
  int64_t least_ = std::numeric_limits<int64_t>::max();
};

}  // namespace

FittedRecompute fit_recompute(const RunConfig& config, const Device& device, const ChooseKernel& choose) {
  if (config.recompute != "auto") return {recompute_rule(config), config.recompute};
  return Fit(config, device, choose).run();
}

}  // namespace laptime
