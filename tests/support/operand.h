// Operands of tests: values, layouts, and memory between guard zones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor_view.h"

namespace laptime::test {

enum class Values : uint8_t {
  kSigned,    // positive and negative, with absolute values up to 3
  kPositive,  // from 0.25 to 3
  kUnit,      // strictly between 0 and 1
  kExtreme,   // like kSigned, but half are zeros, infinities, NaN, denormals, the largest floats, +-80 ...
  kRare,      // like kExtreme, but only one in 32 values is extreme, and none is a largest float
  kIndices,   // whole numbers in [0, bound)
  kConstant,  // every element is `bound`
};

struct Operand {
  Shape shape;
  Values values = Values::kSigned;
  std::optional<DType> dtype{};  // if absent, the type of the case or point
  double bound = 0;
};

// The layout of a tensor in memory.
enum class Arrangement : uint8_t {
  kContiguous,
  kTransposed,  // the last two axes swapped
  kReversed,    // the order of all axes reversed
  kStrided,     // the last axis with stride 2, starting at its second element
  kPadded,      // rows followed by gaps
  kBroadcast,   // one axis with stride 0
  kMixed,       // a different arrangement for each operand
  // Rows, or columns (the last two axes swapped), that begin at multiples of 64 elements.
  kAlignedRows,
  kAlignedColumns,
};
const char* name_of(Arrangement arrangement);

// Arrangements that a kernel for contiguous operands may reject.
inline const std::vector<Arrangement> kGaps{Arrangement::kTransposed, Arrangement::kReversed,  Arrangement::kStrided,
                                            Arrangement::kPadded,     Arrangement::kBroadcast, Arrangement::kMixed};

// `operand` is the index of the operand. It selects the axis of kBroadcast and the arrangement of kMixed.
Layout arranged(const Shape& shape, Arrangement arrangement, int operand);

// A tensor between guard zones, with storage exactly as large as the layout needs. Gaps between elements hold NaN,
// or -1 for integers.
class GuardedTensor {
 public:
  explicit GuardedTensor(const TensorType& type);

  TensorView view();
  void fill(const Operand& operand, uint64_t seed);
  void copy_from(const GuardedTensor& other);  // `other` must have the same type

  bool guards_intact() const;
  std::span<std::byte> with_guards() { return memory_; }
  std::span<const std::byte> bytes() const { return {memory_.data() + begin_, size_}; }

 private:
  TensorType type_;
  std::vector<std::byte> memory_;
  size_t begin_ = 0;  // offset of the elements, aligned to 64 bytes
  size_t size_ = 0;
};

}  // namespace laptime::test
