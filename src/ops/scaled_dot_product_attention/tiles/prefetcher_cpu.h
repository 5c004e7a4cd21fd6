// Prefetches rows while other rows are multiplied.
#pragma once

#include "ops/scaled_dot_product_attention/call_cpu.h"

namespace laptime::LAPTIME_ISA::attention::tiles {

// Prefetches queued rows into the L2 cache, two cache lines for each call to fetch(). More lines would delay the loads
// of the multiplication.
class Prefetcher {
 public:
  // Queues `width` elements of each of the rows [begin, end). A full queue ignores further rows.
  template <class Element>
  void queue(const HeadRows<Element>& rows, int64_t begin, int64_t end, int64_t width) {
    constexpr auto kSize = static_cast<int64_t>(sizeof(Element));
    if (begin >= end || last_ - first_ == kRanges) return;
    ranges_[last_++ % kRanges] = {reinterpret_cast<const char*>(rows[begin]), rows.stride * kSize, width * kSize,
                                  end - begin};
  }

  [[gnu::always_inline]] void fetch() {
    if (first_ == last_) return;
    Range& range = ranges_[first_ % kRanges];
    const char* const line = range.row + range.done;
    __builtin_prefetch(line, 0, 2);
    __builtin_prefetch(line + 64, 0, 2);
    range.done += 128;
    if (range.done < range.bytes) return;
    range.done = 0;
    range.row += range.stride;
    if (--range.rows == 0) ++first_;
  }

 private:
  static constexpr size_t kRanges = 16;
  struct Range {
    const char* row;
    int64_t stride, bytes, rows;
    int64_t done = 0;  // bytes of the row that have been prefetched
  };
  std::array<Range, kRanges> ranges_;  // ring buffer; [first_, last_) are still to be prefetched
  size_t first_ = 0, last_ = 0;
};

}  // namespace laptime::LAPTIME_ISA::attention::tiles
