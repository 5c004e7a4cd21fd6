// Stored kernel choices of any device, for explanations.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "explain/explain.h"

namespace laptime::test {

inline KnownChoices known(std::vector<KernelChoice> choices) {
  return [choices = std::move(choices)](const std::string&) { return choices; };
}

}  // namespace laptime::test
