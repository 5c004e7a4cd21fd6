// The kernels of attention: AMX where the machine has it, register tiles of packed blocks, and rows for wide heads.
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"

#include "base/isa.h"
#include "ops/scaled_dot_product_attention/amx/amx_cpu.h"
#include "ops/scaled_dot_product_attention/rows/rows_cpu.h"
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

std::string rows_refusal(const Signature& signature) {
  const int64_t positions = signature.in[0].shape()[2];
  const int64_t width = width_of(signature);
  if (width <= kMaxWidth) return fmt::format("heads are not wider than {}", kMaxWidth);
  if (attention::rows::Scratch::bytes(positions, width) > cpu::Team::kScratchBytes)
    return fmt::format("{} rows of {} scores and {} columns do not fit in the scratch of a thread",
                       attention::rows::kRowsAtOnce, positions, width);
  return attention_refusal(signature);
}

ProductMath product_math(const Signature& signature) { return math_of_factors(signature.in[0].dtype); }

// Launches the kernel for the element type of the call.
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
// The sums are float32, whatever the elements are.
int64_t tiles_backward_workspace(const Signature& signature) {
  return attention::backward_workspace<float, attention::tiles::BackwardPart>(signature);
}

#if defined(__AVX512F__) && defined(LAPTIME_AVX512_BF16)
namespace amx = avx512_bf16::attention::amx;

std::string amx_refusal(const Signature& signature) {
  if (signature.in[0].dtype == DType::kFloat16) return "operands are float16, which AMX does not multiply";
  if (width_of(signature) > amx::kMaxAmxWidth) return fmt::format("heads are wider than {}", amx::kMaxAmxWidth);
  return attention_refusal(signature);
}

ProductMath amx_math(const Signature& signature) {
  return signature.in[0].dtype == DType::kBFloat16 ? ProductMath::kBFloat16 : ProductMath::kSplit;
}

std::vector<Kernel> amx_kernels() {
  if (!cpu::may_use_tiles()) return {};
  return {{.op = &kScaledDotProductAttention,
           .name = "amx",
           .supports = amx_refusal,
           .launch = amx::launch_forward,
           .product_math = amx_math,
           .flushes_denormals = true,
           .reproducible = false},
          {.op = &kScaledDotProductAttentionBackward,
           .name = "amx",
           .supports = amx_refusal,
           .workspace = amx::backward_workspace,
           .launch = amx::launch_backward,
           .product_math = amx_math,
           .flushes_denormals = true,
           .reproducible = false}};
}
#else
std::vector<Kernel> amx_kernels() { return {}; }
#endif

}  // namespace

std::vector<Kernel> scaled_dot_product_attention_kernels() {
  namespace rows = attention::rows;
  namespace tiles = attention::tiles;
  std::vector<Kernel> kernels = amx_kernels();
  kernels.insert(kernels.end(),
                 {{.op = &kScaledDotProductAttention,
                   .name = isa_name("tiles"),
                   .supports = tiles_refusal,
                   .launch = launch<tiles::forward<float>, tiles::forward<BFloat16>, tiles::forward<Float16>>,
                   .product_math = product_math},
                  {.op = &kScaledDotProductAttention,
                   .name = isa_name("rows"),
                   .supports = rows_refusal,
                   .launch = launch<rows::forward<float>, rows::forward<BFloat16>, rows::forward<Float16>>,
                   .product_math = product_math},
                  {.op = &kScaledDotProductAttentionBackward,
                   .name = isa_name("tiles"),
                   .supports = tiles_refusal,
                   .workspace = tiles_backward_workspace,
                   .launch = launch<tiles_backward<float>, tiles_backward<BFloat16>, tiles_backward<Float16>>,
                   .product_math = product_math},
                  {.op = &kScaledDotProductAttentionBackward,
                   .name = isa_name("rows"),
                   .supports = rows_refusal,
                   .workspace = rows::backward_workspace,
                   .launch = launch<rows::backward<float>, rows::backward<BFloat16>, rows::backward<Float16>>,
                   .product_math = product_math}});
  return kernels;
}

}  // namespace laptime::LAPTIME_ISA
