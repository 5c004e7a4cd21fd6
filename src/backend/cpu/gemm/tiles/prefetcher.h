// Prefetcher: prefetches the cache lines of a matrix in memory, a few at a time, between other work.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/isa_namespace.h"
#include "base/checked.h"

namespace laptime::LAPTIME_ISA::gemm_tiles {

// Covers `rows` rows of `row_bytes` bytes, `stride` bytes apart. A burst of prefetches would stall the loads of the
// micro-kernel, so callers spread them. Lines to be read are fetched into the L2 cache, lines to be written into L1.
template <bool kWrite>
class Prefetcher {
 public:
  Prefetcher() = default;
  Prefetcher(const void* first, int64_t rows, int64_t row_bytes, int64_t stride) : rows_(rows), stride_(stride) {
    const auto address = reinterpret_cast<uintptr_t>(first);
    const auto past = static_cast<int64_t>(address & (kLine - 1));
    row_ = static_cast<const std::byte*>(first) - past;
    bytes_ = row_bytes + past;
  }

  // The number of cache lines in the rows that have not been prefetched completely.
  int64_t lines() const { return rows_ * ceil_div(bytes_, kLine); }
  void prefetch(int64_t lines) {
    for (; lines > 0 && rows_ > 0; --lines) {
      if constexpr (kWrite) {
        __builtin_prefetch(row_ + offset_, 1);
      } else {
        __builtin_prefetch(row_ + offset_, 0, 2);
      }
      offset_ += kLine;
      if (offset_ < bytes_) continue;
      offset_ = 0;
      row_ += stride_;
      --rows_;
    }
  }

 private:
  static constexpr int64_t kLine = 64;
  const std::byte* row_ = nullptr;
  int64_t rows_ = 0, bytes_ = 0, stride_ = 0;
  int64_t offset_ = 0;
};
using ReadPrefetcher = Prefetcher<false>;
using WritePrefetcher = Prefetcher<true>;

}  // namespace laptime::LAPTIME_ISA::gemm_tiles
