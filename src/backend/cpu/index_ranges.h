// IndexRanges: indices that threads take one at a time, each from a range of its own first.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>

namespace laptime::cpu {

// Threads that take neighbouring indices at the same time read neighbouring memory, and where their cores share no
// cache, the prefetcher of one core takes lines that the other one needs. With ranges they are far apart until the end.
class IndexRanges {
 public:
  explicit IndexRanges(int most_ranges) : ranges_(std::make_unique<Range[]>(static_cast<size_t>(most_ranges))) {}

  // [0, count) in `ranges` ranges, as equal as can be. From one range all threads take indices in order. No thread may
  // be taking indices meanwhile.
  void divide(int64_t count, int ranges) {
    ranges_in_use_ = ranges;
    for (int i = 0; i < ranges; ++i) {
      Range& range = ranges_[static_cast<size_t>(i)];
      range.next.store(count * i / ranges, std::memory_order_relaxed);
      range.end = count * (i + 1) / ranges;
    }
  }

  // Hands indices to one thread.
  class Taker {
   public:
    Taker(IndexRanges& ranges, int thread) : ranges_(ranges), thread_(thread) {}
    // The next index of the thread's own range or, when that is empty, of those after it; none where all are taken.
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
    int empty_ = 0;  // ranges of which nothing is left
  };

 private:
  // Indices from `next` to `end` are still to be taken.
  struct alignas(64) Range {
    std::atomic<int64_t> next{0};
    int64_t end = 0;
  };

  std::unique_ptr<Range[]> ranges_;
  int ranges_in_use_ = 0;
};

}  // namespace laptime::cpu
