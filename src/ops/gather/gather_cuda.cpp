// Launches the CUDA kernels of gather and scatter.
#include "ops/gather/gather_cuda.h"

#include "ops/gather/gather.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

void gather_rows(const KernelCall& call) {
  const int64_t rows = call.out[0].numel();
  launch_elements<GatherRows>(call, rows, {rows_of(call.in[0]), flat_of(call.in[1]), device_data(call.out[0]), rows});
}

// (grad, [x,] index)
void scatter_rows(const KernelCall& call) {
  const DeviceData out = device_data(call.out[0]);
  const int64_t columns = columns_of(call.out[0]);
  const bool in_fours = has_rows_in_fours(out, columns);
  const int64_t groups = call.out[0].numel() / (in_fours ? kFour : 1);
  launch_elements<ScatterRows>(call, groups,
                               {flat_of(call.in[0]), flat_of(call.in.back()), out, columns, groups, in_fours});
}

}  // namespace

std::vector<Kernel> gather_kernels() {
  return {{.op = &kGather, .name = "rows", .launch = gather_rows},
          {.op = &kGatherBackward, .name = "rows", .launch = scatter_rows},
          {.op = &kScatter, .name = "rows", .launch = scatter_rows}};
}

}  // namespace laptime::cuda
