// Kernels of attention: tiles of packed blocks, and rows for heads too wide for them.
#include "ops/scaled_dot_product_attention/scaled_dot_product_attention.h"

#include "base/isa.h"
#include "ops/scaled_dot_product_attention/amx/attention_cpu.h"
#include "ops/scaled_dot_product_attention/rows/rows_cpu.h"
#include "ops/scaled_dot_product_attention/tiles/backward_cpu.h"
#include "ops/scaled_dot_product_attention/tiles/forward_cpu.h"

namespace laptime::LAPTIME_ISA {
namespace {

constexpr int kNoStatistics = -1;
constexpr int kLogSumExp = 4;

template <class Element>
void tiles_forward(const KernelCall& call) {
  const AttentionShape shape(call, kForwardStep);
  cpu::Team& team = cpu::team_of(call);
  const int64_t groups = (shape.positions + ForwardScratch::kGroupRows - 1) / ForwardScratch::kGroupRows;
  const int64_t items = groups * shape.heads;
  const auto group = [&](int64_t index) -> RowGroup {  // those with most keys first
    return {index % shape.heads, (groups - 1 - index / shape.heads) * ForwardScratch::kGroupRows};
  };
  team.parallel_for(items, [&](int64_t index, int lane) {
    const RowGroup next = group(std::min(index + team.size(), items - 1));
    ForwardGroup<Element>(call, shape, group(index), next, team.scratch(lane)).run();
  });
}

template <class Element>
void tiles_backward(const KernelCall& call) {
  const AttentionShape shape(call, kBackwardStep);
  const KeyParts parts(shape.heads, shape.positions, shape.causal);
  auto* const sums = reinterpret_cast<float*>(call.workspace);
  const int64_t floats = part_floats(shape.positions, shape.width);
  const bool in_scratch = sums_in_scratch(parts, floats);
  const int64_t items = shape.heads * parts.count;
  cpu::Team& team = cpu::team_of(call);
  team.parallel_for(items, [&](int64_t index, int lane) {
    const int64_t head = index / parts.count;
    const int64_t part = index % parts.count;
    const int64_t next = std::min(index + team.size(), items - 1);
    BackwardScratch scratch(team.scratch(lane));
    float* const its = in_scratch ? scratch.end() : sums + index * floats;
    BackwardPart<Element>(call, shape, head, its, parts.count == 1, scratch)
        .run(parts.first_block(part), parts.first_block(part + 1),
             {next / parts.count, parts.first_block(next % parts.count)});
  });
  if (parts.count > 1) add_parts<Element>(call, shape, parts, sums, floats, rounded_up(shape.width, kLanes), 1);
}

int64_t tiles_backward_workspace(const Signature& signature) {
  const Shape& shape = signature.in[0].shape();
  const KeyParts parts(signature);
  const int64_t floats = part_floats(shape[2], shape[3]);
  return sums_in_scratch(parts, floats) ? 0 : (Size(floats) * shape[0] * shape[1] * parts.count * 4).value();
}

template <class Element>
void rows_forward(const KernelCall& call) {
  const AttentionShape shape(call, kForwardStep);
  cpu::Team& team = cpu::team_of(call);
  const int64_t blocks = (shape.positions + kRowsAtOnce - 1) / kRowsAtOnce;
  team.parallel_for(shape.heads * blocks, [&](int64_t index, int lane) {
    RowBlock<Element>(shape, index / blocks, index % blocks * kRowsAtOnce, team.scratch(lane)).forward(call);
  });
}

template <class Element>
void rows_backward(const KernelCall& call) {
  const AttentionShape shape(call, kBackwardStep);
  auto* const products = reinterpret_cast<float*>(call.workspace);
  cpu::Team& team = cpu::team_of(call);
  const int64_t blocks = (shape.positions + kRowsAtOnce - 1) / kRowsAtOnce;
  const auto block = [&](int64_t index, int lane) {
    return RowBlock<Element>(shape, index / blocks, index % blocks * kRowsAtOnce, team.scratch(lane));
  };
  team.parallel_for(shape.heads * blocks,
                    [&](int64_t index, int lane) { block(index, lane).backward_of_queries(call, products); });
  team.parallel_for(shape.heads * blocks,
                    [&](int64_t index, int lane) { block(index, lane).backward_of_keys(call, products); });
}

int64_t rows_backward_workspace(const Signature& signature) {
  const Shape& shape = signature.in[0].shape();
  return (Size(shape[0]) * shape[1] * shape[2] * 4).value();
}

std::string tiles_refusal(const Signature& signature) {
  if (signature.in[0].shape().back() > kWidest) return fmt::format("heads are wider than {}", kWidest);
  return attention_refusal(signature, signature.op == &kScaledDotProductAttention ? kNoStatistics : kLogSumExp);
}

std::string rows_refusal(const Signature& signature) {
  const Shape& shape = signature.in[0].shape();
  if (shape[3] <= kWidest) return fmt::format("for heads wider than {}", kWidest);
  if (RowsScratch::bytes(shape[2], shape[3]) > cpu::Team::kScratchBytes)
    return fmt::format("a few rows of {} scores and {} columns do not fit in the scratch", shape[2], shape[3]);
  return attention_refusal(signature, signature.op == &kScaledDotProductAttention ? kNoStatistics : kLogSumExp);
}

// The same launch for the element type of the call.
template <void (*kFloat)(const KernelCall&), void (*kBrain)(const KernelCall&)>
void launch(const KernelCall& call) {
  call.in[0].type.dtype == DType::kBFloat16 ? kBrain(call) : kFloat(call);
}

#if defined(__AVX512F__) && defined(LAPTIME_AVX512_BF16)
std::string amx_refusal(const Signature& signature) {
  const bool forward = signature.op == &kScaledDotProductAttention;
  constexpr int64_t kWidestHead = avx512_bf16::kWidestAmxHead;
  if (signature.in[0].shape().back() > kWidestHead) return fmt::format("heads are wider than {}", kWidestHead);
  return attention_refusal(signature, forward ? kNoStatistics : kLogSumExp);
}

void add_amx(std::vector<Kernel>& kernels) {
  if (!cpu::may_use_tiles()) return;
  kernels.push_back({.op = &kScaledDotProductAttention,
                     .name = "amx",
                     .supports = amx_refusal,
                     .workspace = nullptr,
                     .launch = avx512_bf16::amx_attention});
  kernels.push_back({.op = &kScaledDotProductAttentionBackward,
                     .name = "amx",
                     .supports = amx_refusal,
                     .workspace = avx512_bf16::amx_attention_backward_workspace,
                     .launch = avx512_bf16::amx_attention_backward});
}
#else
void add_amx(std::vector<Kernel>&) {}
#endif

}  // namespace

std::vector<Kernel> scaled_dot_product_attention_kernels() {
  std::vector<Kernel> kernels;
  add_amx(kernels);
  kernels.insert(kernels.end(), {{.op = &kScaledDotProductAttention,
                                  .name = isa_name("tiles"),
                                  .supports = tiles_refusal,
                                  .workspace = nullptr,
                                  .launch = launch<tiles_forward<float>, tiles_forward<Brain>>},
                                 {.op = &kScaledDotProductAttention,
                                  .name = isa_name("rows"),
                                  .supports = rows_refusal,
                                  .workspace = nullptr,
                                  .launch = launch<rows_forward<float>, rows_forward<Brain>>},
                                 {.op = &kScaledDotProductAttentionBackward,
                                  .name = isa_name("tiles"),
                                  .supports = tiles_refusal,
                                  .workspace = tiles_backward_workspace,
                                  .launch = launch<tiles_backward<float>, tiles_backward<Brain>>},
                                 {.op = &kScaledDotProductAttentionBackward,
                                  .name = isa_name("rows"),
                                  .supports = rows_refusal,
                                  .workspace = rows_backward_workspace,
                                  .launch = launch<rows_backward<float>, rows_backward<Brain>>}});
  return kernels;
}

}  // namespace laptime::LAPTIME_ISA
