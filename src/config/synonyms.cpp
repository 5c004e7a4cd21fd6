// The tables of synonyms and hints, and their look-up.
#include "config/synonyms.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/ranges.h"
#include "base/words.h"
#include "config/machine.h"
#include "config/option_table.h"
#include "config/output_config.h"
#include "config/run_config.h"

namespace laptime {
namespace {

// clang-format off
constexpr std::array kSynonyms{
    // names of options
    Synonym{"", "ctx", "context"}, Synonym{"", "seq", "context"}, Synonym{"", "seq-len", "context"},
    Synonym{"", "seqlen", "context"}, Synonym{"", "seq-length", "context"}, Synonym{"", "sequence-length", "context"},
    Synonym{"", "block-size", "context"}, Synonym{"", "n-ctx", "context"}, Synonym{"", "max-seq-len", "context"},
    Synonym{"", "bs", "batch"}, Synonym{"", "batchsize", "batch"},
    Synonym{"", "heads", "num-heads"}, Synonym{"", "n-head", "num-heads"}, Synonym{"", "n-heads", "num-heads"},
    Synonym{"", "grad-accum", "micro-batches"}, Synonym{"", "grad-accum-steps", "micro-batches"},
    Synonym{"", "gradient-accumulation", "micro-batches"}, Synonym{"", "gradient-accumulation-steps", "micro-batches"},
    Synonym{"", "accumulation-steps", "micro-batches"}, Synonym{"", "accumulate-grad-batches", "micro-batches"},
    Synonym{"", "grad-acc", "micro-batches"}, Synonym{"", "num-microbatches", "micro-batches"},
    Synonym{"", "kv-heads", "num-kv-heads"}, Synonym{"", "n-kv-heads", "num-kv-heads"},
    Synonym{"", "num-key-value-heads", "num-kv-heads"}, Synonym{"", "num-query-groups", "num-kv-heads"},
    Synonym{"", "rms-norm-eps", "norm-eps"}, Synonym{"", "layer-norm-eps", "norm-eps"}, Synonym{"", "rotary-pct", "rotary-share"},
    Synonym{"", "partial-rotary-factor", "rotary-share"}, Synonym{"", "use-parallel-residual", "parallel-residual"},
    Synonym{"", "layers", "num-layers"}, Synonym{"", "n-layer", "num-layers"}, Synonym{"", "n-layers", "num-layers"},
    Synonym{"", "depth", "num-layers"},
    Synonym{"", "width", "d-model"}, Synonym{"", "n-embd", "d-model"}, Synonym{"", "dim", "d-model"},
    Synonym{"", "hidden-size", "d-model"}, Synonym{"", "d-hidden", "d-ff"}, Synonym{"", "intermediate-size", "d-ff"},
    Synonym{"", "vocab-size", "vocab"}, Synonym{"", "n-vocab", "vocab"},
    Synonym{"", "precision", "dtype"}, Synonym{"", "data-type", "dtype"}, Synonym{"", "amp", "dtype"},
    Synonym{"", "learning-rate", "lr"}, Synonym{"", "wd", "weight-decay"}, Synonym{"", "grad-clip", "clip-norm"},
    Synonym{"", "max-norm", "clip-norm"}, Synonym{"", "num-threads", "threads"}, Synonym{"", "n-threads", "threads"},
    Synonym{"", "warmup-steps", "warmup"}, Synonym{"", "iterations", "steps"}, Synonym{"", "iters", "steps"},
    Synonym{"", "runs", "steps"}, Synonym{"", "num-steps", "steps"}, Synonym{"", "repetitions", "steps"}, Synonym{"", "n-prompt", "context"}, Synonym{"", "format", "output"},
    Synonym{"", "max-memory", "memory-limit"}, Synonym{"", "checkpointing", "recompute"},
    Synonym{"", "activation-checkpointing", "recompute"}, Synonym{"", "db", "store"}, Synonym{"", "database", "store"},
    Synonym{"", "gpu", "device"},
    Synonym{"", "max-seq-length", "context"}, Synonym{"", "max-length", "context"}, Synonym{"", "sequence-len", "context"},
    Synonym{"", "max-position-embeddings", "context"}, Synonym{"", "num-hidden-layers", "num-layers"},
    Synonym{"", "num-attention-heads", "num-heads"}, Synonym{"", "ffn-hidden-size", "d-ff"},
    Synonym{"", "train-batch-size", "batch"},
    Synonym{"", "max-grad-norm", "clip-norm"}, Synonym{"", "gradient-clip-val", "clip-norm"},
    Synonym{"", "gradient-checkpointing", "recompute"}, Synonym{"", "recomputation", "recompute"},
    Synonym{"", "max-steps", "steps"}, Synonym{"", "max-iters", "steps"}, Synonym{"", "train-steps", "steps"},
    Synonym{"", "dataset", "data"}, Synonym{"", "data-path", "data"}, Synonym{"", "data-dir", "data"},
    Synonym{"", "train-data", "data"}, Synonym{"", "input-bin", "data"}, Synonym{"", "checkpoint", "weights"},
    Synonym{"", "ckpt", "weights"}, Synonym{"", "tie-word-embeddings", "weight-tie"},
    // number types
    Synonym{"dtype", "bf16", "bfloat16"}, Synonym{"dtype", "fp32", "float32"}, Synonym{"dtype", "f32", "float32"},
    Synonym{"dtype", "float", "float32"}, Synonym{"dtype", "single", "float32"}, Synonym{"dtype", "fp16", "float16"},
    Synonym{"dtype", "f16", "float16"}, Synonym{"dtype", "half", "float16"}, Synonym{"dtype", "amp", "mixed"},
    Synonym{"dtype", "torch.bfloat16", "bfloat16"}, Synonym{"dtype", "torch.float32", "float32"},
    Synonym{"dtype", "torch.float16", "float16"},
    Synonym{"moments", "bf16", "bfloat16"}, Synonym{"moments", "fp32", "float32"}, Synonym{"moments", "f32", "float32"},
    Synonym{"moments", "float", "float32"}, Synonym{"moments", "single", "float32"},
    Synonym{"moments", "torch.bfloat16", "bfloat16"}, Synonym{"moments", "torch.float32", "float32"},
    // formats
    Synonym{"output", "md", "markdown"}, Synonym{"output", "text", "table"}, Synonym{"output", "txt", "table"},
    Synonym{"output", "ndjson", "jsonl"}, Synonym{"output", "json-lines", "jsonl"},
    // devices; the names of known machines also work
    Synonym{"device", "gpu", "cuda"}, Synonym{"device", "4090", "roofline:rtx4090"},
    Synonym{"device", "3070", "roofline:rtx3070"},
    // models
    Synonym{"model", "gpt2-small", "gpt2-124M"},
    // passes, modes, editions, recomputation
    Synonym{"pass", "fwd", "forward"}, Synonym{"pass", "bwd", "backward"}, Synonym{"pass", "forward+backward", "forward_backward"},
    Synonym{"pass", "forward-backward", "forward_backward"}, Synonym{"pass", "fwd-bwd", "forward_backward"},
    Synonym{"pass", "fwd+bwd", "forward_backward"}, Synonym{"pass", "train", "step"}, Synonym{"pass", "training", "step"},
    Synonym{"pass", "train-step", "step"}, Synonym{"pass", "training-step", "step"},
    Synonym{"pass", "infer", "inference"}, Synonym{"pass", "eval", "inference"},
    Synonym{"mode", "compiled", "compile"}, Synonym{"mode", "torch.compile", "compile"},
    Synonym{"edition", "gpt-2", "gpt2"}, Synonym{"edition", "mistral", "llama"}, Synonym{"edition", "gpt-neox", "gpt_neox"},
    Synonym{"edition", "pythia", "gpt_neox"}, Synonym{"recompute", "full", "block"}, Synonym{"recompute", "layer", "block"}};

constexpr std::string_view kPage = "laptime report --last --html FILE writes a page with charts";
constexpr std::string_view kOtherPrograms = "laptime record measures the steps of another program";
constexpr std::string_view kList = "a list of values, as in --context 128,256";
constexpr std::string_view kHowMany = "--steps N, or --budget TIME for as many steps as fit in TIME";
constexpr std::string_view kEpochs =
    "--epochs X --data FILE to predict how long training takes, or --steps N to measure N steps";
constexpr std::string_view kQuantised = "--dtype bfloat16 or --dtype float16; quantised types are not supported";
constexpr std::string_view kTracing = "laptime profile times every launch, and laptime export trace writes a timeline";
constexpr std::string_view kDevices =
    "--device NAME for the kind of device, and --ranks N of laptime bench for the number of devices";
constexpr std::string_view kRanks =
    "--ranks N of laptime bench divides the batch, and --shard NAME divides optimizer states, gradients or parameters "
    "(docs/ranks.md); laptime plan also predicts --tensor-parallel and --pipeline-parallel";
constexpr std::string_view kOnlyBatch =
    "--ranks N of laptime bench divides the batch (docs/ranks.md); sequences and experts cannot be divided";
constexpr std::string_view kNoOffload =
    "--recompute and --optimizer-in-backward save memory on the device; offloading is not supported";
constexpr std::string_view kTokens = "--batch N and --context N, whose product is the tokens of a step";
constexpr std::string_view kAccumulation =
    "--batch N, the sequences of one step on all ranks, and --micro-batches N, the passes that divide it";
constexpr std::string_view kFile =
    "--model FILE or FOLDER: a config.json, or a model folder that contains one";
constexpr std::string_view kDropout = "--attn-pdrop, --resid-pdrop and --embd-pdrop (not in editions 2025 and 2026)";
constexpr std::string_view kOfGrids =
    "--view selects the table and --sort its order; --output csv contains all of its columns";
constexpr std::string_view kOfPlans = "--view selects the table; --output csv contains all of its columns";
constexpr std::array kHints{
    // options of hyperfine, llama-bench, nsys and profilers
    Hint{"", "export-json", "--output json --output-file FILE"},
    Hint{"", "export-csv", "--output csv --output-file FILE"},
    Hint{"", "export-markdown", "--output markdown --output-file FILE"},
    Hint{"", "min-runs", kHowMany}, Hint{"", "max-runs", kHowMany}, Hint{"", "min-time", "--budget TIME"},
    Hint{"", "parameter-list", kList}, Hint{"", "parameter-scan", kList}, Hint{"", "prepare", kOtherPrograms},
    Hint{"", "setup", kOtherPrograms}, Hint{"", "cleanup", kOtherPrograms}, Hint{"", "command-name", "--label PATTERN"},
    Hint{"", "show-output", kOtherPrograms},
    Hint{"", "n-gen", "--pass inference, one forward pass; tokens are not generated"},
    Hint{"", "n-gpu-layers", "--device cuda"}, Hint{"", "flash-attn", "--mode compile, which fuses attention"},
    Hint{"", "fp16", "--dtype float16"}, Hint{"", "bf16", "--dtype bfloat16"}, Hint{"", "compile", "--mode compile"},
    Hint{"", "cpu", "--device cpu"}, Hint{"", "cuda", "--device cuda"}, Hint{"", "backward", "--pass forward_backward"},
    Hint{"", "trace", kTracing}, Hint{"", "stats", "laptime profile --view kernels"},
    Hint{"", "force-overwrite", "--output-file FILE, which replaces the file"},
    Hint{"", "cuda-memory-usage", "laptime memory"}, Hint{"", "memory", "laptime memory"},
    Hint{"", "profile", "laptime profile"}, Hint{"", "quiet", "2>/dev/null: progress is on standard error"},
    Hint{"", "html", kPage}, Hint{"", "plot", kPage}, Hint{"", "json", "--output json"}, Hint{"", "csv", "--output csv"},
    Hint{"", "-b", "--batch N"}, Hint{"", "-d", "--device NAME"}, Hint{"", "-l", kList}, Hint{"", "-m", "--model NAME"},
    Hint{"", "-n", kHowMany}, Hint{"", "-o", "--output-file FILE for the file, or --output FORMAT for the format"}, Hint{"", "-p", "--context N"},
    Hint{"", "-r", kHowMany}, Hint{"", "-t", "--threads N"}, Hint{"", "-v", "--verbose"}, Hint{"", "-w", "--warmup N"},
    // options of trainers
    Hint{"", "gpus", kRanks}, Hint{"", "num-gpus", kRanks}, Hint{"", "n-gpus", kRanks},
    Hint{"", "ngpus", kRanks}, Hint{"", "ngpu", kRanks}, Hint{"", "devices", kDevices},
    Hint{"", "nodes", kRanks}, Hint{"", "num-nodes", kRanks}, Hint{"", "nnodes", kRanks},
    Hint{"", "nproc-per-node", kRanks}, Hint{"", "world-size", kRanks},
    Hint{"", "tp", kRanks}, Hint{"", "pp", kRanks}, Hint{"", "dp", kRanks}, Hint{"", "cp", kOnlyBatch},
    Hint{"", "ep", kOnlyBatch}, Hint{"", "tensor-parallel-size", kRanks},
    Hint{"", "tensor-model-parallel-size", kRanks}, Hint{"", "pipeline-parallel-size", kRanks},
    Hint{"", "pipeline-model-parallel-size", kRanks},
    Hint{"", "data-parallel", kRanks}, Hint{"", "data-parallel-size", kRanks},
    Hint{"", "context-parallel-size", kOnlyBatch}, Hint{"", "sequence-parallel", kOnlyBatch},
    Hint{"", "expert-parallel", kOnlyBatch}, Hint{"", "fsdp", kRanks}, Hint{"", "ddp", kRanks},
    Hint{"", "zero", kRanks}, Hint{"", "zero-stage", kRanks}, Hint{"", "deepspeed", kRanks},
    Hint{"", "sharding", kRanks}, Hint{"", "cpu-offload", kNoOffload}, Hint{"", "offload", kNoOffload},
    Hint{"", "tokens", kTokens}, Hint{"", "num-tokens", kTokens}, Hint{"", "max-tokens", kTokens},
    Hint{"", "tokens-per-batch", kTokens}, Hint{"", "tokens-per-step", kTokens}, Hint{"", "total-batch-size", kTokens},
    Hint{"", "epochs", kHowMany}, Hint{"", "epoch", kEpochs}, Hint{"", "num-epochs", kEpochs},
    Hint{"", "num-train-epochs", kEpochs}, Hint{"", "max-epochs", kEpochs},
    Hint{"", "global-batch-size", kAccumulation},
    // These options set the batch of one pass or one rank; --batch sets the batch of the whole step.
    Hint{"", "microbatch", kAccumulation}, Hint{"", "micro-batch-size", kAccumulation},
    Hint{"", "per-device-train-batch-size", kAccumulation}, Hint{"", "batch-size-per-gpu", kAccumulation},
    Hint{"", "gqa", "--num-kv-heads N"},
    Hint{"", "dropout", kDropout}, Hint{"", "hidden-dropout", kDropout}, Hint{"", "attention-dropout", kDropout},
    Hint{"", "torch-compile", "--mode compile"}, Hint{"", "use-flash-attn", "--mode compile, which fuses attention"},
    Hint{"", "flash-attention", "--mode compile, which fuses attention"}, Hint{"", "tf32", "--dtype tf32"},
    Hint{"", "mixed-precision", "--dtype bfloat16, float16 or mixed"},
    Hint{"", "eval", "--pass inference"}, Hint{"", "forward-only", "--pass forward"},
    // output formats
    Hint{"output", "html", kPage}, Hint{"output", "svg", kPage}, Hint{"output", "png", kPage},
    Hint{"output", "pdf", kPage}, Hint{"output", "plot", kPage}, Hint{"output", "trace", kTracing},
    Hint{"output", "perfetto", kTracing}, Hint{"output", "chrome", kTracing}, Hint{"output", "sqlite", "--store FILE"},
    Hint{"output", "parquet", "--output jsonl, which pandas reads"},
    Hint{"format", "html", kPage}, Hint{"format", "csv", "laptime show --last --output csv"},
    Hint{"format", "json", "laptime show --last --output json"},
    Hint{"format", "jsonl", "laptime show --last --output jsonl"},
    Hint{"format", "markdown", "laptime show --last --output markdown"},
    Hint{"format", "perfetto", "laptime export trace --newest"}, Hint{"format", "chrome", "laptime export trace --newest"},
    Hint{"format", "flamegraph", "laptime export folded --newest"}, Hint{"format", "parquet", "laptime export jsonl"},
    // values
    Hint{"dtype", "int8", kQuantised}, Hint{"dtype", "int4", kQuantised}, Hint{"dtype", "fp8", kQuantised},
    Hint{"dtype", "q4-0", kQuantised}, Hint{"dtype", "q8-0", kQuantised},
    Hint{"mode", "jit", "--mode compile"}, Hint{"mode", "inductor", "--mode compile"},
    Hint{"pass", "generate", "--pass inference, one forward pass; tokens are not generated"},
    Hint{"pass", "decode", "--pass inference, one forward pass; tokens are not generated"},
    Hint{"pass", "optimizer", "--pass step, which shows the optimizer as a phase"},
    Hint{"device", "mps", "--device m4, which predicts for an Apple M4"},
    Hint{"optimizer", "none", "--pass forward_backward, a step without its optimizer"},
    Hint{"optimizer", "sgd", "--pass forward_backward, a step without its optimizer; the only optimizer is AdamW"},
    Hint{"optimizer", "adamw", "--optimizer 2025, 2026 or torch: three variants of AdamW"},
    Hint{"optimizer", "adam", "--optimizer 2025, 2026 or torch: three variants of AdamW"},
    Hint{"view", "nsys", "--view kernels, the table of nsys stats; laptime export nsys writes it as a file"},
    Hint{"view", "stats", "--view kernels"},
    // options of one command
    Hint{"laptime profile", "columns", kOfGrids}, Hint{"laptime memory", "columns", kOfGrids},
    Hint{"laptime memory", "predict", "laptime memory without this option; it runs no step unless --run is given"},
    Hint{"laptime plan", "columns", kOfPlans},
    // commands
    Hint{"command", "plot", kPage}, Hint{"command", "html", kPage}, Hint{"command", "run", "laptime bench"},
    Hint{"command", "benchmark", "laptime bench"}, Hint{"command", "measure", "laptime bench"},
    Hint{"command", "time", "laptime bench"}, Hint{"command", "train", "laptime bench --pass step"},
    Hint{"command", "stats", "laptime profile --view kernels"}, Hint{"command", "trace", kTracing},
    Hint{"command", "diff", "laptime compare"}, Hint{"command", "results", "laptime show"},
    Hint{"command", "ls", "laptime show"}, Hint{"command", "test", "laptime verify"},
    Hint{"command", "info", "laptime list devices"}, Hint{"command", "devices", "laptime list devices"},
    Hint{"command", "models", "laptime list models"}, Hint{"command", "fit", "laptime plan --largest"},
    Hint{"command", "predict", "laptime plan"}, Hint{"command", "estimate", "laptime plan"},
    Hint{"command", "version", "laptime --version"}};
// clang-format on

// Published model families. An unknown model whose name contains one of these words, such as "google/gemma-2b", gets
// the hint kFile.
constexpr std::array<std::string_view, 20> kFamilies{
    "llama",   "mistral", "mixtral", "qwen", "gemma",  "phi-",  "falcon", "deepseek", "pythia", "gpt-j",
    "gpt-neo", "opt-",    "bloom",   "olmo", "smollm", "mamba", "bert",   "t5",       "yi-",    "granite"};

std::string plain(std::string_view word) {
  std::string text(word);
  std::ranges::transform(text, text.begin(), [](char c) { return c == '_' ? '-' : lower(c); });
  return text;
}

const Synonym* find(std::string_view flag, std::string_view word) {
  const auto* const found = std::find_if(kSynonyms.begin(), kSynonyms.end(), [&](const Synonym& synonym) {
    return synonym.flag == flag && synonym.word == word;
  });
  return found == kSynonyms.end() ? nullptr : found;
}

// A bare machine name or machine file means a prediction and gets kMachinePrefix. Case is ignored, except in file
// names.
std::string meant_device(std::string_view word) {
  if (word.ends_with(".toml"))
    return word.starts_with(kMachinePrefix) ? std::string(word) : std::string(kMachinePrefix) + std::string(word);
  const std::string text = plain(word);
  if (const Synonym* const synonym = find("device", text)) return std::string(synonym->meant);
  const std::string name = text.starts_with(kMachinePrefix) ? text.substr(kMachinePrefix.size()) : text;
  if (find_in(known_machines(), name, &DataSheet::name) != nullptr) return std::string(kMachinePrefix) + name;
  return text == "auto" || text == "cpu" || text == "cuda" ? text : std::string(word);
}

template <class Config>
std::string_view flag_in(std::string_view word) {
  std::string_view found;
  const Config fresh;
  Config::visit_fields(fresh, [&](const Option& option, const auto&) {
    if (plain(option.flag) == word || plain(option.key) == word) found = option.flag;
  });
  return found;
}

}  // namespace

std::span<const Synonym> synonyms() { return kSynonyms; }
std::span<const Hint> hints() { return kHints; }

std::string hint_for(std::string_view of, std::string_view word) {
  const std::string text = plain(word);
  if (of == "output" && word.find('.') != std::string_view::npos)
    return fmt::format("; instead: --output FORMAT --output-file {}", quote(word));
  const auto* const found =
      std::find_if(kHints.begin(), kHints.end(), [&](const Hint& hint) { return hint.of == of && hint.word == text; });
  if (found != kHints.end()) return fmt::format("; instead: {}", found->instead);
  const bool is_family = std::any_of(kFamilies.begin(), kFamilies.end(),
                                     [&](std::string_view family) { return text.find(family) != std::string::npos; });
  return of == "model" && is_family ? fmt::format("; instead: {}", kFile) : "";
}

std::string meant_flag(std::string_view word) {
  const std::string text = plain(word);
  for (const std::string_view flag : {flag_in<RunConfig>(text), flag_in<OutputConfig>(text)}) {
    if (!flag.empty()) return std::string(flag);
  }
  const Synonym* const synonym = find("", text);
  return std::string(synonym == nullptr ? word : synonym->meant);
}

std::string meant_value(std::string_view flag, std::string_view word) {
  if (flag == "device") return meant_device(word);
  const Synonym* const synonym = find(flag, plain(word));
  return std::string(synonym == nullptr ? word : synonym->meant);
}

}  // namespace laptime
