// OccupiedBytes: which bytes of an arena are occupied at which steps, and where the first gap is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace laptime {

// A set of byte ranges, in which ranges that touch or overlap are merged.
class ByteRanges {
 public:
  void add(int64_t begin, int64_t end);
  // The lowest offset, starting at `offset`, at which this many bytes are free.
  int64_t first_gap(int64_t offset, int64_t bytes) const;

 private:
  std::vector<std::pair<int64_t, int64_t>> ranges_;  // (begin, end), in ascending order
};

// A segment tree over the steps. A node stores the bytes that are occupied at any step of the node, and the bytes of
// the live ranges that cover all steps of the node but not all of its parent. A live range covers few nodes, and
// adjacent byte ranges merge, so neither occupying nor searching visits every live buffer.
class OccupiedBytes {
 public:
  explicit OccupiedBytes(int steps);

  // `first` and `last` are inclusive.
  void take(int first, int last, int64_t offset, int64_t bytes);
  // The lowest offset at which this many bytes are free from step `first` to step `last`.
  int64_t first_gap(int first, int last, int64_t bytes) const;

 private:
  struct Node {
    ByteRanges at_any_step;
    ByteRanges at_every_step;
  };
  void take(size_t node, int begin, int end, int first, int last, int64_t offset, int64_t bytes);
  void collect(size_t node, int begin, int end, int first, int last, std::vector<const ByteRanges*>& met) const;

  int steps_ = 0;
  // Each node covers a range of steps: node 1 covers all of them, and nodes 2n and 2n + 1 cover the halves of node n.
  std::vector<Node> nodes_;
};

}  // namespace laptime
