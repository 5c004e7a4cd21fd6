// Collective communication of tensors between the ranks of a run. Sums add the ranks in the order of their numbers, so
// that they have the same bits in every run and on every rank.
#pragma once

#include <span>
#include <vector>

#include "graph/builder.h"

namespace laptime {

// A rank among all ranks of a run.
struct GroupAttributes {
  int64_t ranks = 1;
  int64_t rank = 0;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("ranks", self.ranks);
    visit("rank", self.rank);
  }
};

// All take any number of contiguous float32 tensors, and output i depends on input i alone. n is the number of ranks,
// and the chunk of a rank in a tensor of n c elements are the elements [rank c, (rank + 1) c).

// x [...] -> the sum of x over the ranks [...], in its bytes. A rank sends 2 (n - 1) / n of the bytes.
extern const OpCard kAllReduce;
// x [n c] -> the rank's chunk of the sum of x over the ranks [c]. A rank sends (n - 1) / n of the bytes of x.
extern const OpCard kReduceScatter;
// A reduce-scatter whose result is a view of the rank's chunk of x; the other elements of x are lost.
extern const OpCard kReduceScatterInPlace;
// chunk [c] -> the chunks of all ranks, in their order [n c]. A rank sends n - 1 times the bytes of its chunk.
extern const OpCard kAllGather;
// An all-gather of chunks that are views of the rank's place in the [n c] elements of a tensor, in its bytes.
extern const OpCard kAllGatherInPlace;
// x [...] -> x [...], in its bytes, when the communication that makes it is done.
extern const OpCard kWaitForRanks;

// The first element of a rank's chunk where any number of elements is cut: chunks of equal size, the last ones shorter.
constexpr int64_t chunk_begin(int64_t elements, int64_t ranks, int64_t rank) {
  const int64_t begin = rank * ((elements + ranks - 1) / ranks);
  return begin < elements ? begin : elements;
}

std::span<const OpCard* const> collective_cards();

}  // namespace laptime
