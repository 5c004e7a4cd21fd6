// Ops of a trace under the roofline: how many FLOPs for each byte, and how many per second.
#pragma once

#include <string>
#include <vector>

#include "record/step_trace.h"

namespace laptime {

// One op in one phase, as a dot under the roofline.
struct RooflineDot {
  std::string phase;
  std::string op;
  std::string work_class;
  double intensity = 0;  // FLOP/byte
  double rate = 0;       // FLOP/s
  double seconds = 0;    // per step

  std::string name() const { return phase + " " + op; }
};

// Those with FLOPs, bytes and time, the longest first.
std::vector<RooflineDot> roofline_dots(const StepTrace& trace);

}  // namespace laptime
