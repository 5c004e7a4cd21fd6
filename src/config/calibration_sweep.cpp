// The default grid of `laptime calibrate`.
#include "config/calibration_sweep.h"

namespace laptime {

Sweep calibration_sweep() {
  Sweep sweep;
  const auto set = [&](std::string_view flag, const std::vector<std::string>& values) {
    set_option(sweep, flag, flag, values);
  };
  set("model", {"small", "medium", "large"});
  set("num-layers", {"2"});
  set("context", {"64", "256"});
  set("dtype", {"float32", "bfloat16"});
  set("mode", {"eager", "compile"});
  set("warmup", {"2"});
  set("steps", {"1"});
  return sweep;
}

}  // namespace laptime
