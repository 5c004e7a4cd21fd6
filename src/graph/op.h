// OpCard: an op's description of itself, so that no pass, plan or report needs to recognise an op by name.
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
  kConstant,       // no inputs; computed once, during set-up
  kView,           // a different layout of the same bytes
  kPointwise,      // each output element depends on the input elements at the same index
  kReduction,      // sums, maxima, norms along axes
  kContraction,    // matrix products
  kCopy,           // moves bytes: copies, casts, gathers, fills
  kSymbolic,       // replaced by a pass before anything runs
  kCommunication,  // between ranks
  kWait,           // waits for communication
};
const char* name_of(OpKind kind);

// Autocast policy for the op's floating-point inputs: unchanged (kKeep), cast to the 16-bit type (kLower), to float32
// (kFloat32), or to the widest type among them (kPromote).
enum class Autocast : uint8_t { kKeep, kLower, kFloat32, kPromote };

// The op of a node with its attributes and tensor types. A kernel's `supports` and `workspace`, and the key of a kernel
// choice, depend on nothing else.
struct Signature {
  const OpCard* op = nullptr;
  Attributes attributes;
  std::vector<TensorType> in;
  std::vector<TensorType> out;

  // Key under which a kernel choice is stored: "matmul(float32 [1024, 768], float32 [768, 768] strides [1, 768])".
  // Offsets are reduced modulo a memory line, so that equally aligned slices of a tensor share a key.
  std::string text() const;
};
Signature signature_of(const Graph& graph, const Node& node);

// Operands of a reference implementation. Outputs are allocated but not initialised.
struct OpCall {
  const Attributes& attributes;
  std::span<const TensorView> in;
  std::span<const TensorView> out;
};

// Input and result of a card's gradient function.
struct GradientContext {
  Builder& build;
  const Attributes& attributes;
  std::span<const ValueId> in;
  std::span<const ValueId> out;
  std::span<const ValueId> grad_out;  // invalid where the loss does not depend on the output
  std::vector<bool> wanted;           // which inputs need a gradient
  std::vector<ValueId> grad_in;       // filled in by the card; same size as `in`, invalid where no gradient is wanted
  // If true, the card computes the gradient of a weight before that of the other factor, so that the other factor is
  // freed earlier.
  bool weights_first = false;
};

// A small set of output or input positions, such as {1, 2}. Positions from 32 on are never members.
struct IndexSet {
  static constexpr int kEnd = 32;
  uint32_t bits = 0;
  constexpr IndexSet() = default;
  constexpr IndexSet(std::initializer_list<int> members) {
    for (const int member : members) insert(member);
  }
  constexpr void insert(int member) {
    if (member < kEnd) bits |= 1U << static_cast<unsigned>(member);
  }
  constexpr bool contains(int member) const {
    return member < kEnd && ((bits >> static_cast<unsigned>(member)) & 1U) != 0;
  }
};

// States that output `output` is the next value of the state at input `input`, with the same type and storage.
struct Update {
  int output = 0;
  int input = 0;
};

struct OpCard {
  const char* name = "";
  OpKind kind = OpKind::kPointwise;
  // The class of the op's work; if absent, it follows from `kind`. Ops that result from lowering this op inherit the
  // class, unless this op is a contraction.
  std::optional<WorkClass> work_class{};

  // Returns the types of the outputs. Checks the inputs with LAPTIME_CHECK, because a wrong graph is a bug in this
  // program. Null for a view.
  std::vector<TensorType> (*infer)(const Attributes&, std::span<const TensorType> in) = nullptr;
  // kView only: the new layout, or nothing if the input must be made contiguous first.
  std::optional<Layout> (*view)(const Attributes&, const Layout& in) = nullptr;
  // Builds the nodes of the gradient. The differentiate pass sums over broadcast axes and casts to the input's type.
  // Null: the op has no gradient.
  void (*gradient)(GradientContext&) = nullptr;
  // Model FLOPs; null: none.
  double (*flops)(const Signature&) = nullptr;
  // Model FLOPs of the op's matrix products; null: all FLOPs of a contraction, or none for any other op.
  double (*product_flops)(const Signature&) = nullptr;
  // Bytes that must be moved; null: inputs read once + outputs written once.
  int64_t (*bytes)(const Signature&) = nullptr;
  Autocast autocast = Autocast::kKeep;
  // The definition of a correct result: plain loops with double accumulation, for any dtype and layout.
  void (*reference)(const OpCall&) = nullptr;
  // Lowers the op to the simpler ops that a framework runs in eager mode. Returns nothing if a framework also runs it
  // as one kernel with these attributes. Null: the op is a primitive.
  std::vector<ValueId> (*decompose)(Builder&, const Attributes&, std::span<const ValueId> in) = nullptr;
  // True if the casts of the decomposition depend on the types of the inputs, so that autocast must set these first.
  bool casts_by_input = false;
  // Returns attributes with which the op itself casts floating-point input `input` (or output `output`) to type `to`,
  // so that the adjacent cast is not needed. Returns nothing if the op cannot do so. Null: the op never can.
  std::optional<Attributes> (*fold_input_cast)(const Attributes&, int input, DType to) = nullptr;
  std::optional<Attributes> (*fold_output_cast)(const Attributes&, int output, DType to) = nullptr;
  // True if the op only converts its input to another number type. fold_casts may then fold it into an adjacent op.
  bool is_cast = false;
  // True if the op only adds its two inputs in their common type. fold_addends may then fold it into an adjacent op.
  bool is_sum = false;
  // Returns attributes with which the op takes an additional last input, of the shape of output 0, and adds it to that
  // output. Returns nothing if the op cannot do so. Null: the op never can.
  std::optional<Attributes> (*fold_addend)(const Attributes&) = nullptr;
  // Returns attributes with which the rows of output 0 are padded (padded_type). Returns nothing if the op cannot pad
  // them. Null: the op never can.
  std::optional<Attributes> (*pad_rows)(const Attributes&) = nullptr;
  // Inputs whose rows may be padded: the op reads padded rows at least as fast as contiguous ones.
  IndexSet reads_padded_rows{};
  // Lowers an op that `decompose` has left whole to the ops of its decomposition, for one group of rows at a time. The
  // nodes of a group are deferred, so that the backward of a group can follow its forward before the next group begins.
  std::vector<ValueId> (*split_rows)(Builder&, const Attributes&, std::span<const ValueId> in) = nullptr;
  // True if the op should be lowered for these inputs: because its decomposition is faster and needs hardly more
  // memory, or because `on_gpu` is true and GPUs have no fast kernel for the whole op. Null: never.
  bool (*is_faster_lowered)(const Attributes&, std::span<const TensorType> in, bool on_gpu) = nullptr;
  // An op that does the same and also updates a copy of output 0's state in another number type, so that the next step
  // need not cast the state. The copy is its first input, and the updated copy its first output; the operands of this
  // op follow. Null: none.
  const OpCard* with_copy = nullptr;
  // True if the op's kernels may skip products that `flops` counts, because a mask hides them.
  bool may_skip_products = false;
  // Outputs that may be null if no node reads them; any other unread output gets scratch memory.
  IndexSet optional_outputs{};
  std::vector<Update> updates{};
  // Output i is the next value of input i, for any number of inputs. An output may view the bytes of its input
  // with a different layout.
  bool updates_each = false;
  // Permission to write output `output` over input `input`, which the plan uses if no later node reads the input and
  // the types agree.
  std::vector<Update> may_overwrite{};

  // kConstant only: a PyTorch module would register the constant as a buffer, so it exists before a step. PyTorch
  // computes other constants within the step.
  bool is_module_buffer = false;

  // kCommunication only: the op that waits for the communication, before any node reads the communicated values.
  // Output i depends on input i alone, so several nodes may be merged into one.
  const OpCard* wait = nullptr;
  // kCommunication only: runs once before forward reads the output and again before backward does, so that the output
  // is not kept in between.
  bool is_made_where_read = false;

  bool has_updates() const { return updates_each || !updates.empty(); }
  // The input whose state `output` updates, or -1.
  int updated_input(int output) const;
};

// kCommunication for communication and its waits, or else kOptimizer in the optimizer phase, or else kCast for a cast.
// Any other node has the class that it inherited, or else that of its card.
WorkClass work_class_of(const Node& node);

double flops_of(const Signature& signature);
double product_flops_of(const Signature& signature);
int64_t bytes_of(const Signature& signature);

}  // namespace laptime
