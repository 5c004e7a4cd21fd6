// The list of matrix products as kernels of an op, whatever the op calls its operands.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "backend/cpu/narrowed_gemm.h"
#include "backend/cpu/onednn_gemm.h"
#include "backend/cpu/tiles_gemm.h"
#include "backend/cpu/widened_gemm.h"

namespace laptime::LAPTIME_ISA {

// A tensor as an operand of a product; only its form where the view has no bytes.
inline cpu::GemmOperand gemm_operand(const TensorView& view) {
  const int64_t offset = view.type.layout.offset * size_of(view.type.dtype);
  return {true, view.type.dtype, view.data == nullptr ? nullptr : view.data + offset};
}

// The first byte of the result.
inline std::byte* gemm_result(const TensorView& view) {
  return view.data == nullptr ? nullptr : view.data + view.type.layout.offset * size_of(view.type.dtype);
}
// False where the bias has gaps.
inline bool set_gemm_bias(cpu::Gemm& gemm, const TensorView& bias) {
  gemm.bias = gemm_operand(bias);
  return bias.shape()[0] == 1 || bias.strides()[0] == 1;
}
// The addend has the shape of the result; false where it is no matrix or its rows have gaps.
inline bool set_gemm_addend(cpu::Gemm& gemm, const TensorView& addend) {
  const cpu::GemmShape& shape = gemm.shape;
  const std::optional<Layout> layout = reshaped(addend.type.layout, {shape.batches, shape.m, shape.n});
  if (!layout) return false;
  gemm.addend = gemm_operand(addend);
  gemm.addend_layout = {layout->strides[0], layout->strides[1], layout->strides[2]};
  return layout->strides[2] == 1 || shape.n == 1;
}

// What an op says of itself: its product, or nothing where an operand is no matrix without gaps. Never allocates.
using GemmOf = std::optional<cpu::Gemm> (*)(const Attributes&, std::span<const TensorView> in, const TensorView& out);

namespace detail {

template <GemmOf kGemmOf>
std::optional<cpu::Gemm> form_of(const Signature& signature) {
  std::vector<TensorView> in;
  for (const TensorType& type : signature.in) in.push_back({nullptr, type});
  return kGemmOf(signature.attributes, in, {nullptr, signature.out[0]});
}

template <GemmOf kGemmOf, std::string (*kRefusal)(const cpu::Gemm&)>
std::string supports(const Signature& signature) {
  const std::optional<cpu::Gemm> gemm = form_of<kGemmOf>(signature);
  return gemm ? kRefusal(*gemm) : "an operand is no matrix without gaps";
}

template <GemmOf kGemmOf, void (*kMultiply)(cpu::Team&, const cpu::Gemm&)>
void launch(const KernelCall& call) {
  cpu::Gemm gemm = *kGemmOf(call.attributes, call.in, call.out[0]);
  gemm.workspace = call.workspace;
  kMultiply(cpu::team_of(call), gemm);
}

template <GemmOf kGemmOf>
int64_t rounded_bytes(const Signature& signature) {
  const std::optional<cpu::Gemm> gemm = form_of<kGemmOf>(signature);
  return gemm ? narrowed_workspace(*gemm) : 0;
}

inline std::string float32_refusal(const cpu::Gemm& gemm) {
  std::string reason = cpu::uniform_refusal(gemm, DType::kFloat32);
  if (gemm.addend.present && gemm.addend.dtype != DType::kFloat32) return "an addend that is not float32";
  return reason.empty() ? cpu::onednn_layout_refusal(gemm.shape) : reason;
}
inline std::string widened_refusal(const cpu::Gemm& gemm) {
  std::string reason = cpu::uniform_refusal(gemm, DType::kBFloat16);
  if (gemm.addend.present) return "an addend";
  return reason.empty() ? cpu::onednn_layout_refusal(gemm.shape) : reason;
}
inline std::string dot_refusal(const cpu::Gemm& gemm) {
  std::string reason = tiles_refusal(gemm);
  return reason.empty() && gemm.compute != DType::kBFloat16 ? fmt::format("a product in {}", name_of(gemm.compute))
                                                            : reason;
}

}  // namespace detail

// Preferred first; the plan takes the one that measured fastest.
template <GemmOf kGemmOf>
std::vector<Kernel> gemm_kernels(const OpCard& op) {
  std::vector<Kernel> kernels;
  const auto add = [&](std::string name, std::string (*supports)(const Signature&), void (*launch)(const KernelCall&)) {
    kernels.push_back(
        {.op = &op, .name = std::move(name), .supports = supports, .workspace = nullptr, .launch = launch});
  };
  add("onednn_sgemm", detail::supports<kGemmOf, detail::float32_refusal>,
      detail::launch<kGemmOf, cpu::onednn_float32_gemm>);
  add("onednn_bf16", detail::supports<kGemmOf, narrowed_refusal>, detail::launch<kGemmOf, narrowed_gemm>);
  kernels.back().workspace = detail::rounded_bytes<kGemmOf>;
  add("onednn_sgemm_widen", detail::supports<kGemmOf, detail::widened_refusal>, detail::launch<kGemmOf, widened_gemm>);
  add(isa_name("tiles"), detail::supports<kGemmOf, tiles_refusal>, detail::launch<kGemmOf, tiles_gemm>);
#if defined(__AVX512BF16__)
  add("tiles_dot_bf16", detail::supports<kGemmOf, detail::dot_refusal>, detail::launch<kGemmOf, tiles_dot_gemm>);
#endif
  return kernels;
}

}  // namespace laptime::LAPTIME_ISA
