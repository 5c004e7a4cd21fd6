// OccupiedBytes: which bytes of an arena are taken at which steps, and where the first gap is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace laptime {

// Byte ranges; those that touch or overlap are one.
class ByteRanges {
 public:
  void add(int64_t begin, int64_t end);
  // The lowest offset from `offset` on at which so many bytes are in no range.
  int64_t first_gap(int64_t offset, int64_t bytes) const;

 private:
  std::vector<std::pair<int64_t, int64_t>> ranges_;  // begin, end; ascending
};

// A segment tree over the steps. A node has the bytes that are taken at any of its steps, and those that are taken at
// all of them by an interval that no parent has. A live range meets few nodes, and where neighbours lie side by side a
// node has few ranges, so neither taking nor searching looks at every buffer that is alive.
class OccupiedBytes {
 public:
  explicit OccupiedBytes(int steps);

  // Both steps are included.
  void take(int first, int last, int64_t offset, int64_t bytes);
  // The lowest offset at which so many bytes are free from step `first` to step `last`.
  int64_t first_gap(int first, int last, int64_t bytes) const;

 private:
  struct Node {
    ByteRanges at_any_step;
    ByteRanges at_every_step;
  };
  void take(size_t node, int begin, int end, int first, int last, int64_t offset, int64_t bytes);
  void collect(size_t node, int begin, int end, int first, int last, std::vector<const ByteRanges*>& met) const;

  int steps_ = 0;
  std::vector<Node> nodes_;  // of the steps [begin, end): node 1 has all, the children of node n are 2n and 2n + 1
};

}  // namespace laptime
