// The segment tree, and the merging of byte ranges.
#include "plan/occupied_bytes.h"

#include <algorithm>

namespace laptime {

void ByteRanges::add(int64_t begin, int64_t end) {
  if (begin == end) return;
  const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                                      [](const auto& range, int64_t value) { return range.second < value; });
  auto last = first;
  for (; last != ranges_.end() && last->first <= end; ++last) {
    begin = std::min(begin, last->first);
    end = std::max(end, last->second);
  }
  if (first == last) {
    ranges_.insert(first, {begin, end});
  } else {
    *first = {begin, end};
    ranges_.erase(first + 1, last);
  }
}

int64_t ByteRanges::first_gap(int64_t offset, int64_t bytes) const {
  auto range = std::upper_bound(ranges_.begin(), ranges_.end(), offset,
                                [](int64_t value, const auto& other) { return value < other.second; });
  for (; range != ranges_.end() && range->first < offset + bytes; ++range) offset = range->second;
  return offset;
}

OccupiedBytes::OccupiedBytes(int steps) : steps_(std::max(steps, 1)) {
  size_t leaves = 1;
  while (leaves < static_cast<size_t>(steps_)) leaves *= 2;
  nodes_.resize(2 * leaves);
}

void OccupiedBytes::take(int first, int last, int64_t offset, int64_t bytes) {
  take(1, 0, steps_, first, last, offset, bytes);
}

void OccupiedBytes::take(size_t node, int begin, int end, int first, int last, int64_t offset, int64_t bytes) {
  if (last < begin || end <= first) return;
  nodes_[node].at_any_step.add(offset, offset + bytes);
  if (first <= begin && end <= last + 1) {
    nodes_[node].at_every_step.add(offset, offset + bytes);
    return;
  }
  const int middle = begin + (end - begin + 1) / 2;
  take(2 * node, begin, middle, first, last, offset, bytes);
  take(2 * node + 1, middle, end, first, last, offset, bytes);
}

void OccupiedBytes::collect(size_t node, int begin, int end, int first, int last,
                            std::vector<const ByteRanges*>& met) const {
  if (last < begin || end <= first) return;
  if (first <= begin && end <= last + 1) {
    met.push_back(&nodes_[node].at_any_step);
    return;
  }
  met.push_back(&nodes_[node].at_every_step);
  const int middle = begin + (end - begin + 1) / 2;
  collect(2 * node, begin, middle, first, last, met);
  collect(2 * node + 1, middle, end, first, last, met);
}

int64_t OccupiedBytes::first_gap(int first, int last, int64_t bytes) const {
  std::vector<const ByteRanges*> met;
  collect(1, 0, steps_, first, last, met);
  int64_t offset = 0;
  size_t agreed = 0;  // number of consecutive nodes in which the bytes fit at this offset
  for (size_t i = 0; agreed < met.size(); i = (i + 1) % met.size()) {
    const int64_t gap = met[i]->first_gap(offset, bytes);
    agreed = gap == offset ? agreed + 1 : 1;
    offset = gap;
  }
  return offset;
}

}  // namespace laptime
