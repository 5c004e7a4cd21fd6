// What speaks against a ratio of the times of two points: their verdicts, two commands, or a disturbed machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace laptime {

class PageView;

// Inference that took longer than the forward phase of a step with the same options, although it does no more work: one
// of the two times is disturbed.
struct SlowInference {
  const Record* inference = nullptr;
  const Record* step = nullptr;
};
// Of points with a time. PageView::slow_inferences() has those of a page.
std::vector<SlowInference> find_slow_inferences(const std::vector<const Record*>& timed);
// "inference ctx:64 takes 8.1 ms, but the forward phase of step ctx:64 takes 7.2 ms"
std::string slow_inference_text(const PageView& view, const SlowInference& slow);

// One of two measured points, and what it is called beside the other one.
struct RatioSide {
  const Record& record;
  std::string_view name;
};
// Why a ratio of two measured times is rough: "the verdict on eager is unstable"; empty where nothing speaks against
// it.
std::string ratio_doubt(const PageView& view, const RatioSide& one, const RatioSide& other);

}  // namespace laptime
