// Launches the CUDA kernels of sum, mean and max.
#include "ops/reduce/reduce_cuda.h"

#include <algorithm>

#include "ops/reduce/reduce.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

// How a reduction is divided into parts, which determines its workspace.
struct Division {
  int64_t parts = 1, terms_per_part = 1;
};

// True if the last axis is kept, so that adjacent outputs usually have adjacent terms.
bool keeps_columns(const Shape& x, const Shape& out) { return !x.empty() && x.back() > 1 && out.back() == x.back(); }

// Chooses enough parts to keep a GPU busy, provided that each has enough terms. With many outputs, one part is enough.
// If columns are kept, there are at most about 528 thread blocks, four for each of 132 multiprocessors: these all run
// at the same time, and a few more would run alone at the end.
Division division_of(const TensorType& x, const TensorType& out) {
  const bool columns = keeps_columns(x.shape(), out.shape());
  const int64_t outputs = out.numel();
  const int64_t terms = x.numel() / outputs;
  const int64_t least_terms = columns ? 128 : 1024;
  // The lanes of a thread block must take the same number of terms, and packs must not be split.
  const int64_t multiple = columns ? ReduceOutputPacks::kLanes * ReduceOutputPacks::kTogether : kEight;
  const int64_t most_parts = columns ? std::clamp<int64_t>(int64_t{528} * ReduceOutputPacks::kOutputs / outputs, 1, 256)
                                     : std::clamp<int64_t>((int64_t{1} << 16) / outputs, 1, 256);
  const int64_t parts = std::min(most_parts, (terms + least_terms - 1) / least_terms);
  if (parts == 1) return {1, terms};
  const int64_t per_part = ((terms + parts - 1) / parts + multiple - 1) / multiple * multiple;
  return {(terms + per_part - 1) / per_part, per_part};
}

int64_t workspace(const Signature& signature) {
  const Division division = division_of(signature.in[0], signature.out[0]);
  return division.parts == 1 ? 0 : (Size(division.parts) * signature.out[0].numel() * 8).value();
}

// The walk over the reduced axes of x or, if not `reduced`, over the kept axes.
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

// is_adjacent: there is one axis, with adjacent elements. is_in_packs: there is at most one axis, with a stride of
// whole packs.
bool is_adjacent(const Walk<1>& walk) { return walk.rank == 1 && walk.stride[0][0] == 1; }
bool is_in_packs(const Walk<1>& walk) { return walk.rank <= 1 && walk.stride[0][0] % kEight == 0; }

void reduce(const KernelCall& call, bool mean) {
  const TensorView& x = call.in[0];
  ReduceArgs args;
  args.x = device_data(x);
  args.y = device_data(call.out[0]);
  args.kept = part_of(x.type.layout, call.out[0].shape(), false);
  args.reduced = part_of(x.type.layout, call.out[0].shape(), true);
  args.outputs = call.out[0].numel();
  args.terms = x.numel() / args.outputs;
  const Division division = division_of(x.type, call.out[0].type);
  args.parts = division.parts;
  args.terms_per_part = division.terms_per_part;
  args.scale = mean ? 1 / static_cast<double>(args.terms) : 1;
  args.partials = reinterpret_cast<double*>(call.workspace);
  const auto blocks = [&](int64_t outputs) { return (args.outputs + outputs - 1) / outputs; };
  const bool in_packs = is_row_in_eights(args.x, 1);
  if (in_packs && is_adjacent(args.kept) && is_in_packs(args.reduced) && args.outputs % kEight == 0) {
    launch<ReduceOutputPacks>(call, blocks(ReduceOutputPacks::kOutputs) * args.parts, ReduceOutputPacks::kThreads,
                              args);
  } else if (in_packs && is_adjacent(args.reduced) && is_in_packs(args.kept) && args.terms % kEight == 0 &&
             args.terms_per_part % kEight == 0) {
    launch<ReduceTermPacks>(call, args.outputs * args.parts, ReduceTermPacks::threads_for(args.terms_per_part), args);
  } else if (smallest_stride(args.kept) < smallest_stride(args.reduced)) {
    launch<ReduceOutputs>(call, blocks(kElementThreads) * args.parts, kElementThreads, args);
  } else {
    launch<ReduceTerms>(call, args.outputs * args.parts, row_threads(args.terms_per_part), args);
  }
  if (args.parts > 1) launch<ReduceParts>(call, blocks(PartSums::kColumns), PartSums::threads_for(args.parts), args);
}

void launch_sum(const KernelCall& call) { reduce(call, false); }
void launch_mean(const KernelCall& call) { reduce(call, true); }

void launch_max(const KernelCall& call) {
  const TensorView& x = call.in[0];
  const DeviceRows rows = rows_of(x);
  launch<MaxOfRows>(call, row_count(x), row_threads(columns_of(x)),
                    {rows, columns_of(x), has_rows_in_fours(rows), device_data(call.out[0]), device_data(call.out[1])});
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
