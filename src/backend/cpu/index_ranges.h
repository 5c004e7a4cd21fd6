// IndexRanges: a set of indices that threads take one at a time. Each thread starts with its own range.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace laptime::cpu {

// If threads took adjacent indices, they would read adjacent memory at the same time. If their cores shared no cache,
// the prefetcher of one core would then fetch lines that another core needs. Ranges keep the threads far apart until
// the end.
class IndexRanges {
 public:
  explicit IndexRanges(int most_ranges) : ranges_(std::make_unique<Range[]>(static_cast<size_t>(most_ranges))) {}

  // Divides [0, count) into `ranges` ranges of nearly equal size. With a single range, all threads take indices in
  // order. No thread may take indices during this call.
  void divide(int64_t count, int ranges) {
    ranges_in_use_ = ranges;
    for (int i = 0; i < ranges; ++i) {
      Range& range = ranges_[static_cast<size_t>(i)];
      range.next.store(count * i / ranges, std::memory_order_relaxed);
      range.end = count * (i + 1) / ranges;
    }
  }

  // Takes indices for one thread.
  class Taker {
   public:
    Taker(IndexRanges& ranges, int thread) : ranges_(ranges), thread_(thread) {}
    // Returns the next index of the thread's own range or, when that range is empty, of another range. Returns nothing
    // if all indices are taken.
    std::optional<int64_t> next() {
      for (; empty_ < ranges_.ranges_in_use_; ++empty_) {
        Range& range = ranges_.ranges_[static_cast<size_t>((thread_ + empty_) % ranges_.ranges_in_use_)];
        if (range.next.load(std::memory_order_relaxed) >= range.end) continue;
        const int64_t index = range.next.fetch_add(1, std::memory_order_relaxed);
        if (index < range.end) return index;
      }
      return std::nullopt;
    }

   private:
    IndexRanges& ranges_;
    int thread_;
    int empty_ = 0;  // number of ranges known to be empty
  };

 private:
  // Indices from `next` to `end` have not been taken yet.
  struct alignas(64) Range {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  std::unique_ptr<Range[]> ranges_;
  int ranges_in_use_ = 0;
};

}  // namespace laptime::cpu
