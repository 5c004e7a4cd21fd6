// The table of demonstrations.
#include "demo/demo.h"

#include <array>

namespace laptime {

std::span<const Demo> demos() {
  static constexpr std::array kDemos{
      Demo{"accumulate", "add 0.01 repeatedly in float32 and float16, and show why the sums differ",
           demonstrate_accumulation},
      Demo{"autocast", "show which values of a toy model are float16 or bfloat16, and how accurate they are",
           demonstrate_autocast},
      Demo{"layernorm", "show where layer norm overflows in float16 but not in bfloat16", demonstrate_layer_norm}};
  return kDemos;
}

}  // namespace laptime
