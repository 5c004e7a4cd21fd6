// Operands of tests: their values, their layout in memory, and memory with guard zones.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/tensor_view.h"

namespace laptime::test {

enum class Values : uint8_t {
  kSigned,    // of both signs, up to 3
  kPositive,  // from 0.25 to 3
  kUnit,      // strictly between 0 and 1
  kExtreme,   // as kSigned, half of them replaced by zeros, infinities, NaN, denormals, the largest floats, +-80 ...
  kRare,      // as kSigned, one in 32 replaced by such a value, the largest floats apart
  kIndices,   // whole numbers in [0, bound)
  kConstant,  // all `bound`
};

struct Operand {
  Shape shape;
  Values values = Values::kSigned;
  std::optional<DType> dtype{};  // absent: the type over which the case runs
  double bound = 0;
};

// How a tensor of some shape lies in memory.
enum class Arrangement : uint8_t {
  kContiguous,
  kTransposed,  // the last two axes swapped
  kReversed,    // the order of all axes reversed
  kStrided,     // the last axis with stride 2, from its second element on
  kPadded,      // rows with a gap after each
  kBroadcast,   // one axis with stride 0
  kMixed,       // each operand arranged in another of these ways
};
const char* name_of(Arrangement arrangement);

// What a kernel that needs contiguous operands may refuse.
inline const std::vector<Arrangement> kGaps{Arrangement::kTransposed, Arrangement::kReversed,  Arrangement::kStrided,
                                            Arrangement::kPadded,     Arrangement::kBroadcast, Arrangement::kMixed};

// `operand` decides the axis of kBroadcast and what kMixed means.
Layout arranged(const Shape& shape, Arrangement arrangement, int operand);

// A tensor in storage of its own, no larger than its layout needs, between guard zones. Bytes that hold no element read
// as NaN, or as -1 in integers.
class GuardedTensor {
 public:
  explicit GuardedTensor(const TensorType& type);

  TensorView view();
  void fill(const Operand& operand, uint64_t seed);
  void copy_from(const GuardedTensor& other);  // of the same type

  bool guards_intact() const;
  std::span<const std::byte> bytes() const { return {memory_.data() + begin_, size_}; }

 private:
  TensorType type_;
  std::vector<std::byte> memory_;
  size_t begin_ = 0;  // aligned to 64
  size_t size_ = 0;
};

}  // namespace laptime::test
