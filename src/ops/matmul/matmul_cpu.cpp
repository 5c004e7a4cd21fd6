// Matrix products on the CPU: oneDNN's and our own, as kernels.
#include "backend/cpu/gemm.h"
#include "backend/cpu/isa_namespace.h"
#include "backend/cpu/onednn_gemm.h"
#include "backend/cpu/team.h"
#include "backend/cpu/tiles_gemm.h"
#include "backend/cpu/widened_gemm.h"
#include "ops/matmul/matmul.h"

namespace laptime::LAPTIME_ISA {
namespace {

// The factors are the last two inputs; before them, in an addmm, the bias.
cpu::GemmShape shape_of(const Signature& signature) {
  const size_t first = signature.in.size() - 2;
  return cpu::gemm_shape(signature.in[first].layout, signature.in[first + 1].layout);
}

// What no kernel here can read.
std::string operands_refusal(const Signature& signature, DType dtype) {
  for (const TensorType& type : signature.in) {
    if (type.dtype != dtype) return fmt::format("a {} operand: all must be {}", name_of(type.dtype), name_of(dtype));
  }
  if (signature.in.size() == 3) {
    const Layout& bias = signature.in[0].layout;
    if (bias.shape[0] > 1 && bias.strides[0] != 1) return "the bias has gaps";
  }
  return "";
}

std::string float32_refusal(const Signature& signature) {
  std::string reason = operands_refusal(signature, DType::kFloat32);
  return reason.empty() ? cpu::onednn_layout_refusal(shape_of(signature)) : reason;
}
std::string bfloat16_refusal(const Signature& signature) {
  std::string reason = operands_refusal(signature, DType::kBFloat16);
  return reason.empty() ? cpu::onednn_bfloat16_refusal(shape_of(signature), signature.in.size() == 3) : reason;
}
std::string widened_refusal(const Signature& signature) {
  std::string reason = operands_refusal(signature, DType::kBFloat16);
  return reason.empty() ? cpu::onednn_layout_refusal(shape_of(signature)) : reason;
}
std::string tiles_refusal(const Signature& signature) {
  const DType dtype = signature.in[0].dtype;
  return operands_refusal(signature, dtype == DType::kBFloat16 ? dtype : DType::kFloat32);
}

const std::byte* first_element(const TensorView& view) {
  return view.data + view.type.layout.offset * size_of(view.type.dtype);
}

template <void (*kMultiply)(cpu::Team&, const cpu::Gemm&)>
void launch(const KernelCall& call) {
  const size_t first = call.in.size() - 2;
  const TensorView& a = call.in[first];
  const TensorView& b = call.in[first + 1];
  const TensorView& c = call.out[0];
  kMultiply(cpu::team_of(call), {.shape = cpu::gemm_shape(a.type.layout, b.type.layout),
                                 .dtype = a.type.dtype,
                                 .a = first_element(a),
                                 .b = first_element(b),
                                 .bias = first == 0 ? nullptr : first_element(call.in[0]),
                                 .c = c.data + c.type.layout.offset * size_of(c.type.dtype)});
}

}  // namespace

std::vector<Kernel> matmul_kernels() {
  std::vector<Kernel> kernels;
  for (const OpCard* op : {&kMatmul, &kAddmm}) {
    kernels.push_back({.op = op,
                       .name = "onednn_sgemm",
                       .supports = float32_refusal,
                       .workspace = nullptr,
                       .launch = launch<cpu::onednn_float32_gemm>});
    kernels.push_back({.op = op,
                       .name = "onednn_bf16",
                       .supports = bfloat16_refusal,
                       .workspace = nullptr,
                       .launch = launch<cpu::onednn_bfloat16_gemm>});
    kernels.push_back({.op = op,
                       .name = "onednn_sgemm_widen",
                       .supports = widened_refusal,
                       .workspace = nullptr,
                       .launch = launch<widened_gemm>});
    kernels.push_back({.op = op,
                       .name = isa_name("tiles"),
                       .supports = tiles_refusal,
                       .workspace = nullptr,
                       .launch = launch<tiles_gemm>});
  }
  return kernels;
}

}  // namespace laptime::LAPTIME_ISA
