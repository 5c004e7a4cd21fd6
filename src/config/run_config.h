// RunConfig: one point of a sweep, with the options that describe it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "config/model_config.h"
#include "config/option.h"
#include "config/parallel.h"
#include "tensor/dtype.h"

namespace laptime {

// The requested arithmetic of the step. The 16-bit types use autocast; `mixed` is bfloat16.
enum class Precision : uint8_t { kFloat32, kTf32, kBFloat16, kFloat16, kMixed };

constexpr auto choices_of(Precision) { return choices<Precision>("float32", "tf32", "bfloat16", "float16", "mixed"); }

constexpr bool is_mixed(Precision precision) {
  return precision != Precision::kFloat32 && precision != Precision::kTf32;
}

// The 16-bit type for autocast; none for float32 and tf32.
constexpr std::optional<DType> autocast_dtype(Precision precision) {
  if (!is_mixed(precision)) return std::nullopt;
  return precision == Precision::kFloat16 ? DType::kFloat16 : DType::kBFloat16;
}

// Bytes per element of an activation: 2 with autocast, otherwise 4.
constexpr double activation_bytes(Precision precision) { return is_mixed(precision) ? 2 : 4; }

// How products of float32 matrices are computed: by multiply-adds in float32 (ieee), with each factor as three bfloat16
// terms if the processor has AMX (split), or by whichever is faster (auto).
enum class Float32Precision : uint8_t { kAuto, kIeee, kSplit };

constexpr auto choices_of(Float32Precision) { return choices<Float32Precision>("auto", "ieee", "split"); }

// The execution mode of a framework that laptime imitates. Eager mode lowers composites to primitives and runs them one
// by one; compile mode does not lower composites, fuses kernels and recomputes cheap values in backward.
enum class Mode : uint8_t { kEager, kCompile };
constexpr auto choices_of(Mode) { return choices<Mode>("eager", "compile"); }

// The work of one sample. Forward runs the model and the loss and saves what backward needs; inference saves nothing; a
// step zeroes gradients and runs forward, backward and the optimizer.
enum class Pass : uint8_t { kForward, kBackward, kForwardBackward, kStep, kInference };

constexpr auto choices_of(Pass) {
  return choices<Pass>("forward", "backward", "forward_backward", "step", "inference");
}

// The definition of AdamW: 2025 applies weight decay after the update, 2026 before it, and torch corrects the bias of v
// before the square root.
enum class Optimizer : uint8_t { k2025, k2026, kTorch };

constexpr auto choices_of(Optimizer) { return choices<Optimizer>("2025", "2026", "torch"); }

// Source of initial weights: the edition's initialisation, or the seeded streams of the golden values.
enum class WeightInit : uint8_t { kEdition, kStream };

constexpr auto choices_of(WeightInit) { return choices<WeightInit>("edition", "stream"); }

// How --data stores tokens: as raw 16- or 32-bit numbers, in llm.c's files, in numpy arrays, or as one token per byte.
// kAuto recognises the format.
enum class DataFormat : uint8_t { kAuto, kUint16, kUint32, kLlmc, kNpy, kBytes };

constexpr auto choices_of(DataFormat) {
  return choices<DataFormat>("auto", "uint16", "uint32", "llmc", "npy", "bytes");
}

// The type in which AdamW keeps its two moments between steps; it computes in float32.
enum class MomentType : uint8_t { kFloat32, kBFloat16 };
constexpr auto choices_of(MomentType) { return choices<MomentType>("float32", "bfloat16"); }
// One batch for all steps, or a new one every step.
enum class Batches : uint8_t { kFixed, kFresh };

constexpr auto choices_of(Batches) { return choices<Batches>("fixed", "fresh"); }

// Accepts auto, cpu, cuda, roofline:NAME and roofline:FILE.toml. This machine need not have the device. Throws Error
// for any other word, a NAME that is not a known machine, and an invalid file.
std::string canonical_device_name(std::string_view where, std::string_view word);

// The canonical word for --recompute: none, block, every=K or auto; throws Error for any other word.
std::string canonical_recompute(std::string_view where, std::string_view word);
// Layers per recomputed region: K for every=K, 1 for block, 0 for none and auto.
int64_t recompute_group(std::string_view word);

// The loss is multiplied by a scale before backward, so that small gradients do not become zero in float16. A dynamic
// scale changes with the gradients (ops/loss_scale).
struct LossScaling {
  bool is_on = false;
  bool is_dynamic = false;
  double initial = 1;  // scale of the first step
};
inline constexpr double kInitialLossScale = 65536;  // initial scale of torch.amp.GradScaler
// The canonical word for --loss-scale: none, dynamic or a number from 2^-127 to 2^127; throws Error for any other word.
std::string canonical_loss_scale(std::string_view where, std::string_view word);
LossScaling loss_scaling(std::string_view canonical_word);

// A pause after every launch of an op, which slows a step down by a known amount.
struct OpDelay {
  std::string op;
  Seconds pause{};
};
// Parses "matmul=20us", an op and a time of at most 10 s in ns, us, ms or s; throws Error for any other text.
OpDelay parse_delay(std::string_view where, std::string_view text);

// The number of bytes in a size such as "8GiB", "512MiB", "1.5GB" or "2000000"; throws Error if the text is not a size,
// or has no unit and is below 1 MiB.
int64_t parse_bytes(std::string_view where, std::string_view text);

struct RunConfig {
  ModelConfig model;
  Precision dtype = Precision::kFloat32;
  Float32Precision float32_precision = Float32Precision::kAuto;
  bool reproducible = false;
  Mode mode = Mode::kEager;
  Pass pass = Pass::kStep;
  std::string device = "auto";
  std::optional<int64_t> threads;  // per rank; none: default_threads() (base/cores.h), divided among the ranks
  // Set both `warmup` and `steps`, or neither. If neither is set, sampling continues until the median is known or
  // `budget` is spent.
  std::optional<int64_t> warmup;
  std::optional<int64_t> steps;
  int64_t seed = 1;
  Optimizer optimizer = Optimizer::k2025;
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.01;
  MomentType moments = MomentType::kFloat32;
  std::string loss_scale = "none";
  std::optional<double> clip_norm;  // limit of the gradients' global norm; none: no clipping
  bool accumulate = false;          // steps add to the gradients instead of zeroing them first
  int64_t micro_batches = 1;        // forward and backward passes of a step, each over a part of the batch
  int64_t ranks = 1;                // processes that divide the batch
  Shard shard = Shard::kNone;
  int64_t tensor_parallel = 1;         // ranks that divide heads, d_ff and the vocabulary
  int64_t pipeline_parallel = 1;       // ranks among which the layers are divided; more than 1 only in predictions
  std::string bucket = "25MiB";        // minimum bytes of gradients per communication; see parse_bytes
  bool oversubscribe = false;          // allow more threads, over all ranks, than cores
  std::optional<std::string> keep;     // composites to keep whole, "a+b"; none: compile mode keeps all
  std::optional<std::string> lower;    // composites that compile mode lowers, "a+b"; none: no composite
  std::optional<std::string> kernels;  // record file whose kernel choices are reused; none: measure all
  std::string recompute = "none";
  std::optional<std::string> memory_limit;  // size as the user wrote it; see parse_bytes
  bool optimizer_in_backward = false;
  std::optional<std::string> delay;  // see parse_delay
  std::optional<int64_t> crop_context;
  WeightInit init = WeightInit::kEdition;
  std::string weights;  // safetensors file or model folder; empty: the weights in the model's folder, or else `init`
  std::string data;     // file, list or pattern that data_files() expands (data/token_data.h); empty: random tokens
  DataFormat data_format = DataFormat::kAuto;
  Batches batches = Batches::kFixed;
  double budget = 30;  // seconds
  double timeout = 1800;

  // Sequences of each rank; `ranks` must divide the batch.
  int64_t rank_batch() const { return model.batch_size / ranks; }
  // The sequence length of the step: crop_context if given, otherwise the model's context_length.
  int64_t step_context() const { return crop_context.value_or(model.context_length); }
  // The model as the step runs it: its context_length equals step_context(), and inference has no dropout.
  ModelConfig step_model() const;
  // Not an option. True if another program runs the step. Such a program does not pad rows, and its compiler fuses
  // recomputed work that laptime would launch separately on a GPU.
  bool is_of_other_program = false;

  bool operator==(const RunConfig&) const = default;

  // Defaulted in run_config.cpp, so that copies and destruction of this large struct are compiled only once.
  RunConfig();
  RunConfig(const RunConfig&);
  RunConfig(RunConfig&&) noexcept;
  RunConfig& operator=(const RunConfig&);
  RunConfig& operator=(RunConfig&&) noexcept;
  ~RunConfig();

  // clang-format off
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    ModelConfig::visit_fields(self.model, visit);
    constexpr InName kGiven = InName::kWhereGiven;
    constexpr std::string_view kRun = "Run";
    constexpr std::string_view kMachine = "Machine";
    constexpr std::string_view kEngine = "Engine";
    constexpr std::string_view kOptimizer = "Optimizer";
    constexpr std::string_view kInput = "Weights and data";
    constexpr std::string_view kRanks = "Ranks";
    constexpr double kMaxCount = 1e9;
    constexpr double kMaxRate = 1e6;
    constexpr double kBelowOne = 0.999999999;
    visit(Option{.flag = "dtype", .key = "dtype", .tag = "dtype", .group = kRun,
                 .help = "float32; tf32: float32 with products on NVIDIA tensor cores; bfloat16, float16: autocast; mixed: "
                         "another word for bfloat16",
                 .in_name = InName::kAlways}, self.dtype);
    visit(Option{.flag = "float32-precision", .key = "float32_precision", .tag = "float32", .group = kEngine,
                 .help = "float32 matrix products: ieee (multiply-adds), split (three bfloat16 terms per factor, on AMX), "
                         "or auto (the faster one)",
                 .in_name = kGiven, .configures_engine = true}, self.float32_precision);
    visit(Option{.flag = "reproducible", .key = "reproducible", .tag = "reproducible", .group = kEngine,
                 .help = "use only kernels that give the same bits on every x86-64 processor with FMA",
                 .in_name = kGiven, .configures_engine = true}, self.reproducible);
    visit(Option{.flag = "mode", .key = "mode", .tag = "mode", .group = kEngine,
                 .help = "eager: run primitive ops one by one, as a framework does; compile: run fused ops in memory "
                         "that is planned in advance",
                 .in_name = InName::kAlways, .configures_engine = true}, self.mode);
    visit(Option{.flag = "keep", .key = "keep", .tag = "keep", .group = kEngine,
                 .help = "composite ops to keep fused, joined with +; compile mode lowers all others", .empty = "all",
                 .in_name = kGiven, .configures_engine = true, .value = "NAME+NAME"}, self.keep);
    visit(Option{.flag = "lower", .key = "lower", .tag = "lower", .group = kEngine,
                 .help = "composite ops that compile mode lowers to primitives, joined with +",
                 .empty = "none", .in_name = kGiven, .configures_engine = true, .value = "NAME+NAME"}, self.lower);
    visit(Option{.flag = "kernels", .key = "kernels_file", .tag = "kernels", .group = kEngine,
                 .help = "reuse kernel choices from earlier records (--output json) and measure only missing ones",
                 .empty = "none", .configures_engine = true, .value = "FILE"}, self.kernels);
    visit(Option{.flag = "recompute", .key = "recompute", .tag = "recompute", .group = kEngine,
                 .help = "activations that backward recomputes: none, block (each layer), every=K layers, or auto (as few "
                         "as needed to fit in memory); with recomputation, compile mode on GPUs runs head and loss in groups of rows",
                 .otherwise = "none; auto if --memory-limit is given without --ranks",
                 .in_name = kGiven, .configures_engine = true, .value = "none|block|every=K|auto",
                 .canonical = canonical_recompute}, self.recompute);
    visit(Option{.flag = "memory-limit", .key = "memory_limit", .tag = "limit", .group = kEngine,
                 .help = "memory that the step may use, for example 8GiB", .empty = "none", .in_name = kGiven,
                 .value = "BYTES", .canonical = unchanged<parse_bytes>}, self.memory_limit);
    visit(Option{.flag = "optimizer-in-backward", .key = "optimizer_in_backward", .tag = "in_backward",
                 .group = kEngine,
                 .help = "update each parameter as soon as its gradient is complete, and keep no gradient",
                 .in_name = kGiven, .configures_engine = true},
          self.optimizer_in_backward);
    visit(Option{.flag = "delay", .key = "delay", .tag = "delay", .group = kEngine,
                 .help = "pause after every launch of an op, for example matmul=20us, to test that compare detects a known "
                         "slowdown", .empty = "none", .in_name = kGiven, .configures_engine = true,
                 .value = "OP=TIME", .canonical = unchanged<parse_delay>}, self.delay);
    visit(Option{.flag = "pass", .key = "pass", .tag = "pass", .group = kRun,
                 .help = "part of a step that is timed: inference (forward that saves nothing for backward), forward, "
                         "backward (runs forward untimed), forward_backward, or step (with the optimizer)",
                 .otherwise = "step; attention: forward_backward",
                 .in_name = InName::kFirst}, self.pass);
    visit(Option{.flag = "device", .key = "device", .tag = "device", .group = kMachine,
                 .help = "auto (the CPU), cpu, cuda, roofline:NAME (laptime list devices) or roofline:FILE.toml",
                 .configures_engine = true, .canonical = canonical_device_name}, self.device);
    visit(Option{.flag = "threads", .key = "threads", .tag = "threads", .group = kMachine,
                 .help = "CPU threads; auto: one for each physical core, fewer if a CPU quota, OMP_NUM_THREADS or Slurm "
                         "limits them", .min = 1, .max = 4096,
                 .in_name = kGiven, .configures_engine = true},
          self.threads);
    visit(Option{.flag = "warmup", .key = "warmup", .tag = "warmup", .group = kRun, .unit = "steps",
                 .help = "steps before the first sample",
                 .otherwise = "auto: until steady; 5 (2024: 1) if --steps is given", .max = kMaxCount}, self.warmup);
    visit(Option{.flag = "steps", .key = "steps", .tag = "steps", .group = kRun, .unit = "steps",
                 .help = "samples, one step each",
                 .otherwise = "auto: until the median is known; 10 (2024: 5) if --warmup is given",
                 .min = 1, .max = kMaxCount}, self.steps);
    visit(Option{.flag = "seed", .key = "seed", .tag = "seed", .group = kRun,
                 .help = "seed for weights, tokens and dropout", .otherwise = "1; 2024: 20230310", .max = 9.3e18},
          self.seed);
    visit(Option{.flag = "optimizer", .key = "optimizer", .tag = "optimizer", .group = kOptimizer,
                 .help = "AdamW variant: 2025 decays weights after the update, 2026 before it; torch corrects the bias of "
                         "v before the square root",
                 .otherwise = "2025; 2026: 2026; 2024, gpt2, gpt2_hf, llama, qwen2, qwen3, gpt_neox: torch",
                 .in_name = kGiven}, self.optimizer);
    visit(Option{.flag = "lr", .key = "lr", .tag = "lr", .group = kOptimizer, .help = "learning rate",
                 .max = kMaxRate}, self.lr);
    visit(Option{.flag = "beta1", .key = "beta1", .tag = "beta1", .group = kOptimizer,
                 .help = "decay of the first moment", .max = kBelowOne}, self.beta1);
    visit(Option{.flag = "beta2", .key = "beta2", .tag = "beta2", .group = kOptimizer,
                 .help = "decay of the second moment", .max = kBelowOne}, self.beta2);
    visit(Option{.flag = "eps", .key = "eps", .tag = "eps", .group = kOptimizer,
                 .help = "epsilon added to the square root of the second moment", .max = kMaxRate}, self.eps);
    visit(Option{.flag = "weight-decay", .key = "weight_decay", .tag = "weight_decay", .group = kOptimizer,
                 .help = "decoupled weight decay", .max = kMaxRate}, self.weight_decay);
    visit(Option{.flag = "moments", .key = "moments", .tag = "moments", .group = kOptimizer,
                 .help = "type of AdamW's stored moments; bfloat16 takes half the memory, but the second moment stops "
                         "decreasing if beta2 is above 0.996",
                 .in_name = kGiven}, self.moments);
    visit(Option{.flag = "loss-scale", .key = "loss_scale", .tag = "loss_scale", .group = kOptimizer,
                 .help = "factor applied to the loss before backward: none, a number, or dynamic (starts at 65536; an "
                         "overflow skips the step and halves the factor; 2000 steps without overflow double it)",
                 .otherwise = "none; dynamic for a step in float16", .in_name = kGiven, .value = "none|dynamic|N",
                 .canonical = canonical_loss_scale}, self.loss_scale);
    visit(Option{.flag = "clip-norm", .key = "clip_norm", .tag = "clip_norm", .group = kOptimizer,
                 .help = "maximum global norm of the gradients", .empty = "none", .min = 1e-12, .max = 1e12,
                 .in_name = kGiven},
          self.clip_norm);
    visit(Option{.flag = "accumulate", .key = "accumulate", .tag = "accumulate", .group = kOptimizer,
                 .help = "do not zero gradients between steps: each step adds its gradients to the earlier ones "
                         "(to divide one step into several passes, use --micro-batches)", .in_name = kGiven}, self.accumulate);
    visit(Option{.flag = "micro-batches", .key = "micro_batches", .tag = "micro", .group = kOptimizer,
                 .help = "micro-batches into which a step divides its batch; their gradients are summed for one update "
                         "(gradient accumulation)", .min = 1, .max = 256, .in_name = kGiven}, self.micro_batches);
    visit(Option{.flag = "ranks", .key = "ranks", .tag = "ranks", .group = kRanks,
                 .help = "processes that divide the batch and run together (data parallel), started by mpirun",
                 .min = 1, .max = 65536, .in_name = kGiven}, self.ranks);
    visit(Option{.flag = "shard", .key = "shard", .tag = "shard", .group = kRanks,
                 .help = "what the ranks divide besides the batch: none, optimizer states (ZeRO-1), gradients too "
                         "(ZeRO-2), or parameters too (ZeRO-3, FSDP)", .in_name = kGiven}, self.shard);
    visit(Option{.flag = "tensor-parallel", .key = "tensor_parallel", .tag = "tp", .group = kRanks,
                 .help = "ranks among which heads, d-ff and the vocabulary are split; more than 1 only in laptime plan",
                 .min = 1, .max = 65536, .in_name = kGiven}, self.tensor_parallel);
    visit(Option{.flag = "pipeline-parallel", .key = "pipeline_parallel", .tag = "pp", .group = kRanks,
                 .help = "ranks among which the layers are split; more than 1 only in laptime plan",
                 .min = 1, .max = 65536, .in_name = kGiven}, self.pipeline_parallel);
    visit(Option{.flag = "bucket", .key = "bucket", .tag = "bucket", .group = kRanks,
                 .help = "minimum bytes of gradients that ranks sum at a time, for example 25MiB", .in_name = kGiven,
                 .value = "BYTES", .canonical = unchanged<parse_bytes>}, self.bucket);
    visit(Option{.flag = "oversubscribe", .key = "oversubscribe", .tag = "oversubscribe", .group = kRanks,
                 .help = "allow ranks to use more threads than there are cores; threads that share a core "
                         "make the times longer",
                 .in_name = kGiven}, self.oversubscribe);
    visit(Option{.flag = "crop-context", .key = "crop_context", .tag = "crop", .group = kInput, .unit = "tokens",
                 .help = "use only the first N rows of the position table (2024, gpt2)", .empty = "none",
                 .min = 1, .max = 2'147'483'647, .in_name = kGiven}, self.crop_context);
    visit(Option{.flag = "init", .key = "init", .tag = "init", .group = kInput,
                 .help = "random weights if no file is given: edition (as the edition initialises them) or stream (from the "
                         "seeds of the stored PyTorch values, see laptime verify)"},
          self.init);
    visit(Option{.flag = "weights", .key = "weights", .tag = "weights", .group = kInput,
                 .help = "safetensors file to start from, or the folder of a model",
                 .otherwise = "the weights in the folder of --model, or else random weights (--init)", .axis = false,
                 .value = "FILE|FOLDER"}, self.weights);
    visit(Option{.flag = "data", .key = "data", .tag = "data", .group = kInput,
                 .help = "tokens (llm.c, nanoGPT .bin, .npy) or text read as bytes; several files are shards: a list "
                         "FILE,FILE or a quoted pattern 'train_*.bin'",
                 .otherwise = "random tokens and targets", .axis = false, .joins_list = true, .value = "FILE"},
          self.data);
    visit(Option{.flag = "data-format", .key = "data_format", .tag = "data_format", .group = kInput,
                 .help = "auto: detect from content; uint16 or uint32: tokens without a header; bytes: any file, a token per byte",
                 .axis = false},
          self.data_format);
    visit(Option{.flag = "batches", .key = "batches", .tag = "batches", .group = kInput,
                 .help = "one fixed batch, or a fresh one every step",
                 .otherwise = "fixed for random tokens, fresh for a file"}, self.batches);
    visit(Option{.flag = "budget", .key = "budget", .tag = "budget", .group = kRun, .unit = "s",
                 .help = "time budget for a point's warm-up and samples if --steps is not given",
                 .min = 1e-3, .max = 1e8, .value = "TIME"}, self.budget);
    visit(Option{.flag = "timeout", .key = "timeout", .tag = "timeout", .group = kRun, .unit = "s",
                 .help = "time limit of one point", .min = 1e-3, .max = 1e8, .axis = false, .changes_result = false},
          self.timeout);
  }
  // clang-format on
};

// "model=small edition=2025 ...": all options that affect the result, in table order. Files and devices appear by name;
// identity_text() (measure/describe.h) resolves them.
std::string canonical_text(const RunConfig& config);

}  // namespace laptime
