// The CPU kernels of attention: products of packed bfloat16 pairs if the machine supports them, register tiles of
// packed blocks, and, for wide heads, products of whole rows.
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"

#include "base/isa.h"
#include "ops/scaled_dot_product_attention/pairs/pairs_cpu.h"
#include "ops/scaled_dot_product_attention/products/products_cpu.h"
#include "ops/scaled_dot_product_attention/tiles/backward_cpu.h"
#include "ops/scaled_dot_product_attention/tiles/forward_cpu.h"

namespace laptime::LAPTIME_ISA {
namespace {

using attention::attention_refusal;
using attention::kMaxWidth;

int64_t width_of(const Signature& signature) { return signature.in[0].shape().back(); }

std::string tiles_refusal(const Signature& signature) {
  if (width_of(signature) > kMaxWidth) return fmt::format("heads are wider than {}", kMaxWidth);
  return attention_refusal(signature);
}

ProductMath product_math(const Signature& signature) { return math_of_factors(signature.in[0].dtype); }

// Launches the kernel that matches the element type of the call.
using LaunchFunction = void (*)(const KernelCall& call);
template <LaunchFunction for_float32, LaunchFunction for_bfloat16, LaunchFunction for_float16>
void launch(const KernelCall& call) {
  switch (call.in[0].type.dtype) {
    case DType::kBFloat16: return for_bfloat16(call);
    case DType::kFloat16: return for_float16(call);
    default: return for_float32(call);
  }
}

template <class Element>
void tiles_backward(const KernelCall& call) {
  attention::launch_backward<Element, attention::tiles::BackwardPart>(call);
}
// The sums are float32 for all element types.
int64_t tiles_backward_workspace(const Signature& signature) {
  return attention::backward_workspace<float, attention::tiles::BackwardPart>(signature);
}

// Rejects heads of up to kMaxWidth columns, which other kernels handle. AmxSplit multiplies only float32 factors, so it
// also rejects 16-bit operands.
template <class Implementation>
std::string products_refusal(const Signature& signature) {
  if (width_of(signature) <= kMaxWidth) return fmt::format("this kernel is only for heads wider than {}", kMaxWidth);
  if (std::is_same_v<Implementation, AmxSplit> && signature.in[0].dtype != DType::kFloat32)
    return fmt::format("operands are {}, not float32", name_of(signature.in[0].dtype));
  return attention_refusal(signature);
}

template <class Implementation>
ProductMath math_by_products(const Signature& signature) {
  return gemm_math<Implementation>(signature.in[0].dtype);
}

template <class Implementation>
void add_products(const std::string& name, std::vector<Kernel>& kernels) {
  namespace products = attention::products;
  Kernel kernel{.op = &kScaledDotProductAttention,
                .name = name,
                .supports = products_refusal<Implementation>,
                .workspace = products::forward_workspace,
                .product_math = math_by_products<Implementation>,
                .flushes_denormals = gemm_flushes_denormals<Implementation>(),
                .reproducible = gemm_is_reproducible<Implementation>()};
  Kernel backward = kernel;
  backward.op = &kScaledDotProductAttentionBackward;
  backward.workspace = products::backward_workspace;
  if constexpr (std::is_same_v<Implementation, AmxSplit>) {
    kernel.launch = products::forward<Implementation, float>;
    backward.launch = products::backward<Implementation, float>;
  } else {
    kernel.launch = launch<products::forward<Implementation, float>, products::forward<Implementation, BFloat16>,
                           products::forward<Implementation, Float16>>;
    backward.launch = launch<products::backward<Implementation, float>, products::backward<Implementation, BFloat16>,
                             products::backward<Implementation, Float16>>;
  }
  kernels.push_back(kernel);
  kernels.push_back(backward);
}

// Kernels for heads that are too wide to pack, fastest first.
std::vector<Kernel> products_kernels() {
  std::vector<Kernel> kernels;
#if defined(__AVX512F__)
  if (cpu::bfloat16_pairs() != nullptr && cpu::bfloat16_pairs()->amx_gemm != nullptr)
    add_products<AmxSplit>("products_" + AmxSplit::name(), kernels);
#endif
  add_products<Tiles>(isa_name("products"), kernels);
  return kernels;
}

#if defined(__AVX512F__) && defined(LAPTIME_AVX512_BF16)
namespace pairs = avx512_bf16::attention::pairs;

std::string amx_refusal(const Signature& signature) {
  if (signature.in[0].dtype == DType::kFloat16) return "operands are float16, which this AMX kernel does not support";
  if (width_of(signature) > pairs::kMaxPairsWidth) return fmt::format("heads are wider than {}", pairs::kMaxPairsWidth);
  return attention_refusal(signature);
}

std::string dot_refusal(const Signature& signature) {
  if (signature.in[0].dtype != DType::kBFloat16)
    return fmt::format("operands are {}, not bfloat16", name_of(signature.in[0].dtype));
  if (width_of(signature) > pairs::kMaxPairsWidth) return fmt::format("heads are wider than {}", pairs::kMaxPairsWidth);
  return attention_refusal(signature);
}

ProductMath amx_math(const Signature& signature) {
  return signature.in[0].dtype == DType::kBFloat16 ? ProductMath::kBFloat16 : ProductMath::kSplit;
}
ProductMath dot_math(const Signature&) { return ProductMath::kBFloat16; }

// The kernels with packed bfloat16 pairs that this processor can run.
std::vector<Kernel> pairs_kernels() {
  std::vector<Kernel> kernels;
  const auto add = [&](Kernel forward, void (*backward)(const KernelCall&), int64_t (*workspace)(const Signature&)) {
    forward.flushes_denormals = true;
    forward.reproducible = false;
    forward.op = &kScaledDotProductAttention;
    kernels.push_back(forward);
    forward.op = &kScaledDotProductAttentionBackward;
    forward.launch = backward;
    forward.workspace = workspace;
    kernels.push_back(forward);
  };
  if (cpu::may_use_tiles())
    add({.name = "amx", .supports = amx_refusal, .launch = pairs::launch_amx_forward, .product_math = amx_math},
        pairs::launch_amx_backward, pairs::amx_backward_workspace);
  if (cpu::may_use_bfloat16_pairs())
    add({.name = "dot_bf16",
         .supports = dot_refusal,
         .launch = pairs::launch_dot_forward,
         .product_math = dot_math,
         .rounds_between_products = true},
        pairs::launch_dot_backward, pairs::dot_backward_workspace);
  return kernels;
}
#else
std::vector<Kernel> pairs_kernels() { return {}; }
#endif

}  // namespace

std::vector<Kernel> scaled_dot_product_attention_kernels() {
  namespace tiles = attention::tiles;
  std::vector<Kernel> kernels = pairs_kernels();
  for (Kernel& kernel : products_kernels()) kernels.push_back(std::move(kernel));
  kernels.insert(kernels.end(),
                 {{.op = &kScaledDotProductAttention,
                   .name = isa_name("tiles"),
                   .supports = tiles_refusal,
                   .launch = launch<tiles::forward<float>, tiles::forward<BFloat16>, tiles::forward<Float16>>,
                   .product_math = product_math},
                  {.op = &kScaledDotProductAttentionBackward,
                   .name = isa_name("tiles"),
                   .supports = tiles_refusal,
                   .workspace = tiles_backward_workspace,
                   .launch = launch<tiles_backward<float>, tiles_backward<BFloat16>, tiles_backward<Float16>>,
                   .product_math = product_math}});
  return kernels;
}

}  // namespace laptime::LAPTIME_ISA
