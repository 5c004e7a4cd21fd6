// OpCard: everything an op must state about itself; no pass, plan or report knows an op by name.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "graph/attributes.h"
#include "graph/graph.h"
#include "tensor/tensor_view.h"

namespace laptime {

class Builder;

enum class OpKind : uint8_t {
  kConstant,       // no inputs; made once, in set-up
  kView,           // another layout of the same bytes
  kPointwise,      // each output element from the input elements at its place
  kReduction,      // sums, maxima, norms along axes
  kContraction,    // matrix products
  kCopy,           // moves bytes: copies, casts, gathers, fills
  kSymbolic,       // replaced by a pass before anything runs
  kCommunication,  // between devices
};
const char* name_of(OpKind kind);

// What autocast does to the op's floating inputs.
enum class Autocast : uint8_t { kKeep, kLower, kFloat32, kPromote };

// All that is known of a node without running it; what supports, workspace and the key of a kernel choice look at.
struct Signature {
  const OpCard* op = nullptr;
  Attributes attributes;
  std::vector<TensorType> in;
  std::vector<TensorType> out;

  std::string text() const;  // "matmul(float32 [1024, 768], float32 [768, 768] strides [1, 768])"; the key of a choice
};
Signature signature_of(const Graph& graph, const Node& node);

// Operands of a reference: plain views; outputs are allocated, never initialised.
struct OpCall {
  const Attributes& attributes;
  std::span<const TensorView> in;
  std::span<const TensorView> out;
};

// What a card's gradient sees, and where it leaves its answer.
struct GradientContext {
  Builder& build;
  const Attributes& attributes;
  std::span<const ValueId> in;
  std::span<const ValueId> out;
  std::span<const ValueId> grad_out;  // invalid where the loss does not depend on that output
  std::vector<bool> wanted;           // which inputs need a gradient
  std::vector<ValueId> grad_in;       // filled by the card; same size as `in`, invalid where not wanted
};

// A small set of output or input positions, {1, 2}.
struct IndexSet {
  uint32_t bits = 0;
  constexpr IndexSet() = default;
  constexpr IndexSet(std::initializer_list<int> members) {
    for (const int member : members) bits |= 1U << static_cast<unsigned>(member);
  }
  constexpr bool contains(int member) const { return ((bits >> static_cast<unsigned>(member)) & 1U) != 0; }
};

// output `output` is the next value of the state at input `input`: same type, same bytes.
struct Update {
  int output = 0;
  int input = 0;
};

struct OpCard {
  const char* name = "";
  OpKind kind = OpKind::kPointwise;

  // Types of the outputs. Checks its inputs with LAPTIME_CHECK: a wrong graph is a defect of ours.
  std::vector<TensorType> (*infer)(const Attributes&, std::span<const TensorType> in) = nullptr;
  // kView only: the new layout, or nothing where the input must be made contiguous first.
  std::optional<Layout> (*view)(const Attributes&, const Layout& in) = nullptr;
  // Builds nodes. The pass sums over broadcast axes and casts back to the input's type. Null: no gradient flows.
  void (*gradient)(GradientContext&) = nullptr;
  // Model FLOPs; null: none.
  double (*flops)(const Signature&) = nullptr;
  // Bytes that must move; null: inputs read once + outputs written once.
  int64_t (*bytes)(const Signature&) = nullptr;
  Autocast autocast = Autocast::kKeep;
  // Plain loops with double accumulation over any dtype and layout: the definition of correct.
  void (*reference)(const OpCall&) = nullptr;
  // The same work in simpler ops, as a framework runs it eagerly; null: a primitive.
  std::vector<ValueId> (*decompose)(Builder&, const Attributes&, std::span<const ValueId> in) = nullptr;
  // Attributes of the same op that also rounds floating input `input` (or output `output`) to type `to`, so that the
  // cast beside it can go; nothing where it cannot. Null: never.
  std::optional<Attributes> (*fold_input_cast)(const Attributes&, int input, DType to) = nullptr;
  std::optional<Attributes> (*fold_output_cast)(const Attributes&, int output, DType to) = nullptr;
  // The output is the sum of the two inputs, in the type in which they meet.
  bool is_sum = false;
  // Attributes of the same op with one more input, the last, of output 0's shape, which it adds to that output; nothing
  // where it cannot. Null: never.
  std::optional<Attributes> (*fold_addend)(const Attributes&) = nullptr;
  // Whole it holds less than its parts would and runs more FLOPs, in backward: for steps that recompute.
  bool trades_time_for_memory = false;
  // Outputs that may be null when nobody reads them; others get scratch.
  IndexSet optional_outputs{};
  std::vector<Update> updates{};
  // A permission: output `output` may be written over input `input` where that dies here and the types agree.
  std::vector<Update> may_overwrite{};

  // The input whose state `output` updates, or -1.
  int updated_input(int output) const;
};

double flops_of(const Signature& signature);
int64_t bytes_of(const Signature& signature);

}  // namespace laptime
