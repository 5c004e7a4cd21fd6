// Launches of sum, mean and max on a CUDA device.
#include "ops/reduce/reduce_cuda.h"

#include <algorithm>

#include "ops/reduce/reduce.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

constexpr int64_t kTermsPerPart = 1024;
constexpr int64_t kMostParts = 256;

// How a reduction is divided, which determines its workspace.
struct Division {
  int64_t parts = 1, terms_per_part = 1;
};

Division division_of(int64_t outputs, int64_t terms) {
  // With many outputs there is enough work without parts.
  const int64_t wanted = std::clamp<int64_t>(kMostParts * kElementThreads / outputs, 1, kMostParts);
  const int64_t parts = std::min(wanted, (terms + kTermsPerPart - 1) / kTermsPerPart);
  const int64_t per_part = (terms + parts - 1) / parts;
  return {(terms + per_part - 1) / per_part, per_part};
}

int64_t workspace(const Signature& signature) {
  const int64_t outputs = signature.out[0].numel();
  const Division division = division_of(outputs, signature.in[0].numel() / outputs);
  return division.parts == 1 ? 0 : (Size(division.parts) * outputs * 8).value();
}

// The axes of x that are reduced, or those that are kept.
Walk<1> part_of(const Layout& x, const Shape& out, bool reduced) {
  Layout part;
  for (int axis = 0; axis < x.rank(); ++axis) {
    const bool is_reduced = x.shape[axis] != out[axis];
    if (is_reduced != reduced) continue;
    part.shape.push_back(x.shape[axis]);
    part.strides.push_back(x.strides[axis]);
  }
  const Layout* layouts[] = {&part};
  return walk_of<1>(row_major_nest(part.shape, layouts));
}

int64_t smallest_stride(const Walk<1>& walk) {
  int64_t smallest = INT64_MAX;
  for (int axis = 0; axis < walk.rank; ++axis) {
    if (walk.size[axis] > 1) smallest = std::min(smallest, walk.stride[0][axis]);
  }
  return smallest;
}

void reduce(const KernelCall& call, bool mean) {
  const TensorView& x = call.in[0];
  ReduceArgs args;
  args.x = device_data(x);
  args.y = device_data(call.out[0]);
  args.kept = part_of(x.type.layout, call.out[0].shape(), false);
  args.reduced = part_of(x.type.layout, call.out[0].shape(), true);
  args.outputs = call.out[0].numel();
  args.terms = x.numel() / args.outputs;
  const Division division = division_of(args.outputs, args.terms);
  args.parts = division.parts;
  args.terms_per_part = division.terms_per_part;
  args.scale = mean ? 1 / static_cast<double>(args.terms) : 1;
  args.partials = reinterpret_cast<double*>(call.workspace);
  const int64_t tiles = (args.outputs + kElementThreads - 1) / kElementThreads;
  if (smallest_stride(args.kept) < smallest_stride(args.reduced)) {
    launch<ReduceOutputs>(call, tiles * args.parts, kElementThreads, args);
  } else {
    launch<ReduceTerms>(call, args.outputs * args.parts, row_threads(args.terms_per_part), args);
  }
  if (args.parts > 1) launch<ReduceParts>(call, tiles, kElementThreads, args);
}

void launch_sum(const KernelCall& call) { reduce(call, false); }
void launch_mean(const KernelCall& call) { reduce(call, true); }

void launch_max(const KernelCall& call) {
  const TensorView& x = call.in[0];
  launch<MaxOfRows>(call, row_count(x), row_threads(columns_of(x)),
                    {rows_of(x), columns_of(x), device_data(call.out[0]), device_data(call.out[1])});
}

std::string max_refusal(const Signature& signature) {
  return signature.in[0].shape().back() >= MaxOfRows::kNone ? "rows have 2^31 columns or more" : "";
}

}  // namespace

std::vector<Kernel> reduce_kernels() {
  return {
      {.op = &kSum, .name = "parts", .workspace = workspace, .launch = launch_sum},
      {.op = &kMean, .name = "parts", .workspace = workspace, .launch = launch_mean},
      {.op = &kMax, .name = "rows", .supports = max_refusal, .launch = launch_max},
  };
}

}  // namespace laptime::cuda
