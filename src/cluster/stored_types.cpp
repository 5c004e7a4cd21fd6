// Which values each program saves for backward, and their types. A function named in a comment is in the repository of
// that program. docs/predictions.md says which terms come from source code, and which were fitted to published memory.
#include "cluster/stored_types.h"

#include <algorithm>

#include "cluster/rank_share.h"
#include "model/gpt/editions.h"

namespace laptime {
namespace {

constexpr double kShort = 2;  // bytes of a 16-bit value
constexpr double kLong = 4;

// Bytes that a norm saves for backward, per element of its input.
double norm_bytes(const DescribedRun& run) {
  const double value = run.step.value_bytes;
  const double fused = 2 * value;                                  // input and output
  if (run.framework == Framework::kNvFuser) return fused + kLong;  // saves more than it needs (lightning-thunder #1368)
  if (run.program != Program::kPyTorchEager || run.fuses_loss || run.framework == Framework::kNanotron) return fused;
  if (gpt_edition(run.config.model.edition).norm == nn::NormKind::kLayer)
    return run.stores_16_bits ? fused : kLong + value;
  // RMSNorm as a module: the input in float32, the output, and the normalised values, in float32 (litgpt) or in the
  // type of the output (transformers).
  return kLong + value + (run.framework == Framework::kDeepSpeed ? value : kLong);
}

// Bytes that unfused attention saves for each score: the output of softmax and, with dropout, dropout's output and mask
// (Korthikanti et al. 2022). With autocast, eager softmax writes float32, so a 16-bit copy is always saved, too.
double score_bytes(const DescribedRun& run) {
  constexpr double kMask = 1;
  if (run.attention != AttentionKernel::kUnfused) return 0;
  const double value = run.step.value_bytes;
  const double softmax = run.program != Program::kPyTorchEager || run.stores_16_bits ? value : kLong;
  const bool drops = run.config.model.attn_pdrop > 0;
  return softmax + (drops || softmax > value ? value : 0) + (drops ? kMask : 0);
}

// An upper bound for the bytes of laptime's last bucket of gradients: one bucket plus the share's largest tensor.
double last_bucket(const DescribedRun& run, double bucket) {
  const ModelConfig& model = run.config.model;
  const auto widest = static_cast<double>(std::max(model.vocab_size, model.d_ff));
  return kLong * widest * run.step.d_model / static_cast<double>(run.step.layout.tensor) + bucket;
}

// Bytes per logit when the loss needs the most memory.
double logit_bytes(const DescribedRun& run) {
  if (run.fuses_loss) return 0;
  const double value = run.step.value_bytes;
  const double stored = run.all_16_bits ? kShort : kLong;  // bytes of each value that the loss computes
  // Logits, log-probabilities, and the gradients of both, which torch.nn.functional.cross_entropy computes one after
  // the other. If the vocabulary is divided, the backward of torch's loss_parallel also holds the exponentials.
  const double written_out = value + (run.step.layout.tensor > 1 ? 4 : 3) * stored;
  switch (run.program) {
    case Program::kMegatron:
      // Logits, and a float32 copy of them unless they are in float32 (vocab_parallel_cross_entropy).
      return value < kLong ? value + kLong : kLong;
    case Program::kPyTorchCompile:
      // nvFuser does not fuse the loss (lightning-thunder #1654).
      if (run.framework == Framework::kNvFuser) return value + 3 * kLong;
      return run.compiles_loss ? 2 * value : written_out;  // logits and their gradient
    case Program::kPyTorchEager:
      // Float32 logits, and their exponentials, which backward overwrites with the gradient (sharded_cross_entropy).
      return run.framework == Framework::kNanotron ? 2 * kLong : written_out;
    case Program::kLaptime: break;
  }
  return 0;
}

}  // namespace

StoredTypes stored_types(const DescribedRun& run) {
  const bool is_nanotron = run.framework == Framework::kNanotron;
  const bool is_deepspeed = run.framework == Framework::kDeepSpeed;
  const bool is_eager = run.program == Program::kPyTorchEager;
  const bool is_autocast = run.step.value_bytes < kLong;
  StoredTypes stored;
  stored.keeps_master =
      is_autocast && !run.all_16_bits && (run.program == Program::kMegatron || is_nanotron || is_deepspeed);
  stored.all_16_bits = run.all_16_bits;
  if (run.all_16_bits || run.config.moments == MomentType::kBFloat16) stored.moment_bytes = kShort;
  stored.score_bytes = score_bytes(run);
  stored.repeats_heads = run.repeats_heads;
  stored.keeps_layouts = is_nanotron;   // CausalSelfAttention.forward of nanotron
  stored.gathers_inputs = is_nanotron;  // differentiable_all_gather before column_linear
  stored.fuses_gate = !is_eager || run.fuses_loss;
  stored.norm_bytes = norm_bytes(run);
  stored.logit_bytes = logit_bytes(run);
  const bool is_pytorch = is_eager || run.program == Program::kPyTorchCompile;
  // Predictions match published FSDP peaks better if gradient shards count during the whole step.
  const bool is_fsdp = is_pytorch && run.step.layout.shard == Shard::kParameters;
  stored.frees_gradients = run.program != Program::kMegatron && run.framework == Framework::kNone && !is_fsdp;
  stored.buckets_gradients = is_pytorch && run.framework == Framework::kNone;  // DDP without gradient_as_bucket_view
  stored.balances_stages = is_nanotron;                                        // get_block_compute_costs
  const Exchange exchange = exchange_of(run.program, run.step);
  stored.gathered_bytes = exchange.gathered_bytes;
  stored.reduces_once = exchange.reduces_once;
  if (run.program == Program::kLaptime && run.step.layout.data() > 1 && run.step.micro_batches == 1) {
    constexpr double kBucketsInFlight = 2;  // docs/ranks.md
    const auto bucket = static_cast<double>(parse_bytes("--bucket", run.config.bucket));
    stored.bucket_bytes = kBucketsInFlight * bucket;
    stored.last_bucket = last_bucket(run, bucket);
    stored.receives_gradients = machine_of(run).kind == MachineKind::kCpu;  // NCCL sums in place
  }
  if (is_deepspeed) {
    stored.live_parameters = 1e9;                          // stage3_max_live_parameters
    stored.bucket_bytes = 2 * 5e8 * run.step.value_bytes;  // reduce_bucket_size, twice to overlap communication
  }
  return stored;
}

}  // namespace laptime
