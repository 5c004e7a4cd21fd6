// The list of matrix products as kernels of an op, whatever the op calls its operands.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "backend/cpu/gemm/bfloat16_pairs.h"
#include "backend/cpu/gemm/narrowed_gemm.h"
#include "backend/cpu/gemm/onednn/onednn_gemm.h"
#include "backend/cpu/gemm/tiles/tiles_gemm.h"
#include "backend/cpu/gemm/widened_gemm.h"

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

// The ways to multiply. Each has a name, says which products it refuses and why, how many bytes of workspace it wants,
// and runs. One that a library must know of before its first product of a form has `prepare`.
struct OnednnSgemm {
  static std::string name() { return "onednn_sgemm"; }
  static std::string refusal(const cpu::Gemm& gemm) {
    std::string reason = cpu::uniform_refusal(gemm, DType::kFloat32);
    if (gemm.addend.present && gemm.addend.dtype != DType::kFloat32) return "an addend that is not float32";
    return reason.empty() ? cpu::onednn_layout_refusal(gemm.shape) : reason;
  }
  static int64_t workspace(const cpu::Gemm&) { return 0; }
  static void run(cpu::Team& team, const cpu::Gemm& gemm) { cpu::onednn_float32_gemm(team, gemm); }
};
struct OnednnBfloat16 {
  static std::string name() { return "onednn_bf16"; }
  static std::string refusal(const cpu::Gemm& gemm) { return narrowed_refusal(gemm); }
  static int64_t workspace(const cpu::Gemm& gemm) { return narrowed_workspace(gemm); }
  static void prepare(cpu::Team& team, const cpu::Gemm& gemm) { prepare_narrowed(team, gemm); }
  static void run(cpu::Team& team, const cpu::Gemm& gemm) { narrowed_gemm(team, gemm); }
};
struct OnednnSgemmWiden {
  static std::string name() { return "onednn_sgemm_widen"; }
  static std::string refusal(const cpu::Gemm& gemm) {
    std::string reason = cpu::uniform_refusal(gemm, DType::kBFloat16);
    if (gemm.addend.present) return "an addend";
    return reason.empty() ? cpu::onednn_layout_refusal(gemm.shape) : reason;
  }
  static int64_t workspace(const cpu::Gemm&) { return 0; }
  static void run(cpu::Team& team, const cpu::Gemm& gemm) { widened_gemm(team, gemm); }
};
struct Tiles {
  static std::string name() { return isa_name("tiles"); }
  static std::string refusal(const cpu::Gemm& gemm) { return tiles_refusal(gemm); }
  static int64_t workspace(const cpu::Gemm&) { return 0; }
  static int64_t packed_bytes(const cpu::Gemm& gemm) { return tiles_packed_bytes(gemm); }
  static void run(cpu::Team& team, const cpu::Gemm& gemm) { tiles_gemm(team, gemm, false); }
};
// A product that packs b before it begins.
template <class Product>
std::string packed_refusal(const cpu::Gemm& gemm) {
  std::string reason = Product::refusal(gemm);
  if (reason.empty() && Product::packed_bytes(gemm) == 0) return "no part of the second factor is packed twice";
  return reason;
}
struct TilesPacked {
  static std::string name() { return isa_name("tiles_packed"); }
  static std::string refusal(const cpu::Gemm& gemm) { return packed_refusal<Tiles>(gemm); }
  static int64_t workspace(const cpu::Gemm& gemm) { return Tiles::packed_bytes(gemm); }
  static void run(cpu::Team& team, const cpu::Gemm& gemm) { tiles_gemm(team, gemm, true); }
};
// These two are listed where cpu::bfloat16_pairs() is there.
struct TilesDot {
  static std::string name() { return "tiles_dot_bf16"; }
  static std::string refusal(const cpu::Gemm& gemm) {
    std::string reason = tiles_refusal(gemm);
    if (!reason.empty() || gemm.compute == DType::kBFloat16) return reason;
    return fmt::format("a product in {}", name_of(gemm.compute));
  }
  static int64_t workspace(const cpu::Gemm&) { return 0; }
  static int64_t packed_bytes(const cpu::Gemm& gemm) { return cpu::bfloat16_pairs()->packed_bytes(gemm); }
  static void run(cpu::Team& team, const cpu::Gemm& gemm) { cpu::bfloat16_pairs()->gemm(team, gemm, false); }
};
struct TilesDotPacked {
  static std::string name() { return "tiles_dot_packed_bf16"; }
  static std::string refusal(const cpu::Gemm& gemm) { return packed_refusal<TilesDot>(gemm); }
  static int64_t workspace(const cpu::Gemm& gemm) { return TilesDot::packed_bytes(gemm); }
  static void run(cpu::Team& team, const cpu::Gemm& gemm) { cpu::bfloat16_pairs()->gemm(team, gemm, true); }
};

// These two where it has amx_gemm.
struct Amx {
  static std::string name() { return "amx_bf16"; }
  static std::string refusal(const cpu::Gemm& gemm) { return TilesDot::refusal(gemm); }
  static int64_t workspace(const cpu::Gemm&) { return 0; }
  static void run(cpu::Team& team, const cpu::Gemm& gemm) { cpu::bfloat16_pairs()->amx_gemm(team, gemm); }
};
// float32, each factor as three bfloat16: six of their nine products, no less exact than float32's own.
struct AmxSplit {
  static std::string name() { return "amx_bf16x6"; }
  static std::string refusal(const cpu::Gemm& gemm) {
    std::string reason = tiles_refusal(gemm);
    if (!reason.empty()) return reason;
    if (gemm.compute != DType::kFloat32) return fmt::format("a product in {}", name_of(gemm.compute));
    for (const cpu::GemmOperand* factor : {&gemm.a, &gemm.b})
      if (factor->dtype != DType::kFloat32) return fmt::format("a {} factor", name_of(factor->dtype));
    return "";
  }
  static int64_t workspace(const cpu::Gemm&) { return 0; }
  static void run(cpu::Team& team, const cpu::Gemm& gemm) { cpu::bfloat16_pairs()->amx_gemm(team, gemm); }
};

// visit(way) for each of them, the preferred first; the plan takes the one that measured fastest.
template <class Visit>
void for_each_product(const Visit& visit) {
#if defined(__AVX512F__)
  if (cpu::bfloat16_pairs() != nullptr && cpu::bfloat16_pairs()->amx_gemm != nullptr) {
    visit(Amx());
    visit(AmxSplit());
  }
#endif
  visit(OnednnSgemm());
  visit(OnednnBfloat16());
  visit(OnednnSgemmWiden());
  visit(Tiles());
  visit(TilesPacked());
#if defined(__AVX512F__)
  if (cpu::bfloat16_pairs() == nullptr) return;
  visit(TilesDot());
  visit(TilesDotPacked());
#endif
}

// Prepares a product of this form where the way to multiply asks for it.
template <class Product>
void prepare_product(cpu::Team& team, const cpu::Gemm& gemm) {
  if constexpr (requires { Product::prepare(team, gemm); }) Product::prepare(team, gemm);
}

// One of them as a value, for code that need not be compiled for each.
struct ProductWay {
  std::string (*refusal)(const cpu::Gemm& gemm);
  int64_t (*workspace)(const cpu::Gemm& gemm);
  void (*prepare)(cpu::Team& team, const cpu::Gemm& gemm);
  void (*run)(cpu::Team& team, const cpu::Gemm& gemm);
};
template <class Product>
inline constexpr ProductWay kProductWay{Product::refusal, Product::workspace, prepare_product<Product>, Product::run};

// What an op says of itself: its product, or nothing where an operand is no matrix without gaps. Never allocates.
using GemmOf = std::optional<cpu::Gemm> (*)(const Attributes&, std::span<const TensorView> in, const TensorView& out);

namespace detail {

template <GemmOf kGemmOf>
std::optional<cpu::Gemm> form_of(const Signature& signature) {
  std::vector<TensorView> in;
  for (const TensorType& type : signature.in) in.push_back({nullptr, type});
  return kGemmOf(signature.attributes, in, {nullptr, signature.out[0]});
}

template <GemmOf kGemmOf, class Product>
std::string supports(const Signature& signature) {
  const std::optional<cpu::Gemm> gemm = form_of<kGemmOf>(signature);
  return gemm ? Product::refusal(*gemm) : "an operand is no matrix without gaps";
}

template <GemmOf kGemmOf, class Product>
int64_t workspace(const Signature& signature) {
  const std::optional<cpu::Gemm> gemm = form_of<kGemmOf>(signature);
  return gemm ? Product::workspace(*gemm) : 0;
}

template <GemmOf kGemmOf, class Product>
void prepare(const Signature& signature, Queue& queue) {
  prepare_product<Product>(static_cast<cpu::Team&>(queue), *form_of<kGemmOf>(signature));
}

template <GemmOf kGemmOf, class Product>
void launch(const KernelCall& call) {
  cpu::Gemm gemm = *kGemmOf(call.attributes, call.in, call.out[0]);
  gemm.workspace = call.workspace;
  Product::run(cpu::team_of(call), gemm);
}

}  // namespace detail

// One kernel of the op for each way to multiply.
template <GemmOf kGemmOf>
std::vector<Kernel> gemm_kernels(const OpCard& op) {
  std::vector<Kernel> kernels;
  for_each_product([&]<class Product>(const Product&) {
    kernels.push_back({.op = &op,
                       .name = Product::name(),
                       .supports = detail::supports<kGemmOf, Product>,
                       .workspace = detail::workspace<kGemmOf, Product>,
                       .prepare = detail::prepare<kGemmOf, Product>,
                       .launch = detail::launch<kGemmOf, Product>});
  });
  return kernels;
}

}  // namespace laptime::LAPTIME_ISA
