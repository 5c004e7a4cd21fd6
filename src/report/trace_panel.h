// TracePanel: one point in a picture of several.
#pragma once

#include <string>

#include "record/step_trace.h"

namespace laptime {

struct TracePanel {
  std::string title;  // of the point
  std::string subtitle;
  const StepTrace* trace = nullptr;
};

}  // namespace laptime
