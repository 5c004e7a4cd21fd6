// The default grid of `laptime attention`.
#include "config/attention_sweep.h"

#include "config/model_presets.h"

namespace laptime {

Sweep attention_sweep() {
  Sweep sweep;
  const auto set = [&](std::string_view flag, const std::vector<std::string>& values) {
    set_option(sweep, flag, flag, values);
  };
  set("columns", {"attention"});
  set("model", {std::string(kAttentionModel)});
  set("d-model", {"16", "32", "64", "128"});
  set("context", {"256", "1024", "4096", "8192", "16384"});
  set("steps", {"100"});
  return sweep;
}

}  // namespace laptime
