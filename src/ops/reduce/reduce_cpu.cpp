// Kernels of sum, mean and max. The order of additions depends only on the layout and the reduced axes, so the result
// has the same bits for any number of threads. The terms of a sum are divided into parts. If the innermost axis is
// reduced, each line along it is added in vector lanes, and the lines of a part are added in order; otherwise, the rows
// of a part are added in order. Then the parts are added in order.
#include "ops/reduce/reduce.h"

#include "backend/cpu/vector/lanes.h"
#include "backend/cpu/vector/strips.h"

namespace laptime::LAPTIME_ISA {
namespace {

using cpu::Team;

constexpr int64_t kElementsPerPart = int64_t{32} * 1024;  // used if the innermost axis is reduced
constexpr int64_t kRowsPerPart = 64;                      // used if whole rows are added
constexpr int64_t kRowPiece = 4096;  // columns that are added at a time, so that their sums stay in the L1 cache

// How a sum is computed: the axes of the input in memory order, each either kept (with a stride in the output) or
// reduced.
struct Reduction {
  LoopNest nest;               // operand 0 is the input, operand 1 the output
  bool along_columns = false;  // true if the innermost axis is reduced
  int64_t kept = 1;            // elements of the output, not counting the innermost axis if it is kept
  int64_t reduced = 1;         // elements of the reduced axes, not counting the innermost axis
  int64_t pieces = 1;          // number of pieces of the innermost axis
  // The number of units in a part. If along_columns, a unit is a piece of a line, and there are reduced * pieces units
  // in total; otherwise a unit is a row, and there are `reduced` units.
  int64_t units_per_part = 1;
  int64_t parts = 1;  // number of partial sums for each output

  bool is_reduced(size_t axis) const { return nest.stride[1][axis] == 0; }
  int64_t piece_size() const { return ceil_div(nest.columns(), pieces); }
  int64_t elements() const { return kept * reduced * nest.columns(); }  // elements of the input
};

Reduction plan(const TensorType& in, const TensorType& out) {
  Reduction plan;
  const Layout* layouts[] = {&in.layout, &out.layout};
  plan.nest = memory_order_nest(in.shape(), layouts);
  const auto inner = static_cast<size_t>(plan.nest.rank - 1);
  plan.along_columns = plan.is_reduced(inner) && plan.nest.columns() > 1;
  for (size_t axis = 0; axis < inner; ++axis)
    (plan.is_reduced(axis) ? plan.reduced : plan.kept) *= plan.nest.size[axis];
  const int64_t columns = plan.nest.columns();
  if (plan.along_columns) {
    plan.pieces = columns <= kElementsPerPart ? 1 : ceil_div(columns, kElementsPerPart);
    const int64_t units = plan.reduced * plan.pieces;
    const int64_t unit = columns < kElementsPerPart ? columns : kElementsPerPart;
    plan.units_per_part = kElementsPerPart / unit;
    plan.parts = ceil_div(units, plan.units_per_part);
  } else {
    plan.pieces = ceil_div(columns, kRowPiece);
    plan.units_per_part = kRowsPerPart;
    plan.parts = ceil_div(plan.reduced, kRowsPerPart);
  }
  return plan;
}

// The offset of an operand at `index`, which counts over the reduced axes or, if not `reduced`, over the kept axes. The
// innermost axis is left out.
int64_t offset_of(const Reduction& plan, size_t operand, bool reduced, int64_t index) {
  int64_t offset = 0;
  for (auto axis = static_cast<size_t>(plan.nest.rank - 1); axis-- > 0;) {
    if (plan.is_reduced(axis) != reduced) continue;
    offset += index % plan.nest.size[axis] * plan.nest.stride[operand][axis];
    index /= plan.nest.size[axis];
  }
  return offset;
}

double line_sum(const TensorView& x, int64_t position, int64_t stride, int64_t size) {
  alignas(64) std::array<float, kStripSize> buffer;
  double sum = 0;
  for (int64_t begin = 0; begin < size; begin += kStripSize) {
    const int64_t length = size - begin < kStripSize ? size - begin : kStripSize;
    const float* from = float_elements(x, position + begin * stride, stride, length, buffer.data());
    sum += lane_sum(length, [=](int64_t i) { return from[i]; });
  }
  return sum;
}

void store_number(double value, const TensorView& to, int64_t position) {
  const auto rounded = static_cast<float>(value);
  store_elements(&rounded, 1, to, position, 1);
}

// Returns one part of the sum for one output: the sum of some lines, or of some pieces of long lines.
double part_sum(const Reduction& plan, const TensorView& in, int64_t start, int64_t part) {
  const int64_t units = plan.reduced * plan.pieces;
  const int64_t begin = part * plan.units_per_part;
  const int64_t end = begin + plan.units_per_part < units ? begin + plan.units_per_part : units;
  const int64_t columns = plan.nest.columns();
  const int64_t stride = plan.nest.column_stride(0);
  double sum = 0;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t from = unit % plan.pieces * plan.piece_size();
    const int64_t left = columns - from;
    const int64_t position = start + offset_of(plan, 0, true, unit / plan.pieces) + from * stride;
    sum += line_sum(in, position, stride, left < plan.piece_size() ? left : plan.piece_size());
  }
  return sum;
}

void reduce_lines(Team& team, const Reduction& plan, const TensorView& in, const TensorView& out, double scale,
                  double* partial) {
  const auto start = [&](size_t operand, int64_t output) {
    return plan.nest.offset[operand] + offset_of(plan, operand, false, output);
  };
  const int64_t part_elements = plan.nest.columns() * plan.reduced / plan.parts;
  const int64_t grain = part_elements > 0 && part_elements < kBlockSize ? kBlockSize / part_elements : 1;
  const auto sum_lines = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t output = i / plan.parts;
      const double sum = part_sum(plan, in, start(0, output), i % plan.parts);
      if (plan.parts == 1) {
        store_number(scale * sum, out, start(1, output));
      } else {
        partial[i] = sum;
      }
    }
  };
  team.parallel_blocks(plan.kept * plan.parts, grain, sum_lines, moving(plan.elements()));
  if (plan.parts == 1) return;
  const auto add_parts = [&](int64_t begin, int64_t end) {
    for (int64_t output = begin; output < end; ++output) {
      double sum = 0;
      for (int64_t part = 0; part < plan.parts; ++part) sum += partial[output * plan.parts + part];
      store_number(scale * sum, out, start(1, output));
    }
  };
  team.parallel_blocks(plan.kept, Rows::per_block(plan.parts), add_parts, moving(plan.kept * plan.parts));
}

// Sets sums [size] to the sums of the rows of one part, for `size` columns starting at `start`.
void add_rows(const Reduction& plan, const TensorView& in, int64_t start, int64_t part, int64_t size, float* sums) {
  alignas(64) std::array<float, kStripSize> buffer;
  const int64_t begin = part * plan.units_per_part;
  const int64_t end = begin + plan.units_per_part < plan.reduced ? begin + plan.units_per_part : plan.reduced;
  for (int64_t i = 0; i < size; ++i) sums[i] = 0;
  const int64_t stride = plan.nest.column_stride(0);
  for (int64_t row = begin; row < end; ++row) {
    const int64_t position = start + offset_of(plan, 0, true, row);
    for (int64_t at = 0; at < size; at += kStripSize) {
      const int64_t length = size - at < kStripSize ? size - at : kStripSize;
      const float* from = float_elements(in, position + at * stride, stride, length, buffer.data());
#pragma omp simd
      for (int64_t i = 0; i < length; ++i) sums[at + i] += from[i];
    }
  }
}

void reduce_rows(Team& team, const Reduction& plan, const TensorView& in, const TensorView& out, double scale,
                 float* partial) {
  const int64_t columns = plan.nest.columns();
  const int64_t out_stride = plan.nest.column_stride(1);
  // index = (kept * parts + part) * pieces + piece
  const auto sum_rows = [&](int64_t index) {
    const int64_t from = index % plan.pieces * plan.piece_size();
    const int64_t size = columns - from < plan.piece_size() ? columns - from : plan.piece_size();
    const int64_t row = index / plan.pieces;
    const int64_t kept = row / plan.parts;
    const int64_t start = plan.nest.offset[0] + offset_of(plan, 0, false, kept) + from * plan.nest.column_stride(0);
    if (plan.parts > 1) return add_rows(plan, in, start, row % plan.parts, size, partial + row * columns + from);
    alignas(64) std::array<float, kRowPiece> sums;
    add_rows(plan, in, start, 0, size, sums.data());
    for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(i)] *= static_cast<float>(scale);
    store_elements(sums.data(), size, out, plan.nest.offset[1] + offset_of(plan, 1, false, kept) + from * out_stride,
                   out_stride);
  };
  team.parallel_ranges(plan.kept * plan.parts * plan.pieces, sum_rows, moving(plan.elements()));
  if (plan.parts == 1) return;
  const auto add_parts = [&](int64_t index) {
    const int64_t from = index % plan.pieces * plan.piece_size();
    const int64_t size = columns - from < plan.piece_size() ? columns - from : plan.piece_size();
    const int64_t kept = index / plan.pieces;
    alignas(64) std::array<double, kRowPiece> sums;
    for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(i)] = 0;
    for (int64_t part = 0; part < plan.parts; ++part) {
      const float* add = partial + (kept * plan.parts + part) * columns + from;
#pragma omp simd
      for (int64_t i = 0; i < size; ++i) sums[static_cast<size_t>(i)] += static_cast<double>(add[i]);
    }
    alignas(64) std::array<float, kRowPiece> rounded;
    for (int64_t i = 0; i < size; ++i) {
      rounded[static_cast<size_t>(i)] = static_cast<float>(sums[static_cast<size_t>(i)] * scale);
    }
    store_elements(rounded.data(), size, out, plan.nest.offset[1] + offset_of(plan, 1, false, kept) + from * out_stride,
                   out_stride);
  };
  team.parallel_ranges(plan.kept * plan.pieces, add_parts, moving(plan.kept * plan.parts * columns));
}

int64_t workspace(const Signature& signature) {
  const Reduction reduction = plan(signature.in[0], signature.out[0]);
  if (reduction.parts == 1) return 0;
  const Size partials = Size(reduction.kept) * reduction.parts;
  return (reduction.along_columns ? partials * sizeof(double)
                                  : partials * reduction.nest.columns() * static_cast<int64_t>(sizeof(float)))
      .value();
}

void reduce(const KernelCall& call, double scale) {
  const Reduction reduction = plan(call.in[0].type, call.out[0].type);
  Team& team = cpu::team_of(call);
  if (reduction.along_columns) {
    reduce_lines(team, reduction, call.in[0], call.out[0], scale, reinterpret_cast<double*>(call.workspace));
  } else {
    reduce_rows(team, reduction, call.in[0], call.out[0], scale, reinterpret_cast<float*>(call.workspace));
  }
}

void launch_sum(const KernelCall& call) { reduce(call, 1); }
void launch_mean(const KernelCall& call) {
  reduce(call, static_cast<double>(call.out[0].numel()) / static_cast<double>(call.in[0].numel()));
}

// ---- max

struct Maximum {
  float value = -__builtin_inff();
  int64_t index = -1;  // index of the first maximum
};

// NaN counts as larger than any number.
Maximum max_of_line(const TensorView& x, int64_t position, int64_t stride, int64_t columns) {
  alignas(64) std::array<float, kStripSize> buffer;
  Maximum best;
  for (int64_t begin = 0; begin < columns; begin += kStripSize) {
    const int64_t size = columns - begin < kStripSize ? columns - begin : kStripSize;
    const float* from = float_elements(x, position + begin * stride, stride, size, buffer.data());
    const int32_t at = lane_argmax(from, size);
    const bool nan = from[at] != from[at];
    if (best.index < 0 || from[at] > best.value || nan) best = {from[at], begin + at};
    if (nan) break;
  }
  return best;
}

void launch_max(const KernelCall& call) {
  const TensorView& x = call.in[0];
  const bool indices = call.out[1].data != nullptr;
  const int64_t columns = x.shape().back();
  const int64_t stride = x.strides().back();
  const Rows rows({&x, &call.out[0], &call.out[1]});
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Maximum maximum = max_of_line(x, rows.position(0, row), stride, columns);
      store_elements(&maximum.value, 1, call.out[0], rows.position(1, row), 1);
      if (indices) reinterpret_cast<int64_t*>(call.out[1].data)[rows.position(2, row)] = maximum.index;
    }
  });
}

std::string refusal(const Signature& signature) { return strips_refusal({&signature.out[0], 1}, signature.in); }

}  // namespace

std::vector<Kernel> reduce_kernels() {
  return {
      {.op = &kSum, .name = isa_name("parts"), .supports = refusal, .workspace = workspace, .launch = launch_sum},
      {.op = &kMean, .name = isa_name("parts"), .supports = refusal, .workspace = workspace, .launch = launch_mean},
      {.op = &kMax, .name = isa_name("rows"), .supports = refusal, .launch = launch_max},
  };
}

}  // namespace laptime::LAPTIME_ISA
