// Launches the CUDA kernels of rotary position embedding.
#include "ops/rope/rope_cuda.h"

#include <algorithm>
#include <optional>

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
  return signature.out[0].dtype == DType::kFloat64 ? "the table is float64, but angles are rounded to float32" : "";
}

// Describes the rotation in groups of eight pairs. Returns nothing if the layouts do not allow it.
std::optional<RopeEightsArgs> in_eights(const KernelCall& call, int64_t half, int64_t rest) {
  const TensorView* const views[] = {&call.out[0], &call.in[0], &call.in[1], &call.in[2]};
  if (half % kEight != 0 || rest % kEight != 0 || half / kEight > kElementThreads) return std::nullopt;
  RopeEightsArgs args{.operand = {},
                      .lines = {},
                      .row_stride = {},
                      .rows_of_line = 1,
                      .groups_of_line = 1,
                      .groups = 1,
                      .together = 1,
                      .groups_per_block = static_cast<int>(kElementThreads / (half / kEight)),
                      .half = static_cast<int>(half),
                      .rest = static_cast<int>(rest),
                      .places = {RopeForm::kRotateHalf, false},
                      .sign = 1};
  Layout rows[4];
  for (int k = 0; k < 4; ++k) {
    rows[k] = views[k]->type.layout;
    args.operand[k] = device_data(*views[k]);
    if (rows[k].strides.back() != 1 || !is_aligned_for_words(args.operand[k])) return std::nullopt;
    rows[k].shape.erase(rows[k].rank() - 1);
    rows[k].strides.erase(rows[k].strides.rank() - 1);
    for (int axis = 0; axis < rows[k].rank(); ++axis) {
      if (rows[k].shape[axis] > 1 && rows[k].strides[axis] % kEight != 0) return std::nullopt;
    }
  }
  const Layout* const layouts[] = {&rows[0], &rows[1], &rows[2], &rows[3]};
  args.lines = walk_of<4>(memory_order_nest(rows[0].shape, layouts));
  const int line = --args.lines.rank;
  args.rows_of_line = args.lines.size[line];
  for (int k = 0; k < 4; ++k) args.row_stride[k] = args.lines.stride[k][line];
  return args;
}

// Launches with at most kTogether rows in a group. Groups are smaller if there would be fewer than 2^15 threads, which
// is about eight warps for each multiprocessor.
template <bool kNarrow>
void launch_eights(const KernelCall& call, RopeEightsArgs args) {
  constexpr int64_t kLeastThreads = int64_t{1} << 15;
  const int64_t rows = row_count(call.in[0]);
  const bool shares_angles = args.row_stride[RopeEightsArgs::kCos] == 0 && args.row_stride[RopeEightsArgs::kSin] == 0;
  const int64_t wanted = shares_angles ? rows * (args.half / kEight) / kLeastThreads : 1;
  args.together = static_cast<int>(std::clamp<int64_t>(wanted, 1, RopeEights<kNarrow>::kTogether));
  args.groups_of_line = (args.rows_of_line + args.together - 1) / args.together;
  args.groups = rows / args.rows_of_line * args.groups_of_line;
  const int64_t blocks = (args.groups + args.groups_per_block - 1) / args.groups_per_block;
  launch<RopeEights<kNarrow>>(call, blocks, kElementThreads, args);
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
  if (std::optional<RopeEightsArgs> args = in_eights(call, half, rest)) {
    args->places = places;
    args->sign = kSign;
    const bool is_narrow = x.type.dtype != DType::kFloat32 && call.out[0].type.dtype != DType::kFloat32;
    return is_narrow ? launch_eights<true>(call, *args) : launch_eights<false>(call, *args);
  }
  if (half <= kElementThreads) {
    const int64_t rows = row_count(x);
    const int64_t rows_per_block = kElementThreads / half;
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
  const RopeForm form = signature.attributes.as<RopeAttributes>().form;
  const int64_t half = rotated_width(form, signature.in[1].shape().back()) / 2;
  return half > RopeRotate::kMaxHalf ? "the pairs of a row do not fit into shared memory" : "";
}

}  // namespace

std::vector<Kernel> rope_kernels() {
  return {{.op = &kRopeTable, .name = "elements", .supports = table_refusal, .launch = table},
          {.op = &kRope, .name = "rows", .supports = rotate_refusal, .launch = rotate<false>},
          {.op = &kRopeBackward, .name = "rows", .supports = rotate_refusal, .launch = rotate<true>}};
}

}  // namespace laptime::cuda
