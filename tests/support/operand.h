// Operands of tests: what values a tensor holds, how it lies in memory, and memory that shows who touches it.
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
  kExtreme,   // zeros, infinities, NaN, denormals, the largest floats, +-80, among kSigned
  kRare,      // the same without the largest floats and one in 32 of them
  kIndices,   // whole, in [0, bound)
  kConstant,  // all `bound`
};

struct Operand {
  Shape shape;
  Values values = Values::kSigned;
  std::optional<DType> dtype{};  // nothing: the type that the case sweeps
  double bound = 0;
};

// How a tensor lies in memory, from the same shape.
enum class Arrangement : uint8_t {
  kContiguous,
  kTransposed,  // the last two axes swapped
  kReversed,    // all axes the other way round
  kStrided,     // every other element of the last axis, from the second on
  kPadded,      // rows with a gap after each
  kBroadcast,   // one axis with stride 0
  kMixed,       // each operand another of the above
};
const char* name_of(Arrangement arrangement);

// What a kernel may refuse that wants its operands without gaps.
inline const std::vector<Arrangement> kGaps{Arrangement::kTransposed, Arrangement::kReversed,  Arrangement::kStrided,
                                            Arrangement::kPadded,     Arrangement::kBroadcast, Arrangement::kMixed};

// `operand` decides the axis of kBroadcast and what kMixed means.
Layout arranged(const Shape& shape, Arrangement arrangement, int operand);

// A tensor in storage of its own, no larger than its layout needs, between guard zones; where no element stands there
// is NaN (or -1).
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
