// Lays out and fills test operands, and checks their guard zones.
#include "support/operand.h"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/random.h"

namespace laptime::test {
namespace {

constexpr size_t kGuardBytes = 256;
constexpr std::byte kGuard{0xA5};
constexpr std::byte kUnwritten{0xFF};  // NaN in every floating-point type, -1 in integers

double extreme(uint64_t bits, bool with_largest) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kLargest = std::numeric_limits<float>::max();
  constexpr std::array kValues{0.0,    -0.0,  kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN(),
                               80.0,   -80.0, 88.7,      -104.5,     1e-40,
                               -1e-40, 1.0,   -1.0,      1e-45,      -0.5,
                               3.0,    1e30,  -1e30,     kLargest,   -kLargest};
  return kValues[bits % (kValues.size() - (with_largest ? 0 : 4))];
}

double value_of(const Operand& operand, uint64_t bits) {
  const double unit = static_cast<double>(bits >> 40U) * 0x1p-24;
  switch (operand.values) {
    case Values::kSigned: return 6 * unit - 3;
    case Values::kPositive: return 0.25 + 2.75 * unit;
    case Values::kUnit: return 0.01 + 0.98 * unit;
    case Values::kExtreme: return (bits & 1U) != 0 ? extreme(bits >> 8U, true) : 6 * unit - 3;
    case Values::kRare: return (bits & 31U) == 0 ? extreme(bits >> 8U, false) : 6 * unit - 3;
    case Values::kIndices: return std::floor(unit * operand.bound);
    case Values::kConstant: return operand.bound;
  }
  return 0;
}

}  // namespace

const char* name_of(Arrangement arrangement) {
  switch (arrangement) {
    case Arrangement::kContiguous: return "contiguous";
    case Arrangement::kTransposed: return "transposed";
    case Arrangement::kReversed: return "reversed";
    case Arrangement::kStrided: return "strided";
    case Arrangement::kPadded: return "padded";
    case Arrangement::kBroadcast: return "broadcast";
    case Arrangement::kMixed: return "mixed";
    case Arrangement::kAlignedRows: return "aligned_rows";
    case Arrangement::kAlignedColumns: return "aligned_columns";
  }
  return "?";
}

Layout arranged(const Shape& shape, Arrangement arrangement, int operand) {
  const int rank = shape.rank();
  if (rank == 0) return Layout::contiguous(shape);
  // Axis order[k] of the shape becomes axis k in memory.
  const auto reordered = [&](const Dims& order) {
    Shape memory;
    Dims back = order;
    for (int k = 0; k < rank; ++k) memory.push_back(shape[static_cast<int>(order[k])]);
    for (int k = 0; k < rank; ++k) back[static_cast<int>(order[k])] = k;
    return permuted(Layout::contiguous(memory), back);
  };
  Dims order;
  for (int k = 0; k < rank; ++k) order.push_back(k);
  Shape wider = shape;
  switch (arrangement) {
    case Arrangement::kContiguous: return Layout::contiguous(shape);
    case Arrangement::kTransposed:
      if (rank > 1) std::swap(order[-1], order[-2]);
      return reordered(order);
    case Arrangement::kReversed:
      for (int k = 0; k < rank; ++k) order[k] = rank - 1 - k;
      return reordered(order);
    case Arrangement::kStrided:
      wider[-1] = 2 * shape.back() + 1;
      return sliced(Layout::contiguous(wider), rank - 1, 1, shape.back(), 2);
    case Arrangement::kPadded:
      wider[-1] = shape.back() + 3;
      return sliced(Layout::contiguous(wider), rank - 1, 2, shape.back(), 1);
    case Arrangement::kBroadcast: wider[operand % rank] = 1; return expanded(Layout::contiguous(wider), shape);
    case Arrangement::kMixed: return arranged(shape, static_cast<Arrangement>((operand + 1) % 5), operand);
    case Arrangement::kAlignedRows:
      wider[-1] = align_up(shape.back(), 64);
      return sliced(Layout::contiguous(wider), rank - 1, 0, shape.back(), 1);
    case Arrangement::kAlignedColumns: {
      if (rank == 1) return arranged(shape, Arrangement::kAlignedRows, operand);
      std::swap(order[-1], order[-2]);
      Shape columns = shape;
      std::swap(columns[-1], columns[-2]);
      return permuted(arranged(columns, Arrangement::kAlignedRows, operand), order);
    }
  }
  return {};
}

GuardedTensor::GuardedTensor(const TensorType& type)
    : type_(type), size_(static_cast<size_t>(type.layout.extent() * size_of(type.dtype))) {
  memory_.assign(size_ + 2 * kGuardBytes + 64, kGuard);
  const auto address = reinterpret_cast<uintptr_t>(memory_.data()) + kGuardBytes;
  begin_ = kGuardBytes + (64 - address % 64) % 64;
  std::memset(memory_.data() + begin_, static_cast<int>(kUnwritten), size_);
}

TensorView GuardedTensor::view() { return {memory_.data() + begin_, type_}; }

void GuardedTensor::fill(const Operand& operand, uint64_t seed) {
  const TensorView to = view();
  for (int64_t i = 0; i < to.numel(); ++i) to.put(i, value_of(operand, hash_combine(seed, static_cast<uint64_t>(i))));
}

void GuardedTensor::copy_from(const GuardedTensor& other) {
  LAPTIME_CHECK(type_ == other.type_);
  std::memcpy(memory_.data() + begin_, other.memory_.data() + other.begin_, size_);
}

bool GuardedTensor::guards_intact() const {
  for (size_t i = 0; i < memory_.size(); ++i) {
    const bool inside = i >= begin_ && i < begin_ + size_;
    if (!inside && memory_[i] != kGuard) return false;
  }
  return true;
}

}  // namespace laptime::test
