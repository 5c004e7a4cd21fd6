// Checks each distinct input of a sweep once.
#include "sweep/check_inputs.h"

#include <algorithm>
#include <map>
#include <string>

#include "base/error.h"
#include "config/option_table.h"
#include "data/tokens.h"
#include "data/weights.h"
#include "prepare/prepare.h"
#include "prepare/step_graph.h"

namespace laptime {
namespace {

// Runs the check for each key once, and remembers the error message.
class CheckCache {
 public:
  template <class Check>
  std::string problem(const std::string& key, const Check& check) {
    const auto [found, is_new] = problems_.try_emplace(key);
    if (!is_new) return found->second;
    try {
      check();
    } catch (const Error& error) {
      found->second = error.what();
    }
    return found->second;
  }

 private:
  std::map<std::string, std::string> problems_;
};

std::string model_key(const RunConfig& config) {
  std::string text;
  const ModelConfig model = config.step_model();
  ModelConfig::visit_fields(model, [&](const Option& option, const auto& field) {
    text += fmt::format(" {}={}", option.key, text_of(option, field));
  });
  return text;
}

std::string problem_of(const RunConfig& config, CheckCache& checks) {
  std::string problem = checks.problem("device " + config.device, [&] { unsupported_reason(config); });
  if (problem.empty() && config.mode == Mode::kCompile) {
    const std::string key = fmt::format("composites {} {}", config.keep.value_or(""), config.lower.value_or(""));
    problem = checks.problem(key, [&] { pipeline_options(config); });
  }
  if (problem.empty() && config.delay) problem = checks.problem("delay " + *config.delay, [&] { delayed_op(config); });
  if (problem.empty() && !config.weights.empty()) {
    problem = checks.problem("weights " + config.weights + model_key(config), [&] { StartingWeights{config}; });
  }
  if (problem.empty() && !config.data.empty()) {
    const std::string key = fmt::format("data {} {} vocab={} context={}", config.data, name_of(config.data_format),
                                        config.model.vocab_size, config.step_context());
    problem = checks.problem(key, [&] { make_token_source(config); });
  }
  if (problem.empty() && config.kernels && unsupported_reason(config).empty()) {
    problem = checks.problem("kernels " + canonical_text(config), [&] { prepare(config, find_device(config), {}); });
  }
  return problem;
}

}  // namespace

void check_inputs(std::vector<SweepPoint>& points) {
  CheckCache checks;
  for (SweepPoint& point : points) {
    if (point.invalid.empty()) point.invalid = problem_of(point.config, checks);
  }
  if (std::all_of(points.begin(), points.end(), [](const SweepPoint& point) { return !point.invalid.empty(); })) {
    throw Error::format("{}{}", points.size() == 1 ? "" : "no point of the sweep can run: ", points.front().invalid);
  }
}

}  // namespace laptime
