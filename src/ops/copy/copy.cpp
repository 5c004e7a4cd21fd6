// Lists the cards of the structural ops as an op family for op_list.inc.
#include "ops/copy/copy.h"

namespace laptime {

std::span<const OpCard* const> copy_cards() { return structural_cards(); }

}  // namespace laptime
