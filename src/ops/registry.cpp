// Expands op_list.inc into one list of cards.
#include "ops/registry.h"

#include "graph/structural_ops.h"

namespace laptime {

#define LAPTIME_OP_FAMILY(family, has_kernels, has_cuda_kernels) std::span<const OpCard* const> family##_cards();
#include "ops/op_list.inc"
#undef LAPTIME_OP_FAMILY

std::vector<const OpCard*> all_ops() {
  std::vector<const OpCard*> ops;
  const auto append = [&](std::span<const OpCard* const> cards) { ops.insert(ops.end(), cards.begin(), cards.end()); };
#define LAPTIME_OP_FAMILY(family, has_kernels, has_cuda_kernels) append(family##_cards());
#include "ops/op_list.inc"
#undef LAPTIME_OP_FAMILY
  return ops;
}

const OpCard* find_op(std::string_view name) {
  for (const OpCard* op : all_ops()) {
    if (name == op->name) return op;
  }
  return nullptr;
}

}  // namespace laptime
