// Searches for the least recomputation that fits in memory.
#include "prepare/fit_recompute.h"

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/units.h"
#include "model/validate.h"
#include "prepare/device.h"
#include "prepare/step_graph.h"

namespace laptime {
namespace {

// Names of choices that --recompute cannot express.
constexpr const char* kCheapOps = "cheap ops";
constexpr const char* kLossAlone = "loss";
constexpr const char* kSomeLayers = "block in layers ";

class Fit {
 public:
  Fit(const RunConfig& config, const MemoryBound& bound, const ChooseKernel& choose)
      : config_(config), bound_(bound), choose_(choose) {}

  // The choice that --recompute names. If a compiled step on a GPU would not fit, it also recomputes cheap ops.
  FittedRecompute given() const {
    FittedRecompute step{recompute_rule(config_), config_.recompute, {}};
    if (config_.mode == Mode::kCompile && !step.rule.local && !bound_.fits(need(config_, step.rule))) {
      step.rule.local = true;
      step.text = kCheapOps;
    }
    return step;
  }

  FittedRecompute least() {
    // --recompute auto does not work with --ranks, so another --recompute value must be able to name the choice.
    const bool is_one_of_ranks = config_.ranks > 1;
    if (fits({0, 0}, "none")) return leanest_;  // leanest_ is now the choice that fits: the others need more
    // A compiled step on a CPU always recomputes cheap ops and computes the loss in groups of rows.
    if (is_gpu(config_)) {
      if (config_.mode == Mode::kCompile && fits({.group = 0, .layers = 0, .cheap = true}, kCheapOps)) return leanest_;
      if (!is_one_of_ranks && fits({1, 0}, kLossAlone)) return leanest_;
    }
    const int64_t layers = config_.model.num_layers;
    if (fits({1, layers}, "block")) return is_one_of_ranks ? leanest_ : fewest_layers(layers);
    // Longer regions keep fewer values but need more memory while they are recomputed. The search ends after two
    // lengths in a row that need no less memory; a single such length may only divide the layers unevenly.
    int useless = 0;
    for (int64_t group = 2; group <= layers && useless < 2; ++group) {
      const int64_t previous = last_;
      if (fits({group, layers}, fmt::format("every={}", group))) return leanest_;
      useless = last_ >= previous ? useless + 1 : 0;
    }
    leanest_.advice = advice();
    return leanest_;
  }

 private:
  struct Choice {
    int64_t group, layers;
    bool cheap = false;  // also recompute cheap ops
  };

  FittedRecompute fitted(const Choice& choice, const std::string& text) const {
    FittedRecompute step{recompute_rule(config_, choice.group, choice.layers), text, {}};
    step.rule.local = step.rule.local || choice.cheap;
    return step;
  }

  int64_t need(const RunConfig& config, const RecomputeRule& rule) const {
    return predicted_peak_bytes(make_plan(lowered_graph(config, rule), choose_), bound_);
  }

  // Returns whether the choice fits; remembers it if it needs the least memory so far.
  bool fits(const Choice& choice, const std::string& text) {
    const FittedRecompute step = fitted(choice, text);
    last_ = need(config_, step.rule);
    if (last_ < least_) {
      least_ = last_;
      leanest_ = step;
    }
    return bound_.fits(last_);
  }

  // The smallest number of recomputed layers that fits, by bisection: each additional layer saves memory and costs
  // time.
  FittedRecompute fewest_layers(int64_t layers) {
    FittedRecompute fewest = fitted({1, layers}, "block");
    int64_t too_few = 0;
    int64_t enough = layers;
    while (enough - too_few > 1) {
      const int64_t middle = too_few + (enough - too_few) / 2;
      const std::string text = fmt::format("{}0-{} of {}", kSomeLayers, middle - 1, layers);
      if (!fits({1, middle}, text)) {
        too_few = middle;
      } else {
        enough = middle;
        fewest = fitted({1, middle}, text);
      }
    }
    return fewest;
  }

  static bool is_valid(const RunConfig& config) {
    try {
      validate(config);
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  std::string advice() const {
    std::string advice =
        fmt::format("no other --recompute value needs less memory than {}", typed_recompute(leanest_.text));
    RunConfig other = config_;
    other.optimizer_in_backward = true;
    other.recompute = "block";
    if (config_.optimizer_in_backward || !is_valid(other)) return advice;
    const int64_t bytes = need(other, recompute_rule(other));
    if (bytes < least_)
      advice += fmt::format("; --recompute block with --optimizer-in-backward needs {}", format_bytes(bytes));
    return advice;
  }

  const RunConfig& config_;
  const MemoryBound& bound_;
  const ChooseKernel& choose_;
  int64_t last_ = 0;  // bytes that the last choice needs
  int64_t least_ = std::numeric_limits<int64_t>::max();
  FittedRecompute leanest_;
};

}  // namespace

FittedRecompute fit_recompute(const RunConfig& config, const MemoryBound& bound, const ChooseKernel& choose) {
  Fit fit(config, bound, choose);
  return config.recompute == "auto" ? fit.least() : fit.given();
}

std::string typed_recompute(const std::string& text) {
  if (text == kCheapOps) return "none (only cheap ops)";
  if (text == kLossAlone) return "auto (only the loss)";
  return text.starts_with(kSomeLayers) ? fmt::format("auto ({})", text) : text;
}

}  // namespace laptime
