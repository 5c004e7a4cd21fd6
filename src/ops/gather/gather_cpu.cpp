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

// Writes grad [..., 1] at the index of each row of out [..., C], which is contiguous, and zeros elsewhere.
void scatter_rows(cpu::Team& team, const TensorView& grad, const TensorView& index, const TensorView& out) {
  const auto element = static_cast<size_t>(size_of(out.type.dtype));
  const size_t row_bytes = static_cast<size_t>(out.shape().back()) * element;
  const Rows rows({&grad, &index});
  std::byte* first = out.data + static_cast<size_t>(out.type.layout.offset) * element;
  team.parallel_blocks(rows.count(), Rows::per_block(out.shape().back()), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::byte* to = first + static_cast<size_t>(row) * row_bytes;
      std::memset(to, 0, row_bytes);
      const auto at = static_cast<size_t>(index_at(index, rows.position(1, row)));
      std::memcpy(to + at * element, grad.data + static_cast<size_t>(rows.position(0, row)) * element, element);
    }
  });
}

void launch_gather_backward(const KernelCall& call) {
  scatter_rows(cpu::team_of(call), call.in[0], call.in[2], call.out[0]);
}
void launch_scatter(const KernelCall& call) { scatter_rows(cpu::team_of(call), call.in[0], call.in[1], call.out[0]); }

std::string index_refusal(const TensorType& index) { return index.dtype == DType::kInt64 ? "" : "index is not int64"; }
// Elements are copied, not converted.
std::string types_refusal(const TensorType& from, const TensorType& to) {
  return from.dtype == to.dtype ? "" : "the result and the operand have different types";
}

std::string gather_refusal(const Signature& s) { return index_refusal(s.in[1]) + types_refusal(s.in[0], s.out[0]); }
std::string gather_backward_refusal(const Signature& s) {
  return index_refusal(s.in[2]) + types_refusal(s.in[0], s.out[0]);
}
std::string scatter_refusal(const Signature& s) { return index_refusal(s.in[1]) + types_refusal(s.in[0], s.out[0]); }

Kernel kernel(const OpCard& op, std::string (*supports)(const Signature&), void (*launch)(const KernelCall&)) {
  return {.op = &op, .name = isa_name("rows"), .supports = supports, .launch = launch};
}

}  // namespace

std::vector<Kernel> gather_kernels() {
  return {
      kernel(kGather, gather_refusal, launch_gather),
      kernel(kGatherBackward, gather_backward_refusal, launch_gather_backward),
      kernel(kScatter, scatter_refusal, launch_scatter),
  };
}

}  // namespace laptime::LAPTIME_ISA
