// The reference of a card as a kernel.
#include "backend/kernel.h"

namespace laptime {

Kernel reference_kernel(const OpCard& op) {
  LAPTIME_CHECK(op.reference != nullptr, "{} has no reference", op.name);
  return {.op = &op,
          .name = kReferenceName,
          .supports = nullptr,
          .workspace = nullptr,
          .launch = [](const KernelCall& call) {
            call.op.reference({call.attributes, call.in, call.out});
          }};
}

}  // namespace laptime
