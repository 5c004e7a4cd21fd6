// Strips: short runs of elements. Kernels process one strip at a time with plain float32 loops, whatever the layout of
// a tensor. The tensor may be float32, bfloat16, float16 or bool.
#pragma once

#include "backend/cpu/isa_namespace.h"
#include "backend/cpu/team.h"
#include "backend/loop_nest.h"

namespace laptime::LAPTIME_ISA {

// A strip is part of one row (of the innermost axis), or several whole rows if they are short.
constexpr int64_t kStripSize = 1024;  // maximum elements in a strip; a kernel's strip buffers stay in the L1 cache
constexpr int64_t kBlockSize = int64_t{8} * 1024;  // elements that a thread takes at a time

// The division of a nest into strips. It depends only on the nest's shape, never on the number of threads.
struct StripCut {
  int cut_axis = 0;       // the innermost axis, or the one above it
  int64_t length = 0;     // elements of a strip along the cut axis; the last strip of an axis may be shorter
  int64_t per_axis = 0;   // strips along the cut axis
  int64_t count = 0;      // total number of strips
  int64_t per_block = 0;  // strips that a thread takes at a time
};
StripCut cut_strips(const LoopNest& nest);

// Iterates over the strips of a nest, starting at any strip.
class StripWalk {
 public:
  StripWalk(const LoopNest& nest, const StripCut& cut, int64_t first);
  void next();

  int64_t rows() const { return by_rows_ ? length() : 1; }
  int64_t columns() const { return by_rows_ ? nest_.columns() : length(); }
  // The position of this strip's first element in an operand, in elements from the start of its storage.
  int64_t position(int operand) const { return position_[static_cast<size_t>(operand)]; }

 private:
  int64_t length() const { return left_ < cut_.length ? left_ : cut_.length; }

  const LoopNest& nest_;
  const StripCut& cut_;
  bool by_rows_;
  int64_t left_ = 0;  // elements left along the cut axis, including this strip
  std::array<int64_t, kMaxRank> index_{};
  std::array<int64_t, kMaxOperands> position_{};
};

// Calls body(walk) for every strip of the nest, in parallel.
template <class Body>
void for_strips(cpu::Team& team, const LoopNest& nest, const Body& body) {
  const StripCut cut = cut_strips(nest);
  team.parallel_blocks(cut.count, cut.per_block, [&](int64_t begin, int64_t end) {
    StripWalk walk(nest, cut, begin);
    for (int64_t strip = begin; strip < end; ++strip, walk.next()) body(walk);
  });
}

// Convert between contiguous float32 and `size` elements of a tensor, which start at `position` and are `stride`
// elements apart. The tensor may be float32, bfloat16, float16 or, for loading, bool; stores round to nearest even.
void load_elements(const TensorView& from, int64_t position, int64_t stride, int64_t size, float* to);
void store_elements(const float* from, int64_t size, const TensorView& to, int64_t position, int64_t stride);

// Returns the elements in memory if they are contiguous float32, otherwise copies them to `buffer` as float32.
inline const float* float_elements(const TensorView& from, int64_t position, int64_t stride, int64_t size,
                                   float* buffer) {
  if (from.type.dtype == DType::kFloat32 && stride == 1) return reinterpret_cast<const float*>(from.data) + position;
  load_elements(from, position, stride, size, buffer);
  return buffer;
}

// The rows of tensors of shape [..., C], with all leading axes merged into one; C may differ between the tensors.
class Rows {
 public:
  explicit Rows(std::initializer_list<const TensorView*> tensors);

  int64_t count() const { return count_; }
  // The position of a row of a tensor, in elements from the start of its storage.
  int64_t position(int tensor, int64_t row) const {
    const auto k = static_cast<size_t>(tensor);
    if (nest_.rank == 1) return nest_.offset[k] + row * nest_.stride[k][0];
    return strided_position(k, row);
  }
  // Number of rows that a thread takes at a time if a row has `elements` elements.
  static int64_t per_block(int64_t elements) {
    return elements <= 0 || elements > kBlockSize ? 1 : kBlockSize / elements;
  }

 private:
  int64_t strided_position(size_t tensor, int64_t row) const;

  LoopNest nest_;
  int64_t count_ = 1;
};

// The operands of a strip function: the outputs, then the inputs. Each has `size` = rows * columns contiguous elements,
// as bytes if the tensor is bool, otherwise as float32. An input may share its memory with an output.
struct Strip {
  int64_t size = 0;
  int64_t columns = 0;
  const void* parameters = nullptr;
  int repeated = -1;  // index of the operand that has only one element per row; -1 if there is none
  std::array<std::byte*, kMaxOperands> operands{};

  float* floats(int operand) const { return reinterpret_cast<float*>(operands[static_cast<size_t>(operand)]); }
  uint8_t* bytes(int operand) const { return reinterpret_cast<uint8_t*>(operands[static_cast<size_t>(operand)]); }
};
using StripFunction = void (*)(const Strip&);
struct StripProgram {
  StripFunction function = nullptr;
  const void* parameters = nullptr;
  bool takes_repeated = false;  // true if the function supports Strip::repeated
};

// Runs the function over all elements of the outputs, which have the same shape; inputs are broadcast to this shape.
// The result for an output without data is discarded.
void run_strips(cpu::Team& team, std::span<const TensorView> out, std::span<const TensorView> in,
                const StripProgram& program);

// Returns an empty string if run_strips supports the types of all operands, otherwise the reason why not.
std::string strips_refusal(std::span<const TensorType> out, std::span<const TensorType> in);

// Returns an empty string if run_strips supports a pointwise op, otherwise the reason why not. Like run_strips,
// pointwise ops broadcast all inputs.
inline std::string pointwise_refusal(const Signature& signature) { return strips_refusal(signature.out, signature.in); }

}  // namespace laptime::LAPTIME_ISA
