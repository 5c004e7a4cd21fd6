// Kernels of collective communication. For a sum, each rank receives its chunk from all other ranks, and adds the
// received values in the order of the rank numbers. Messages are sent directly from the tensors, and received directly
// into them or, if they must be summed, into the workspace.
#include "ops/collective/collective.h"

#include <algorithm>

#include "backend/cpu/isa_namespace.h"
#include "backend/group.h"
#include "backend/kernel.h"

namespace laptime::LAPTIME_ISA {
namespace {

constexpr int64_t kElement = sizeof(float);

int64_t elements_of(std::span<const TensorView> tensors) {
  int64_t elements = 0;
  for (const TensorView& tensor : tensors) elements += tensor.numel();
  return elements;
}

// Calls body(data, count) for each piece of elements [begin, end) of the concatenated tensors, in order.
template <class Body>
void for_pieces(std::span<const TensorView> tensors, int64_t begin, int64_t end, const Body& body) {
  int64_t first = 0;  // first element of the current tensor
  for (const TensorView& tensor : tensors) {
    const int64_t from = std::max(begin, first);
    const int64_t to = std::min(end, first + tensor.numel());
    if (from < to) body(tensor.as<float>() + (from - first), to - from);
    first += tensor.numel();
  }
}

// Calls body(peer) for every other rank, starting with the next rank, so that not all ranks send to the same rank at
// once.
template <class Body>
void for_peers(const GroupAttributes& group, const Body& body) {
  for (int64_t step = 1; step < group.ranks; ++step) body((group.rank + step) % group.ranks);
}

void add_message(std::vector<Message>& messages, int64_t peer, float* data, int64_t elements) {
  messages.push_back({static_cast<int>(peer), reinterpret_cast<std::byte*>(data), elements * kElement});
}

// The contributions of all other ranks to this rank's chunk, one array for each of them.
class Contributions {
 public:
  Contributions(std::byte* workspace, int64_t chunk, const GroupAttributes& group)
      : data_(reinterpret_cast<float*>(workspace)), chunk_(chunk), group_(group) {}

  float* of(int64_t peer) const { return data_ + (peer < group_.rank ? peer : peer - 1) * chunk_; }

  // Writes the sum over all ranks of elements [begin, begin + count) of the chunk. `own` is this rank's contribution.
  void sum(int64_t begin, int64_t count, const float* own, float* to) const {
    constexpr int64_t kStrip = 1024;
    alignas(64) std::array<float, kStrip> sums;
    for (int64_t at = 0; at < count; at += kStrip) {
      const int64_t size = std::min(kStrip, count - at);
      for (int64_t rank = 0; rank < group_.ranks; ++rank) {
        const float* const part = rank == group_.rank ? own + at : of(rank) + begin + at;
        if (rank == 0) {
          for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(i)] = part[i];
        } else {
#pragma omp simd
          for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(i)] += part[i];
        }
      }
      std::copy_n(sums.data(), size, to + at);
    }
  }

 private:
  float* data_;
  int64_t chunk_;
  const GroupAttributes& group_;
};

void launch_all_reduce(const KernelCall& call) {
  const auto& group = call.attributes.as<GroupAttributes>();
  GroupQueue& queue = group_queue_of(call);
  const int64_t elements = elements_of(call.in);
  const auto begin_of = [&](int64_t rank) { return chunk_begin(elements, group.ranks, rank); };
  const int64_t begin = begin_of(group.rank);
  const int64_t end = begin_of(group.rank + 1);
  const Contributions contributions(call.workspace, end - begin, group);
  queue.clear();
  for_peers(group, [&](int64_t peer) {
    for_pieces(call.out, begin_of(peer), begin_of(peer + 1),
               [&](float* data, int64_t count) { add_message(queue.outgoing, peer, data, count); });
    float* to = contributions.of(peer);
    for_pieces(call.out, begin, end, [&](float*, int64_t count) {
      add_message(queue.incoming, peer, to, count);
      to += count;
    });
  });
  queue.exchange();
  int64_t at = 0;
  for_pieces(call.out, begin, end, [&](float* data, int64_t count) {
    contributions.sum(at, count, data, data);
    at += count;
  });
  queue.clear();
  for_peers(group, [&](int64_t peer) {
    for_pieces(call.out, begin, end,
               [&](float* data, int64_t count) { add_message(queue.outgoing, peer, data, count); });
    for_pieces(call.out, begin_of(peer), begin_of(peer + 1),
               [&](float* data, int64_t count) { add_message(queue.incoming, peer, data, count); });
  });
  queue.exchange();
}

void launch_reduce_scatter(const KernelCall& call) {
  const auto& group = call.attributes.as<GroupAttributes>();
  GroupQueue& queue = group_queue_of(call);
  const Contributions contributions(call.workspace, elements_of(call.out), group);
  queue.clear();
  for_peers(group, [&](int64_t peer) {
    float* to = contributions.of(peer);
    for (size_t i = 0; i < call.in.size(); ++i) {
      const int64_t chunk = call.out[i].numel();
      add_message(queue.outgoing, peer, call.in[i].as<float>() + peer * chunk, chunk);
      add_message(queue.incoming, peer, to, chunk);
      to += chunk;
    }
  });
  queue.exchange();
  int64_t at = 0;
  for (size_t i = 0; i < call.in.size(); ++i) {
    const int64_t chunk = call.out[i].numel();
    contributions.sum(at, chunk, call.in[i].as<float>() + group.rank * chunk, call.out[i].as<float>());
    at += chunk;
  }
}

void launch_all_gather(const KernelCall& call) {
  const auto& group = call.attributes.as<GroupAttributes>();
  GroupQueue& queue = group_queue_of(call);
  queue.clear();
  for_peers(group, [&](int64_t peer) {
    for (size_t i = 0; i < call.in.size(); ++i) {
      const int64_t chunk = call.in[i].numel();
      add_message(queue.outgoing, peer, call.in[i].as<float>(), chunk);
      add_message(queue.incoming, peer, call.out[i].as<float>() + peer * chunk, chunk);
    }
  });
  for (size_t i = 0; i < call.in.size(); ++i) {
    const float* const own = call.in[i].as<float>();
    float* const place = call.out[i].as<float>() + group.rank * call.in[i].numel();
    if (own != place) std::copy_n(own, call.in[i].numel(), place);
  }
  queue.exchange();
}

// Nothing to do: the device has already waited before the launch.
void launch_wait(const KernelCall&) {}

int64_t all_reduce_workspace(const Signature& s) {
  const auto& group = s.attributes.as<GroupAttributes>();
  Size elements;
  for (const TensorType& type : s.in) elements += type.numel();
  const int64_t chunk = chunk_begin(elements.value(), group.ranks, group.rank + 1) -
                        chunk_begin(elements.value(), group.ranks, group.rank);
  return (Size(group.ranks - 1) * chunk * kElement).value();
}

int64_t reduce_scatter_workspace(const Signature& s) {
  Size elements;
  for (const TensorType& type : s.out) elements += type.numel();
  return (elements * (s.attributes.as<GroupAttributes>().ranks - 1) * kElement).value();
}

Kernel direct(const OpCard& op, void (*launch)(const KernelCall&), int64_t (*workspace)(const Signature&)) {
  return {.op = &op, .name = "direct", .supports = collective_refusal, .workspace = workspace, .launch = launch};
}

}  // namespace

std::vector<Kernel> collective_kernels() {
  return {direct(kAllReduce, launch_all_reduce, all_reduce_workspace),
          direct(kReduceScatter, launch_reduce_scatter, reduce_scatter_workspace),
          direct(kReduceScatterInPlace, launch_reduce_scatter, reduce_scatter_workspace),
          direct(kAllGather, launch_all_gather, nullptr),
          direct(kAllGatherInPlace, launch_all_gather, nullptr),
          {.op = &kWaitForRanks, .name = "wait", .launch = launch_wait}};
}

}  // namespace laptime::LAPTIME_ISA
