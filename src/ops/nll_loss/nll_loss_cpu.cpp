// Kernels of the negative log likelihood, which read one element of each row. Sums are divided into parts with a fixed
// number of rows, so that they do not depend on the number of threads.
#include "ops/nll_loss/nll_loss.h"

#include <cstring>

#include "backend/cpu/vector/rows.h"

namespace laptime::LAPTIME_ISA {
namespace {

constexpr int64_t kRowsPerSum = 256;

// (log_p [N, V], targets [N]) -> (loss [], total_weight [])
void launch_forward(const KernelCall& call) {
  const TensorView& log_p = call.in[0];
  const auto* targets = call.in[1].as<const int64_t>();
  const int64_t count = call.in[1].numel();
  const int64_t stride = log_p.strides().back();
  const Rows rows({&log_p});
  auto* partial = reinterpret_cast<double*>(call.workspace);
  cpu::team_of(call).parallel_blocks(count, kRowsPerSum, [&](int64_t begin, int64_t end) {
    double sum = 0;
    for (int64_t row = begin; row < end; ++row) {
      float value = 0;
      load_elements(log_p, rows.position(0, row) + targets[row] * stride, 1, 1, &value);
      sum -= static_cast<double>(value);
    }
    partial[begin / kRowsPerSum] = sum;
  });
  double total = 0;
  for (int64_t part = 0; part < ceil_div(count, kRowsPerSum); ++part) total += partial[part];
  const auto loss = static_cast<float>(total / static_cast<double>(count));
  const auto weight = static_cast<float>(count);
  store_elements(&loss, 1, call.out[0], call.out[0].type.layout.offset, 1);
  store_elements(&weight, 1, call.out[1], call.out[1].type.layout.offset, 1);
}

int64_t forward_workspace(const Signature& signature) {
  return ceil_div(signature.in[1].numel(), kRowsPerSum) * static_cast<int64_t>(sizeof(double));
}

// (grad_loss [], log_p [N, V], targets [N], total_weight []) -> grad_log_p [N, V]
void launch_backward(const KernelCall& call) {
  const TensorView& out = call.out[0];
  const auto* targets = call.in[2].as<const int64_t>();
  const auto element = static_cast<size_t>(size_of(out.type.dtype));
  const int64_t columns = out.shape().back();
  float grad = 0;
  float weight = 0;
  load_elements(call.in[0], call.in[0].type.layout.offset, 1, 1, &grad);
  load_elements(call.in[3], call.in[3].type.layout.offset, 1, 1, &weight);
  const float slope = -grad / weight;
  cpu::team_of(call).parallel_blocks(call.in[2].numel(), Rows::per_block(columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const int64_t to = out.type.layout.offset + row * columns;
      std::memset(out.data + static_cast<size_t>(to) * element, 0, static_cast<size_t>(columns) * element);
      store_elements(&slope, 1, out, to + targets[row], 1);
    }
  });
}

std::string forward_refusal(const Signature& signature) {
  if (std::string reason = targets_refusal(signature.in[1]); !reason.empty()) return reason;
  return strips_refusal(signature.out, {signature.in.data(), 1});
}

std::string backward_refusal(const Signature& signature) {
  if (std::string reason = targets_refusal(signature.in[2]); !reason.empty()) return reason;
  if (std::string reason = strips_refusal({}, {&signature.in[3], 1}); !reason.empty()) return reason;
  return strips_refusal(signature.out, {signature.in.data(), 1});
}

}  // namespace

std::vector<Kernel> nll_loss_kernels() {
  return {
      {.op = &kNllLoss,
       .name = isa_name("parts"),
       .supports = forward_refusal,
       .workspace = forward_workspace,
       .launch = launch_forward},
      {.op = &kNllLossBackward, .name = isa_name("rows"), .supports = backward_refusal, .launch = launch_backward},
  };
}

}  // namespace laptime::LAPTIME_ISA
