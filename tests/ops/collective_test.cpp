// Compares collectives on CPUs and GPUs with plain sums over all ranks, and checks the bytes that a rank sends.
#include "ops/collective/collective.h"

#include <gtest/gtest.h>

#include <vector>

#include "ops/kernels_cpu.h"
#include "support/cuda/fake_ranks.h"
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

// The operands of one launch on a rank, in host memory. Input i has in[i] elements. If `in_place`, result i is
// stored in the bytes of input i.
struct Operands {
  Signature signature;
  std::vector<std::vector<float>> inputs, outputs;

  Operands(const OpCard& op, int ranks, int rank, const std::vector<int64_t>& in, bool in_place)
      : signature{&op, GroupAttributes{ranks, rank}, {}, {}} {
    const bool is_chunk = &op == &kAllGatherInPlace;
    for (const int64_t size : in) {
      TensorType type = floats({size});
      if (is_chunk) type.layout.offset = rank * size;
      signature.in.push_back(type);
    }
    signature.out = op.infer(signature.attributes, signature.in);
    for (size_t i = 0; i < in.size(); ++i) {
      inputs.emplace_back(static_cast<size_t>(is_chunk ? in[i] * ranks : in[i]), -1.0F);
      for (int64_t k = 0; k < in[i]; ++k)
        inputs[i][static_cast<size_t>(signature.in[i].layout.offset + k)] = element(rank, static_cast<int64_t>(i), k);
      if (!in_place) outputs.emplace_back(static_cast<size_t>(signature.out[i].numel()));
    }
  }

  // The arrays that hold the results.
  std::vector<std::vector<float>>& results() { return outputs.empty() ? inputs : outputs; }
  // Views of tensors at the given addresses.
  static std::vector<TensorView> views(const std::vector<std::byte*>& addresses, const std::vector<TensorType>& types) {
    std::vector<TensorView> views;
    for (size_t i = 0; i < types.size(); ++i) views.push_back({addresses[i], types[i]});
    return views;
  }
};

std::vector<std::byte*> addresses_of(std::vector<std::vector<float>>& arrays) {
  std::vector<std::byte*> addresses;
  for (std::vector<float>& array : arrays) addresses.push_back(reinterpret_cast<std::byte*>(array.data()));
  return addresses;
}

// The results of one launch on every rank.
struct Launched {
  std::vector<std::vector<std::vector<float>>> out;  // the elements out[rank][tensor]
  std::vector<int64_t> sent;                         // bytes that each rank sent
  std::vector<int64_t> stated;                       // bytes that bytes_of() predicts for each rank
};

Launched no_results(int ranks) {
  const auto size = static_cast<size_t>(ranks);
  return {std::vector<std::vector<std::vector<float>>>(size), std::vector<int64_t>(size), std::vector<int64_t>(size)};
}

void take(Launched& launched, size_t rank, Operands& operands) {
  for (size_t i = 0; i < operands.signature.out.size(); ++i) {
    const TensorType& type = operands.signature.out[i];
    const float* const first = operands.results()[i].data() + type.layout.offset;
    launched.out[rank].emplace_back(first, first + type.numel());
  }
}

Launched run(const OpCard& op, int ranks, const std::vector<int64_t>& in, bool in_place) {
  Launched result = no_results(ranks);
  run_ranks(ranks, [&](LocalGroup& group) {
    const auto rank = static_cast<size_t>(group.rank());
    Operands operands(op, ranks, group.rank(), in, in_place);
    const Signature& signature = operands.signature;
    const Kernel& kernel = kernel_of(op);
    EXPECT_EQ(kernel.refusal(signature), "");
    std::vector<std::byte> workspace(static_cast<size_t>(kernel.workspace_bytes(signature)));
    GroupQueue queue(group);
    kernel.launch({op, signature.attributes, Operands::views(addresses_of(operands.inputs), signature.in),
                   Operands::views(addresses_of(operands.results()), signature.out), workspace.data(), queue});
    take(result, rank, operands);
    result.sent[rank] = group.sent_bytes();
    result.stated[rank] = bytes_of(signature);
  });
  return result;
}

// Copies of arrays in GPU memory. read() copies them back.
class OnCard {
 public:
  OnCard(Backend& backend, std::vector<std::vector<float>>& arrays) : backend_(backend), arrays_(arrays) {
    for (std::vector<float>& array : arrays) {
      memory_.push_back(backend.allocate(bytes(array)));
      backend.write(memory_.back()->data(), reinterpret_cast<const std::byte*>(array.data()), bytes(array));
    }
  }
  std::vector<std::byte*> addresses() const {
    std::vector<std::byte*> addresses;
    for (const auto& memory : memory_) addresses.push_back(memory->data());
    return addresses;
  }
  void read() {
    for (size_t i = 0; i < arrays_.size(); ++i)
      backend_.read(reinterpret_cast<std::byte*>(arrays_[i].data()), memory_[i]->data(), bytes(arrays_[i]));
  }

 private:
  static int64_t bytes(const std::vector<float>& array) { return static_cast<int64_t>(4 * array.size()); }

  Backend& backend_;
  std::vector<std::vector<float>>& arrays_;
  std::vector<std::unique_ptr<DeviceMemory>> memory_;
};

Launched run_on_cards(const OpCard& op, int ranks, const std::vector<int64_t>& in, bool in_place) {
  Launched result = no_results(ranks);
  run_cuda_ranks(ranks, ranks, {}, [&](Backend& backend, LocalGroup& group) {
    Operands operands(op, ranks, group.rank(), in, in_place);
    const Signature& signature = operands.signature;
    const Kernel& kernel = backend.kernels(op).front();
    EXPECT_EQ(kernel.refusal(signature), "");
    OnCard inputs(backend, operands.inputs);
    OnCard outputs(backend, operands.outputs);
    const std::vector<TensorView> from = Operands::views(inputs.addresses(), signature.in);
    const std::vector<TensorView> to = Operands::views((in_place ? inputs : outputs).addresses(), signature.out);
    backend.launch(
        {.kernel = &kernel, .attributes = &signature.attributes, .in = from, .out = to, .communicates = true});
    backend.wait_for_communication(1);
    backend.synchronize();
    (in_place ? inputs : outputs).read();
    take(result, static_cast<size_t>(group.rank()), operands);
  });
  return result;
}

float sum(int ranks, int64_t tensor, int64_t index) {
  float total = 0;
  for (int rank = 0; rank < ranks; ++rank) total += element(rank, tensor, index);
  return total;
}

const std::vector<int64_t> kSizes{48, 5, 1, 2400};  // includes sizes that are not multiples of the number of ranks

void expect_all_reduced(const Launched& reduced) {
  for (const auto& results : reduced.out) {
    ASSERT_EQ(results.size(), kSizes.size());
    for (size_t i = 0; i < kSizes.size(); ++i) {
      for (int64_t k = 0; k < kSizes[i]; ++k)
        ASSERT_EQ(results[i][static_cast<size_t>(k)],
                  sum(static_cast<int>(reduced.out.size()), static_cast<int64_t>(i), k))
            << i;
    }
  }
}

void expect_chunks_of_sums(const Launched& reduced) {
  for (size_t rank = 0; rank < reduced.out.size(); ++rank) {
    for (size_t i = 0; i < reduced.out[rank].size(); ++i) {
      const auto chunk = static_cast<int64_t>(reduced.out[rank][i].size());
      for (int64_t k = 0; k < chunk; ++k) {
        ASSERT_EQ(
            reduced.out[rank][i][static_cast<size_t>(k)],
            sum(static_cast<int>(reduced.out.size()), static_cast<int64_t>(i), static_cast<int64_t>(rank) * chunk + k));
      }
    }
  }
}

void expect_all_chunks(const Launched& gathered, const std::vector<int64_t>& chunks) {
  const auto ranks = static_cast<int64_t>(gathered.out.size());
  for (const auto& results : gathered.out) {
    for (size_t i = 0; i < chunks.size(); ++i) {
      ASSERT_EQ(static_cast<int64_t>(results[i].size()), ranks * chunks[i]);
      for (int64_t k = 0; k < ranks * chunks[i]; ++k)
        ASSERT_EQ(results[i][static_cast<size_t>(k)], element(k / chunks[i], static_cast<int64_t>(i), k % chunks[i]));
    }
  }
}

TEST(Collective, AllReduceSumsOverRanks) {
  for (const int ranks : {2, 3, 4}) {
    const Launched reduced = run(kAllReduce, ranks, kSizes, true);
    expect_all_reduced(reduced);
    EXPECT_EQ(reduced.sent, reduced.stated);
    expect_all_reduced(run_on_cards(kAllReduce, ranks, kSizes, true));
  }
}

TEST(Collective, ReduceScatterGivesEachRankItsChunk) {
  for (const int ranks : {2, 4}) {
    for (const OpCard* op : {&kReduceScatter, &kReduceScatterInPlace}) {
      const bool in_place = op == &kReduceScatterInPlace;
      const Launched reduced = run(*op, ranks, {48, 4, 2400}, in_place);
      expect_chunks_of_sums(reduced);
      EXPECT_EQ(reduced.sent, reduced.stated);
      expect_chunks_of_sums(run_on_cards(*op, ranks, {48, 4, 2400}, in_place));
    }
  }
}

TEST(Collective, AllGatherGivesEveryRankAllChunks) {
  const std::vector<int64_t> chunks{12, 1, 600};
  for (const int ranks : {2, 4}) {
    for (const OpCard* op : {&kAllGather, &kAllGatherInPlace}) {
      const bool in_place = op == &kAllGatherInPlace;
      const Launched gathered = run(*op, ranks, chunks, in_place);
      expect_all_chunks(gathered, chunks);
      EXPECT_EQ(gathered.sent, gathered.stated);
      expect_all_chunks(run_on_cards(*op, ranks, chunks, in_place), chunks);
    }
  }
}

TEST(Collective, StatesTheBytesOfRingAlgorithms) {
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

// (1 + 2^-24) + 2^-24 rounds to 1, but 1 + (2^-24 + 2^-24) does not.
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
