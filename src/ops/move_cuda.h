// Copies and fills on a CUDA device, for ops that move elements.
#pragma once

#include <optional>

#include "backend/cuda/move.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {

// Describes the copy as rows. Returns nothing if the columns of a side are not adjacent, if there is a single row, or
// if a type is not float32, bfloat16 or float16.
inline std::optional<RowCopy> row_copy(const TensorView& from, const TensorView& to) {
  const Layout* layouts[] = {&to.type.layout, &from.type.layout};
  LoopNest nest = memory_order_nest(to.shape(), layouts);
  RowCopy copy{.to = device_data(to), .from = device_data(from), .rows = {}};
  if (nest.rank < 2 || nest.column_stride(0) != 1 || nest.column_stride(1) != 1) return std::nullopt;
  if (!moves_fours(copy.to.dtype) || !moves_fours(copy.from.dtype)) return std::nullopt;
  copy.columns = nest.columns();
  --nest.rank;
  copy.rows = walk_of<2>(nest);
  return copy;
}

inline bool launch_row_copy(const KernelCall& call, const RowCopy& copy, int64_t elements) {
  const int64_t size =
      copy.to.dtype == copy.from.dtype ? kWordsBytes / laptime::size_of(copy.to.dtype) : int64_t{kEight};
  bool in_groups = is_aligned_for_words(copy.to) && is_aligned_for_words(copy.from) && copy.columns % size == 0;
  for (int axis = 0; axis < copy.rows.rank; ++axis) {
    for (const auto& stride : copy.rows.stride) in_groups = in_groups && stride[axis] % size == 0;
  }
  if (in_groups) {
    launch_elements<CopyRowGroups>(call, threads_for_groups(elements / size, CopyRowGroups::kGroups),
                                   {{copy}, copy.columns / size, elements / size});
    return true;
  }
  const int64_t pieces = (copy.columns + CopyRowPieces::kPiece - 1) / CopyRowPieces::kPiece;
  const int64_t blocks = elements / copy.columns * pieces;
  // For a short row, most threads of a block would be idle.
  if (copy.columns < CopyRowPieces::kThreads || blocks > INT32_MAX) return false;
  launch<CopyRowPieces>(call, blocks, CopyRowPieces::kThreads, {{copy}, pieces});
  return true;
}

// Copies the elements of `from` to `to`, which has the same shape, and converts them to the type of `to`.
inline void launch_move(const KernelCall& call, const TensorView& from, const TensorView& to) {
  const Elements<2> elements = elements_of_call<2>({&to, 1}, {&from, 1});
  if (elements.groups == Groups::kNone && elements.count > 0) {
    const std::optional<RowCopy> copy = row_copy(from, to);
    if (copy && launch_row_copy(call, *copy, elements.count)) return;
  }
  launch_mapped<CopyElements>(call, elements);
}
inline void launch_fill(const KernelCall& call, const TensorView& to, double value) {
  const Elements<1> elements = elements_of_call<1>({&to, 1}, {});
  const int64_t threads = elements.groups == Groups::kNone ? elements.count : (elements.count + kEight - 1) / kEight;
  launch_elements<FillElements>(call, threads, {elements, value});
}

}  // namespace laptime::cuda
