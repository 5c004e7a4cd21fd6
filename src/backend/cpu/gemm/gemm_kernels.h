// Turns the GEMM implementations into kernels of any op that can describe its operands as a Gemm.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "backend/cpu/gemm/bfloat16_pairs.h"
#include "backend/cpu/gemm/tiles/tiles_gemm.h"

namespace laptime::LAPTIME_ISA {

// Describes a tensor as an operand of a GEMM. The operand's data is null if the view has no data.
inline cpu::GemmOperand gemm_operand(const TensorView& view) {
  const int64_t offset = view.type.layout.offset * size_of(view.type.dtype);
  return {true, view.type.dtype, view.data == nullptr ? nullptr : view.data + offset};
}

// The first byte of the result; null if the view has no data.
inline std::byte* gemm_result(const TensorView& view) {
  return view.data == nullptr ? nullptr : view.data + view.type.layout.offset * size_of(view.type.dtype);
}
// Sets the bias. Returns false if the bias is not contiguous; then no implementation can run.
inline bool set_gemm_bias(cpu::Gemm& gemm, const TensorView& bias) {
  gemm.bias = gemm_operand(bias);
  return bias.shape()[0] == 1 || bias.strides()[0] == 1;
}
// Sets the addend, which has the shape of the result. Returns false if the rows of the addend are not contiguous, or if
// its batch and row axes cannot be merged like those of the result.
inline bool set_gemm_addend(cpu::Gemm& gemm, const TensorView& addend) {
  const cpu::GemmShape& shape = gemm.shape;
  const std::optional<Layout> layout = reshaped(addend.type.layout, {shape.batches, shape.m, shape.n});
  if (!layout) return false;
  gemm.addend = gemm_operand(addend);
  gemm.addend_layout = {layout->strides[0], layout->strides[1], layout->strides[2]};
  return layout->strides[2] == 1 || shape.n == 1;
}

// The GEMM implementations. Each has a name, a reason to refuse a GEMM (empty if it supports the GEMM), and a function
// that runs it. `math` states the arithmetic if the factors' type does not imply it. kOwnBits: results differ from
// those of Tiles in the last bits. kFlushesDenormals: denormals are treated as zero.
struct Tiles {
  static std::string name() { return isa_name("tiles"); }
  static std::string refusal(const cpu::Gemm& gemm) { return tiles_refusal(gemm); }
  static void run(cpu::Team& team, const cpu::Gemm& gemm) { tiles_gemm(team, gemm); }
};
// Available only if cpu::bfloat16_pairs() is not null.
struct TilesDot {
  static constexpr bool kOwnBits = true;
  static constexpr bool kFlushesDenormals = true;
  static std::string name() { return "tiles_dot_bf16"; }
  static std::string refusal(const cpu::Gemm& gemm) {
    std::string reason = tiles_refusal(gemm);
    if (!reason.empty() || gemm.compute == DType::kBFloat16) return reason;
    return fmt::format("the product is computed in {}, not bfloat16", name_of(gemm.compute));
  }
  static void run(cpu::Team& team, const cpu::Gemm& gemm) { cpu::bfloat16_pairs()->gemm(team, gemm); }
};

// Amx and AmxSplit are available only if cpu::bfloat16_pairs() has an amx_gemm.
struct Amx {
  static constexpr bool kOwnBits = true;
  static constexpr bool kFlushesDenormals = true;
  static std::string name() { return "amx_bf16"; }
  static std::string refusal(const cpu::Gemm& gemm) { return TilesDot::refusal(gemm); }
  static void run(cpu::Team& team, const cpu::Gemm& gemm) { cpu::bfloat16_pairs()->amx_gemm(team, gemm); }
};
// Multiplies float32 factors, each as the sum of three bfloat16 terms, and computes six of the nine products of terms.
// Within the range of numbers stated in docs/adr/0009, it is as accurate as float32 arithmetic.
struct AmxSplit {
  static constexpr bool kOwnBits = true;
  static constexpr bool kFlushesDenormals = true;
  static std::string name() { return "amx_bf16x6"; }
  static std::string refusal(const cpu::Gemm& gemm) {
    std::string reason = tiles_refusal(gemm);
    if (!reason.empty()) return reason;
    if (gemm.compute != DType::kFloat32)
      return fmt::format("the product is computed in {}, not float32", name_of(gemm.compute));
    for (const cpu::GemmOperand* factor : {&gemm.a, &gemm.b})
      if (factor->dtype != DType::kFloat32) return fmt::format("a factor is {}", name_of(factor->dtype));
    return "";
  }
  static ProductMath math() { return ProductMath::kSplit; }
  static void run(cpu::Team& team, const cpu::Gemm& gemm) { cpu::bfloat16_pairs()->amx_gemm(team, gemm); }
};

// The arithmetic of an implementation. `compute` is the type to which factors are rounded before the product.
template <class Implementation>
ProductMath gemm_math(DType compute) {
  if constexpr (requires { Implementation::math(); }) return Implementation::math();
  return math_of_factors(compute);
}
template <class Implementation>
constexpr bool gemm_flushes_denormals() {
  return requires { Implementation::kFlushesDenormals; };
}
template <class Implementation>
constexpr bool gemm_is_reproducible() {
  return !requires { Implementation::kOwnBits; };
}

// A function that an op provides. It returns the op's GEMM, or nothing if an operand is not a matrix in a layout that
// Gemm supports. It must not allocate.
using GemmFromOperands = std::optional<cpu::Gemm> (*)(const Attributes&, std::span<const TensorView> in,
                                                      const TensorView& out);

namespace detail {

template <GemmFromOperands kMakeGemm>
std::optional<cpu::Gemm> gemm_of(const Signature& signature) {
  std::vector<TensorView> in;
  for (const TensorType& type : signature.in) in.push_back({nullptr, type});
  return kMakeGemm(signature.attributes, in, {nullptr, signature.out[0]});
}

template <GemmFromOperands kMakeGemm, class Implementation>
std::string supports(const Signature& signature) {
  if (!signature.out[0].layout.is_contiguous()) return "the rows of the result are padded";
  const std::optional<cpu::Gemm> gemm = gemm_of<kMakeGemm>(signature);
  return gemm ? Implementation::refusal(*gemm) : "an operand is not a matrix with contiguous rows or columns";
}

template <GemmFromOperands kMakeGemm, class Implementation>
ProductMath product_math(const Signature& signature) {
  const std::optional<cpu::Gemm> gemm = gemm_of<kMakeGemm>(signature);
  return gemm_math<Implementation>(gemm ? gemm->compute : signature.in[0].dtype);
}

template <GemmFromOperands kMakeGemm, class Implementation>
void launch(const KernelCall& call) {
  Implementation::run(cpu::team_of(call), *kMakeGemm(call.attributes, call.in, call.out[0]));
}

}  // namespace detail

// Creates one kernel of the op for each implementation that can run on this machine, in order of preference.
template <GemmFromOperands kMakeGemm>
std::vector<Kernel> gemm_kernels(const OpCard& op) {
  std::vector<Kernel> kernels;
  const auto add = [&]<class Implementation>(const Implementation&) {
    kernels.push_back({.op = &op,
                       .name = Implementation::name(),
                       .supports = detail::supports<kMakeGemm, Implementation>,
                       .launch = detail::launch<kMakeGemm, Implementation>,
                       .product_math = detail::product_math<kMakeGemm, Implementation>,
                       .flushes_denormals = gemm_flushes_denormals<Implementation>(),
                       .reproducible = gemm_is_reproducible<Implementation>()});
  };
#if defined(__AVX512F__)
  const cpu::Bfloat16Pairs* const pairs = cpu::bfloat16_pairs();
  if (pairs != nullptr && pairs->amx_gemm != nullptr) {
    add(Amx());
    add(AmxSplit());
  }
#endif
  add(Tiles());
#if defined(__AVX512F__)
  if (pairs != nullptr) add(TilesDot());
#endif
  return kernels;
}

}  // namespace laptime::LAPTIME_ISA
