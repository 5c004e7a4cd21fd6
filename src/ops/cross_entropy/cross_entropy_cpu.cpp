// Kernels of cross entropy; forward and backward each read the logits once.
#include "ops/cross_entropy/cross_entropy.h"

#include "backend/cpu/vector/rows.h"

namespace laptime::LAPTIME_ISA {
namespace {

// (logits [..., V], targets [...]) -> (loss [], log_sum_exp [...])
void launch_forward(const KernelCall& call) {
  const TensorView& logits = call.in[0];
  const auto* targets = call.in[1].as<const int64_t>();
  const int64_t columns = logits.shape().back();
  auto* const log_sum_exps = call.out[1].data != nullptr ? call.out[1].as<double>() : nullptr;
  const Rows rows({&logits});
  auto* losses = reinterpret_cast<double*>(call.workspace);  // [rows]
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t first, int64_t last) {
    for (int64_t row = first; row < last; ++row) {
      const RowView x = row_view(logits, rows.position(0, row));
      const ExpSum sum = row_exp_sum(x, columns);
      const double log_sum_exp = static_cast<double>(sum.largest) + __builtin_log(sum.total);
      losses[row] = log_sum_exp - static_cast<double>(x.at(targets[row]));
      if (log_sum_exps != nullptr) log_sum_exps[row] = log_sum_exp;
    }
  });
  double loss = 0;  // summed in row order, so that the result does not depend on the thread count
  for (int64_t row = 0; row < rows.count(); ++row) loss += losses[row];
  put_float(static_cast<float>(loss / static_cast<double>(rows.count())), call.out[0], call.out[0].type.layout.offset);
}

int64_t forward_workspace(const Signature& signature) {
  return (Size(signature.in[1].numel()) * static_cast<int64_t>(sizeof(double))).value();
}

// (grad_loss [], logits [..., V], targets [...], log_sum_exp [...]) -> grad_logits [..., V]. The gradient may overwrite
// the logits, because the logit of the target is read before its row is written.
void launch_backward(const KernelCall& call) {
  const TensorView& logits = call.in[1];
  const auto* targets = call.in[2].as<const int64_t>();
  const auto* log_sum_exp = call.in[3].as<const double>();
  const TensorView& grad = call.out[0];
  const int64_t columns = logits.shape().back();
  const Rows rows({&logits, &grad});
  const float scale = float_at(call.in[0], call.in[0].type.layout.offset) / static_cast<float>(rows.count());
  cpu::team_of(call).parallel_blocks(rows.count(), Rows::per_block(columns), [&](int64_t first, int64_t last) {
    alignas(64) ChunkBuffer buffer;
    for (int64_t row = first; row < last; ++row) {
      const RowView x = row_view(logits, rows.position(0, row));
      const int64_t to = rows.position(1, row);
      const Shift shift(log_sum_exp[row]);
      const float at_target = (exp_f32(shift(x.at(targets[row]))) - 1.0F) * scale;
      for_chunks(columns, [&](int64_t begin, int64_t size) {
        const float* from = x.chunk(begin, size, buffer.data());
        write_chunk(grad, to + begin, size, [=](float* out) {
#pragma omp simd
          for (int64_t i = 0; i < size; ++i) out[i] = exp_f32(shift(from[i])) * scale;
        });
      });
      store_elements(&at_target, 1, grad, to + targets[row], 1);
    }
  });
}

std::string forward_refusal(const Signature& signature) {
  if (std::string reason = targets_refusal(signature.in[1]); !reason.empty()) return reason;
  return strips_refusal({signature.out.data(), 1}, {signature.in.data(), 1});
}

std::string backward_refusal(const Signature& signature) {
  if (std::string reason = targets_refusal(signature.in[2]); !reason.empty()) return reason;
  if (signature.in[0].dtype != DType::kFloat32) return "grad_loss is not float32";
  if (signature.in[3].dtype != DType::kFloat64 || !signature.in[3].layout.is_contiguous())
    return "log_sum_exp is not contiguous float64";
  return strips_refusal(signature.out, {&signature.in[1], 1});
}

}  // namespace

std::vector<Kernel> cross_entropy_kernels() {
  return {
      {.op = &kCrossEntropy,
       .name = isa_name("rows"),
       .supports = forward_refusal,
       .workspace = forward_workspace,
       .launch = launch_forward},
      {.op = &kCrossEntropyBackward, .name = isa_name("rows"), .supports = backward_refusal, .launch = launch_backward},
  };
}

}  // namespace laptime::LAPTIME_ISA
