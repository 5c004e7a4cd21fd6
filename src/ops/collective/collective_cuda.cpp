// Kernels of collective communication on CUDA devices: NCCL's collectives.
#include "backend/cuda/group_queue.h"
#include "backend/cuda/libraries/nccl.h"
#include "backend/kernel.h"
#include "ops/collective/collective.h"

namespace laptime::cuda {
namespace {

template <Collective kCollective>
void launch(const KernelCall& call) {
  static_cast<GroupQueue&>(call.queue).launch(kCollective, call.in, call.out);
}

// Nothing to do: the device has already waited before the launch.
void launch_wait(const KernelCall&) {}

// NCCL's order of additions depends on the size and the machine, so results are not reproducible everywhere.
Kernel nccl(const OpCard& op, void (*launch)(const KernelCall&)) {
  return {.op = &op,
          .name = "nccl",
          .supports = collective_refusal,
          .launch = launch,
          .reproducible = false,
          .library = kNcclName};
}

}  // namespace

std::vector<Kernel> collective_kernels() {
  return {nccl(kAllReduce, launch<Collective::kAllReduce>),
          nccl(kReduceScatter, launch<Collective::kReduceScatter>),
          nccl(kReduceScatterInPlace, launch<Collective::kReduceScatter>),
          nccl(kAllGather, launch<Collective::kAllGather>),
          nccl(kAllGatherInPlace, launch<Collective::kAllGather>),
          {.op = &kWaitForRanks, .name = "wait", .launch = launch_wait}};
}

}  // namespace laptime::cuda
