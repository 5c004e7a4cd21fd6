// Dims: up to six sizes, strides or axes, stored in place; used for the shape of a tensor.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

#include "base/checked.h"
#include "base/words.h"

namespace laptime {

constexpr int kMaxRank = 6;

// A short list of int64: the shape of a tensor, its strides, or a list of axes.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) : Dims(std::span(values.begin(), values.size())) {}
  explicit Dims(std::span<const int64_t> values) : rank_(static_cast<int>(values.size())) {
    LAPTIME_CHECK(values.size() <= kMaxRank, "rank {}", values.size());
    std::copy(values.begin(), values.end(), values_.begin());
  }
  static Dims filled(int rank, int64_t value) {
    Dims dims;
    for (int i = 0; i < rank; ++i) dims.push_back(value);
    return dims;
  }

  int rank() const { return rank_; }
  size_t size() const { return static_cast<size_t>(rank_); }
  bool empty() const { return rank_ == 0; }
  int64_t operator[](int axis) const { return values_[index(axis)]; }
  int64_t& operator[](int axis) { return values_[index(axis)]; }
  int64_t back() const { return (*this)[-1]; }
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + rank_; }

  void push_back(int64_t value) {
    LAPTIME_CHECK(rank_ < kMaxRank, "rank {}", rank_);
    values_[static_cast<size_t>(rank_++)] = value;
  }
  void insert(int at, int64_t value) {
    push_back(value);
    std::rotate(values_.begin() + at, values_.begin() + rank_ - 1, values_.begin() + rank_);
  }
  void erase(int at) {
    std::copy(values_.begin() + at + 1, values_.begin() + rank_, values_.begin() + at);
    values_[static_cast<size_t>(--rank_)] = 0;
  }

  // Product of all entries, checked; 1 if there are none.
  int64_t product() const {
    Size product = 1;
    for (const int64_t value : *this) product *= value;
    return product.value();
  }

  friend bool operator==(const Dims& a, const Dims& b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

  std::string text() const {  // "[3, 18, 40]"
    return fmt::format("[{}]", joined(std::span(begin(), end()), ", "));
  }

 private:
  // Negative axes count from the end.
  size_t index(int axis) const {
    const int at = axis < 0 ? axis + rank_ : axis;
    LAPTIME_CHECK(at >= 0 && at < rank_, "axis {} of rank {}", axis, rank_);
    return static_cast<size_t>(at);
  }

  std::array<int64_t, kMaxRank> values_{};
  int rank_ = 0;
};

using Shape = Dims;

}  // namespace laptime

template <>
struct fmt::formatter<laptime::Dims> : fmt::formatter<std::string> {
  template <class Context>
  auto format(const laptime::Dims& dims, Context& context) const {
    return fmt::formatter<std::string>::format(dims.text(), context);
  }
};
