// Finds disturbed inference, and words why a ratio is rough.
#include "report/page/ratio_doubt.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/units.h"
#include "record/metrics.h"
#include "report/page/gains.h"
#include "report/page/page_view.h"
#include "report/page/page_words.h"
#include "report/speedup.h"

namespace laptime {

std::vector<SlowInference> find_slow_inferences(const std::vector<const Record*>& timed) {
  std::map<std::string, std::vector<const Record*>> steps;  // measured ones, by all that is not the pass
  for (const Record* const record : timed) {
    if (!is_predicted(*record) && record->config.text("pass") == "step")
      steps[rest_of_config(*record, "pass")].push_back(record);
  }
  std::vector<SlowInference> found;
  for (const Record* const record : timed) {
    if (is_predicted(*record) || record->config.text("pass") != "inference") continue;
    const TimeStats& time = *record->main_time();
    for (const Record* const step : steps[rest_of_config(*record, "pass")]) {
      const TimeStats* const forward = time_of_part(*step, "forward");
      if (forward == nullptr || step->fingerprint != record->fingerprint || !time.ci_low || !forward->ci_high ||
          *time.ci_low <= *forward->ci_high)
        continue;
      found.push_back({record, step});
    }
  }
  return found;
}

std::string slow_inference_text(const PageView& view, const SlowInference& slow) {
  return fmt::format("{} takes {}, but the forward phase of {} takes {}", view.name(*slow.inference),
                     format_seconds(slow.inference->main_time()->median), view.name(*slow.step),
                     format_seconds(time_of_part(*slow.step, "forward")->median));
}

std::string ratio_doubt(const PageView& view, const RatioSide& one, const RatioSide& other) {
  const std::string of_one = verdict_against_comparing(one.record);
  const std::string of_other = verdict_against_comparing(other.record);
  if (!of_one.empty() && !of_other.empty()) {
    return of_one == of_other
               ? fmt::format("the verdict on both is {}", of_one)
               : fmt::format("the verdict on {} is {}, on {} {}", one.name, of_one, other.name, of_other);
  }
  if (!of_one.empty()) return fmt::format("the verdict on {} is {}", one.name, of_one);
  if (!of_other.empty()) return fmt::format("the verdict on {} is {}", other.name, of_other);
  if (one.record.run != other.record.run) return std::string(kTwoCommands);
  const auto is_disturbed = [&](const Record& record) {
    return std::any_of(view.slow_inferences().begin(), view.slow_inferences().end(),
                       [&](const SlowInference& slow) { return slow.inference == &record; });
  };
  for (const RatioSide& side : {one, other}) {
    if (is_disturbed(side.record)) return fmt::format("{} took longer than the forward phase of a step", side.name);
  }
  return "";
}

}  // namespace laptime
