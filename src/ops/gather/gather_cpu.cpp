// Kernels of gather and scatter: one element of each row.
#include "ops/gather/gather.h"

#include <cstring>

#include "backend/cpu/vector/strips.h"

namespace laptime::LAPTIME_ISA {
namespace {

int64_t index_at(const TensorView& index, int64_t position) {
  return reinterpret_cast<const int64_t*>(index.data)[position];
}

// (x [..., C], index [..., 1]) -> [..., 1]
void launch_gather(const KernelCall& call) {
  const TensorView& x = call.in[0];
  const TensorView& index = call.in[1];
  const int64_t stride = x.strides().back();
  const auto element = static_cast<size_t>(size_of(x.type.dtype));
  const Rows rows({&x, &index, &call.out[0]});
  constexpr int64_t kRowsPerBlock = 1024;
  cpu::team_of(call).parallel_blocks(rows.count(), kRowsPerBlock, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t from = rows.position(0, row) + index_at(index, rows.position(1, row)) * stride;
      const int64_t to = rows.position(2, row);
      std::memcpy(call.out[0].data + static_cast<size_t>(to) * element, x.data + static_cast<size_t>(from) * element,
                  element);
    }
  });
}

// (grad [..., 1], [x,] index [..., 1]) -> [..., C]: grad at the index of each row, and zeros elsewhere
void launch_scatter(const KernelCall& call) {
  const TensorView& grad = call.in[0];
  const TensorView& index = call.in.back();
  const TensorView& out = call.out[0];
  const auto element = static_cast<size_t>(size_of(out.type.dtype));
  const size_t row_bytes = static_cast<size_t>(out.shape().back()) * element;
  const Rows rows({&grad, &index});
  std::byte* first = out.data + static_cast<size_t>(out.type.layout.offset) * element;
  cpu::team_of(call).parallel_blocks(
      rows.count(), Rows::per_block(out.shape().back()), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) {
          std::byte* to = first + static_cast<size_t>(row) * row_bytes;
          std::memset(to, 0, row_bytes);
          const auto at = static_cast<size_t>(index_at(index, rows.position(1, row)));
          std::memcpy(to + at * element, grad.data + static_cast<size_t>(rows.position(0, row)) * element, element);
        }
      });
}

// The index is the last input. Elements are copied, not converted.
std::string refusal(const Signature& s) {
  if (s.in.back().dtype != DType::kInt64) return "index is not int64";
  return s.in[0].dtype == s.out[0].dtype ? "" : "the result and the operand have different types";
}

Kernel kernel(const OpCard& op, void (*launch)(const KernelCall&)) {
  return {.op = &op, .name = isa_name("rows"), .supports = refusal, .launch = launch};
}

}  // namespace

std::vector<Kernel> gather_kernels() {
  return {
      kernel(kGather, launch_gather),
      kernel(kGatherBackward, launch_scatter),
      kernel(kScatter, launch_scatter),
  };
}

}  // namespace laptime::LAPTIME_ISA
