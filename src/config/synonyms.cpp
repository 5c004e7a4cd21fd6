// The table of synonyms of options and of their values.
#include "config/synonyms.h"

#include <algorithm>
#include <array>
#include <cctype>

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
    Synonym{"", "bs", "batch"}, Synonym{"", "batchsize", "batch"}, Synonym{"", "microbatch", "batch"},
    Synonym{"", "heads", "num-heads"}, Synonym{"", "n-head", "num-heads"}, Synonym{"", "n-heads", "num-heads"},
    Synonym{"", "layers", "num-layers"}, Synonym{"", "n-layer", "num-layers"}, Synonym{"", "n-layers", "num-layers"},
    Synonym{"", "depth", "num-layers"},
    Synonym{"", "width", "d-model"}, Synonym{"", "n-embd", "d-model"}, Synonym{"", "dim", "d-model"},
    Synonym{"", "hidden-size", "d-model"}, Synonym{"", "d-hidden", "d-ff"}, Synonym{"", "intermediate-size", "d-ff"},
    Synonym{"", "vocab-size", "vocab"}, Synonym{"", "n-vocab", "vocab"},
    Synonym{"", "precision", "dtype"}, Synonym{"", "data-type", "dtype"}, Synonym{"", "amp", "dtype"},
    Synonym{"", "learning-rate", "lr"}, Synonym{"", "wd", "weight-decay"}, Synonym{"", "grad-clip", "clip-norm"},
    Synonym{"", "max-norm", "clip-norm"}, Synonym{"", "num-threads", "threads"}, Synonym{"", "n-threads", "threads"},
    Synonym{"", "warmup-steps", "warmup"}, Synonym{"", "iterations", "steps"}, Synonym{"", "iters", "steps"},
    Synonym{"", "runs", "steps"}, Synonym{"", "num-steps", "steps"}, Synonym{"", "format", "output"},
    Synonym{"", "max-memory", "memory-limit"}, Synonym{"", "checkpointing", "recompute"},
    Synonym{"", "activation-checkpointing", "recompute"}, Synonym{"", "db", "store"}, Synonym{"", "database", "store"},
    Synonym{"", "gpu", "device"},
    // number types
    Synonym{"dtype", "bf16", "bfloat16"}, Synonym{"dtype", "fp32", "float32"}, Synonym{"dtype", "f32", "float32"},
    Synonym{"dtype", "float", "float32"}, Synonym{"dtype", "single", "float32"}, Synonym{"dtype", "fp16", "float16"},
    Synonym{"dtype", "f16", "float16"}, Synonym{"dtype", "half", "float16"}, Synonym{"dtype", "amp", "mixed"},
    Synonym{"dtype", "torch.bfloat16", "bfloat16"}, Synonym{"dtype", "torch.float32", "float32"},
    Synonym{"dtype", "torch.float16", "float16"},
    // formats
    Synonym{"output", "md", "markdown"}, Synonym{"output", "text", "table"}, Synonym{"output", "txt", "table"},
    Synonym{"output", "ndjson", "jsonl"}, Synonym{"output", "json-lines", "jsonl"},
    // devices; known machines have their names as well
    Synonym{"device", "gpu", "cuda"}, Synonym{"device", "4090", "roofline:rtx4090"},
    Synonym{"device", "3070", "roofline:rtx3070"},
    // models
    Synonym{"model", "gpt2", "gpt2-124M"}, Synonym{"model", "gpt2-small", "gpt2-124M"}, Synonym{"model", "gpt2-124m", "gpt2-124M"},
    Synonym{"model", "gpt2-medium", "gpt2-355M"}, Synonym{"model", "gpt2-355m", "gpt2-355M"},
    Synonym{"model", "gpt2-large", "gpt2-774M"}, Synonym{"model", "gpt2-774m", "gpt2-774M"},
    Synonym{"model", "gpt2-xl", "gpt2-1558M"}, Synonym{"model", "gpt2-1558m", "gpt2-1558M"},
    Synonym{"model", "s", "small"}, Synonym{"model", "m", "medium"}, Synonym{"model", "l", "large"},
    Synonym{"model", "2.7b", "2.7B"}, Synonym{"model", "10b", "10B"}, Synonym{"model", "8b", "8B"},
    // passes, modes, editions, recomputation
    Synonym{"pass", "fwd", "forward"}, Synonym{"pass", "bwd", "backward"}, Synonym{"pass", "forward+backward", "forward_backward"},
    Synonym{"pass", "forward-backward", "forward_backward"}, Synonym{"pass", "fwd-bwd", "forward_backward"},
    Synonym{"pass", "fwd+bwd", "forward_backward"}, Synonym{"pass", "train", "step"}, Synonym{"pass", "training", "step"},
    Synonym{"pass", "infer", "inference"}, Synonym{"pass", "eval", "inference"},
    Synonym{"mode", "compiled", "compile"}, Synonym{"mode", "torch.compile", "compile"},
    Synonym{"edition", "gpt-2", "gpt2"}, Synonym{"recompute", "full", "block"}, Synonym{"recompute", "layer", "block"}};
// clang-format on

std::string plain(std::string_view word) {
  std::string text(word);
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  return text;
}

const Synonym* find(std::string_view flag, std::string_view word) {
  const auto* const found = std::find_if(kSynonyms.begin(), kSynonyms.end(), [&](const Synonym& synonym) {
    return synonym.flag == flag && synonym.word == word;
  });
  return found == kSynonyms.end() ? nullptr : found;
}

// A machine by its bare name, or a file of one, is a prediction, which its rows say.
bool names_machine(std::string_view word) {
  const std::vector<DataSheet>& known = known_machines();
  const bool is_known =
      std::any_of(known.begin(), known.end(), [&](const DataSheet& machine) { return machine.name == word; });
  return is_known || (word.ends_with(".toml") && !word.starts_with(kMachinePrefix));
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

std::string meant_flag(std::string_view word) {
  const std::string text = plain(word);
  for (const std::string_view flag : {flag_in<RunConfig>(text), flag_in<OutputConfig>(text)}) {
    if (!flag.empty()) return std::string(flag);
  }
  const Synonym* const synonym = find("", text);
  return std::string(synonym == nullptr ? word : synonym->meant);
}

std::string meant_value(std::string_view flag, std::string_view word) {
  if (flag == "device" && names_machine(word)) return std::string(kMachinePrefix) + std::string(word);
  const Synonym* const synonym = find(flag, plain(word));
  return std::string(synonym == nullptr ? word : synonym->meant);
}

}  // namespace laptime
