// The table of demonstrations.
#include "demo/demo.h"

#include <array>

namespace laptime {

std::span<const Demo> demos() {
  static constexpr std::array kDemos{
      Demo{"accumulate", "0.01 added up in float32 and float16, and why the sums differ", demonstrate_accumulation},
      Demo{"autocast", "which values of a toy model are float16 or bfloat16, and how exact they are",
           demonstrate_autocast},
      Demo{"layernorm", "where layer norm in float16 overflows and in bfloat16 does not", demonstrate_layer_norm}};
  return kDemos;
}

}  // namespace laptime
