// Collective communication of tensors between the ranks of a run. On CPUs, sums add the ranks' values in the order of
// the rank numbers, so that results have the same bits in every run and on every rank.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/builder.h"
#include "graph/op.h"

namespace laptime {

// The number of ranks of a run, and the index of this rank.
struct GroupAttributes {
  int64_t ranks = 1;
  int64_t rank = 0;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("ranks", self.ranks);
    visit("rank", self.rank);
  }
};

// All ops take any number of contiguous float32 tensors, and output i depends on input i alone. n is the number of
// ranks. The chunk of a rank in a tensor of n c elements consists of elements [rank c, (rank + 1) c).

// x [...] -> the sum of x over the ranks [...], in place. A rank sends 2 (n - 1) / n of the bytes of x.
extern const OpCard kAllReduce;
// x [n c] -> the rank's chunk of the sum of x over the ranks [c]. A rank sends (n - 1) / n of the bytes of x.
extern const OpCard kReduceScatter;
// Like kReduceScatter, but the result is a view of the rank's chunk of x; the other elements of x must not be read
// afterwards.
extern const OpCard kReduceScatterInPlace;
// chunk [c] -> the chunks of all ranks, in rank order [n c]. A rank sends n - 1 times the bytes of its chunk.
extern const OpCard kAllGather;
// Like kAllGather, but each input is a view of the rank's chunk of a tensor of n c elements, and the result fills that
// tensor.
extern const OpCard kAllGatherInPlace;
// x [...] -> x [...], in place: waits until the communication that produces x is done.
extern const OpCard kWaitForRanks;

// The first element of a rank's chunk, for any number of elements. Chunks have equal size, except that the last ones
// may be shorter.
constexpr int64_t chunk_begin(int64_t elements, int64_t ranks, int64_t rank) {
  const int64_t begin = rank * ((elements + ranks - 1) / ranks);
  return begin < elements ? begin : elements;
}

// Returns why no kernel can take these inputs: "not float32", "not contiguous"; empty if kernels can.
std::string collective_refusal(const Signature& signature);

std::span<const OpCard* const> collective_cards();

}  // namespace laptime
