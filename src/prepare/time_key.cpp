// A pass without gradients is named inference, also as a phase.
#include "prepare/time_key.h"

namespace laptime {

std::string time_key(Pass pass) { return text_of(Option{}, pass); }

std::string time_key(Phase phase, Pass pass) {
  return phase == Phase::kForward && pass == Pass::kInference ? time_key(pass) : name_of(phase);
}

}  // namespace laptime
