// Launches of rotary position embedding on a CUDA device.
#include "ops/rope/rope_cuda.h"

#include <algorithm>

#include "ops/rope/rope.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

void table(const KernelCall& call) {
  const auto& a = call.attributes.as<RopeTableAttributes>();
  const int64_t count = call.out[0].numel();
  launch_elements<RopeAngles>(call, count,
                              {device_data(call.out[0]), device_data(call.out[1]), a.d_head / 2,
                               call.out[0].shape().back(), count, a.theta, a.scaling});
}

std::string table_refusal(const Signature& signature) {
  return signature.out[0].dtype == DType::kFloat64 ? "angles are rounded to float32" : "";
}

template <bool inverse>
void rotate(const KernelCall& call) {
  const TensorView& x = call.in[0];
  const RopeForm form = call.attributes.as<RopeAttributes>().form;
  const int64_t half = rotated_width(form, call.in[1].shape().back()) / 2;
  const int64_t rest = x.shape().back() - 2 * half;
  const int64_t positions = x.shape()[-2];
  const RopePlaces places(form, inverse);
  constexpr float kSign = inverse ? -1.0F : 1.0F;
  if (half <= kElementThreads) {
    const int64_t rows = row_count(x);
    const int64_t rows_per_block = kElementThreads / std::max<int64_t>(half, 1);
    launch<RopePairs>(call, (rows + rows_per_block - 1) / rows_per_block, kElementThreads,
                      {rows_of(x), rows_of(call.out[0]), rows_of(call.in[1]), rows_of(call.in[2]), rows, half, rest,
                       positions, static_cast<int>(rows_per_block), places, kSign});
    return;
  }
  launch<RopeRotate>(call, row_count(x), kElementThreads,
                     {rows_of(x), rows_of(call.out[0]), rows_of(call.in[1]), rows_of(call.in[2]), half, rest, positions,
                      places, kSign});
}

std::string rotate_refusal(const Signature& signature) {
  return signature.in[0].shape().back() / 2 > RopeRotate::kMaxHalf ? "a row does not fit into shared memory" : "";
}

}  // namespace

std::vector<Kernel> rope_kernels() {
  return {{.op = &kRopeTable, .name = "elements", .supports = table_refusal, .launch = table},
          {.op = &kRope, .name = "rows", .supports = rotate_refusal, .launch = rotate<false>},
          {.op = &kRopeBackward, .name = "rows", .supports = rotate_refusal, .launch = rotate<true>}};
}

}  // namespace laptime::cuda
