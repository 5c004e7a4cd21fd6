// Compares collectives with plain sums over all ranks, and checks the bytes that a rank sends.
#include "ops/collective/collective.h"

#include <gtest/gtest.h>

#include <vector>

#include "ops/kernels_cpu.h"
#include "support/local_group.h"
#include "support/types.h"

namespace laptime::test {
namespace {

// Element `index` of tensor `tensor` on a rank. Elements are whole numbers, so sums are exact.
float element(int64_t rank, int64_t tensor, int64_t index) {
  return static_cast<float>((rank + 1) * 1000 + tensor * 100 + index % 97);
}

const Kernel& kernel_of(const OpCard& op) {
  static const KernelTable kTable(cpu_kernels(cpu::widest_isa()));
  return kTable.of(op).front();
}

// The results of one launch on every rank.
struct Launched {
  std::vector<std::vector<std::vector<float>>> out;  // rank, tensor
  std::vector<int64_t> sent;                         // bytes of each rank
  std::vector<int64_t> stated;                       // by the card
};

// Launches the op on every rank. Input i has in[i] elements. If `in_place`, result i is stored in the bytes of input i.
Launched run(const OpCard& op, int ranks, const std::vector<int64_t>& in, bool in_place) {
  Launched result{std::vector<std::vector<std::vector<float>>>(static_cast<size_t>(ranks)),
                  std::vector<int64_t>(static_cast<size_t>(ranks)), std::vector<int64_t>(static_cast<size_t>(ranks))};
  run_ranks(ranks, [&](LocalGroup& group) {
    const auto rank = static_cast<size_t>(group.rank());
    Signature signature{&op, GroupAttributes{ranks, group.rank()}, {}, {}};
    const bool is_chunk = &op == &kAllGatherInPlace;
    for (const int64_t size : in) {
      TensorType type = floats({size});
      if (is_chunk) type.layout.offset = group.rank() * size;
      signature.in.push_back(type);
    }
    signature.out = op.infer(signature.attributes, signature.in);
    std::vector<std::vector<float>> inputs;
    std::vector<std::vector<float>> outputs;
    std::vector<TensorView> from;
    std::vector<TensorView> to;
    for (size_t i = 0; i < in.size(); ++i) {
      inputs.emplace_back(static_cast<size_t>(is_chunk ? in[i] * ranks : in[i]), -1.0F);
      for (int64_t k = 0; k < in[i]; ++k)
        inputs[i][static_cast<size_t>(signature.in[i].layout.offset + k)] =
            element(group.rank(), static_cast<int64_t>(i), k);
      outputs.emplace_back(static_cast<size_t>(signature.out[i].numel()));
    }
    for (size_t i = 0; i < in.size(); ++i) {
      from.push_back({reinterpret_cast<std::byte*>(inputs[i].data()), signature.in[i]});
      to.push_back({reinterpret_cast<std::byte*>((in_place ? inputs : outputs)[i].data()), signature.out[i]});
    }
    const Kernel& kernel = kernel_of(op);
    EXPECT_EQ(kernel.refusal(signature), "");
    std::vector<std::byte> workspace(static_cast<size_t>(kernel.workspace_bytes(signature)));
    GroupQueue queue(group);
    kernel.launch({op, signature.attributes, from, to, workspace.data(), queue});
    for (size_t i = 0; i < in.size(); ++i) {
      const auto* const first = to[i].as<float>();
      result.out[rank].emplace_back(first, first + to[i].numel());
    }
    result.sent[rank] = group.sent_bytes();
    result.stated[rank] = bytes_of(signature);
  });
  return result;
}

float sum(int ranks, int64_t tensor, int64_t index) {
  float total = 0;
  for (int rank = 0; rank < ranks; ++rank) total += element(rank, tensor, index);
  return total;
}

const std::vector<int64_t> kSizes{48, 5, 1, 2400};  // includes sizes that the ranks do not divide

TEST(Collective, AllReduceSumsOverRanks) {
  for (const int ranks : {2, 3, 4}) {
    const Launched reduced = run(kAllReduce, ranks, kSizes, true);
    for (size_t rank = 0; rank < reduced.out.size(); ++rank) {
      for (size_t i = 0; i < kSizes.size(); ++i) {
        for (int64_t k = 0; k < kSizes[i]; ++k)
          ASSERT_EQ(reduced.out[rank][i][static_cast<size_t>(k)], sum(ranks, static_cast<int64_t>(i), k))
              << rank << " " << i;
      }
      EXPECT_EQ(reduced.sent[rank], reduced.stated[rank]);
    }
  }
}

TEST(Collective, ReduceScatterLeavesEachRankItsChunk) {
  for (const int ranks : {2, 4}) {
    for (const OpCard* op : {&kReduceScatter, &kReduceScatterInPlace}) {
      const Launched reduced = run(*op, ranks, {48, 4, 2400}, op == &kReduceScatterInPlace);
      for (size_t rank = 0; rank < reduced.out.size(); ++rank) {
        for (size_t i = 0; i < 3; ++i) {
          const auto chunk = static_cast<int64_t>(reduced.out[rank][i].size());
          for (int64_t k = 0; k < chunk; ++k) {
            ASSERT_EQ(reduced.out[rank][i][static_cast<size_t>(k)],
                      sum(ranks, static_cast<int64_t>(i), static_cast<int64_t>(rank) * chunk + k));
          }
        }
        EXPECT_EQ(reduced.sent[rank], reduced.stated[rank]);
      }
    }
  }
}

TEST(Collective, AllGatherGivesEveryRankAllChunks) {
  for (const int ranks : {2, 4}) {
    for (const OpCard* op : {&kAllGather, &kAllGatherInPlace}) {
      const std::vector<int64_t> chunks{12, 1, 600};
      const Launched gathered = run(*op, ranks, chunks, op == &kAllGatherInPlace);
      for (size_t rank = 0; rank < gathered.out.size(); ++rank) {
        for (size_t i = 0; i < chunks.size(); ++i) {
          ASSERT_EQ(static_cast<int64_t>(gathered.out[rank][i].size()), ranks * chunks[i]);
          for (int64_t k = 0; k < ranks * chunks[i]; ++k) {
            ASSERT_EQ(gathered.out[rank][i][static_cast<size_t>(k)],
                      element(k / chunks[i], static_cast<int64_t>(i), k % chunks[i]));
          }
        }
        EXPECT_EQ(gathered.sent[rank], gathered.stated[rank]);
      }
    }
  }
}

TEST(Collective, SendsTheBytesOfARing) {
  const auto bytes = [](const OpCard& op, int64_t ranks, int64_t elements) {
    Signature signature{&op, GroupAttributes{ranks, 1}, {floats({elements})}, {}};
    return bytes_of(signature);
  };
  constexpr int64_t kBytes = 4096 * 4;
  for (const int64_t ranks : {2, 4, 8, 64}) {
    EXPECT_EQ(bytes(kAllReduce, ranks, 4096), 2 * (ranks - 1) * kBytes / ranks);
    EXPECT_EQ(bytes(kReduceScatter, ranks, 4096), (ranks - 1) * kBytes / ranks);
    EXPECT_EQ(bytes(kAllGather, ranks, 4096 / ranks), (ranks - 1) * kBytes / ranks);
  }
}

// (1 + 2^-24) + 2^-24 rounds to 1, and 1 + (2^-24 + 2^-24) does not.
TEST(Collective, SumsInTheOrderOfRanks) {
  constexpr float kHalfUnit = 0x1p-24F;
  run_ranks(3, [&](LocalGroup& group) {
    float value = group.rank() == 0 ? 1.0F : kHalfUnit;
    const TensorView view{reinterpret_cast<std::byte*>(&value), floats({})};
    const Attributes attributes = GroupAttributes{3, group.rank()};
    std::vector<std::byte> workspace(16);
    GroupQueue queue(group);
    kernel_of(kAllReduce).launch({kAllReduce, attributes, {&view, 1}, {&view, 1}, workspace.data(), queue});
    EXPECT_EQ(value, 1.0F);
  });
}

}  // namespace
}  // namespace laptime::test
