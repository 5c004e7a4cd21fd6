// Parses the descriptions of published runs.
#include "cluster/described_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/words.h"
#include "cluster/rank_share.h"
#include "model/parameters.h"
#include "points/resolve.h"
#include "prepare/resolved_point.h"
#include "table/text.h"

namespace laptime {
namespace {

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

bool has_any(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return has(text, word); });
}

// The letters and digits of a text. Words are joined, because sources write "Gaudi 2" and "RTX 4090" for gaudi2 and
// rtx4090.
class JoinedWords {
 public:
  explicit JoinedWords(std::string_view text) {
    bool is_inside = false;
    for (const char c : lowered(text)) {
      const bool is_part = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
      if (is_part) {
        begins_.push_back(!is_inside);
        letters_ += c;
      }
      is_inside = is_part;
    }
    begins_.push_back(true);
  }

  // True if the part is one word or several: "l4" is not in "L40", and "40" not in "640GB". A unit may follow, as in
  // "40GB".
  bool have(std::string_view part) const {
    for (size_t at = letters_.find(part); at != std::string::npos; at = letters_.find(part, at + 1)) {
      const size_t end = at + part.size();
      if (begins_[at] &&
          (begins_[end] || (letters_.compare(end, kUnit.size(), kUnit) == 0 && begins_[end + kUnit.size()])))
        return true;
    }
    return false;
  }

 private:
  static constexpr std::string_view kUnit = "gb";
  std::string letters_;
  std::vector<bool> begins_;  // whether a word begins at each letter; true after the last one
};

// Returns the number after `key=`: 4 for "tp" in "tp=4 pp=8"; none if the key is missing. Throws Error above 100000.
std::optional<int64_t> number_of(std::string_view text, std::string_view key) {
  const std::string word = fmt::format("{}=", key);
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const bool begins = at == 0 || !((text[at - 1] >= 'a' && text[at - 1] <= 'z') || text[at - 1] == '_');
    const std::string_view after = text.substr(at + word.size());
    const auto number = after.empty() || after[0] < '0' || after[0] > '9' ? std::nullopt : number_in(after);
    constexpr double kMostRanks = 1e5;
    if (begins && number && *number > kMostRanks)
      throw Error::format("{}{} is too large; the maximum is {}", word, *number, kMostRanks);
    if (begins && number) return static_cast<int64_t>(*number);
  }
  return std::nullopt;
}

// The number in a cell, or `otherwise` if there is none. Throws Error if the number is too large for a count.
int64_t count_in(std::string_view cell, int64_t otherwise = 0) {
  constexpr double kMost = 1e9;
  const std::optional<double> number = number_in(cell);
  if (!number) return otherwise;
  if (*number > kMost) throw Error(fmt::format("{} is too large for a count", quote(std::string(cell))));
  return std::llround(*number);
}

// The parallel layout, as far as the description states it. Throws Error if the layout does not match the number of
// ranks or uses expert parallelism.
ParallelLayout layout_of(const PublishedRun& run, std::string_view mode) {
  const std::string words = lowered(run.parallelism);
  ParallelLayout layout;
  if (has(words, "ep=") && number_of(words, "ep").value_or(1) > 1) throw Error("expert parallelism is not predicted");
  layout.tensor = std::max<int64_t>(1, number_of(words, "tp").value_or(1));
  layout.pipeline = std::max<int64_t>(1, number_of(words, "pp").value_or(1));
  layout.context = std::max<int64_t>(1, number_of(words, "cp").value_or(1));
  layout.chunks = std::max<int64_t>(1, number_of(words, "vp").value_or(1));
  layout.fills_bubbles = has_any(words, {"zero-bubble", "zero bubble", "zbv"});
  layout.offloads = has(words, "offload");
  layout.shards_in_node = has(words, "hsdp");
  const std::optional<double> ranks = number_in(run.gpus);
  const int64_t model_ranks = layout.tensor * layout.pipeline * layout.context;
  layout.ranks = ranks ? count_in(run.gpus) : number_of(words, "dp").value_or(has(words, "none") ? 1 : 8) * model_ranks;
  if (layout.ranks < 1 || layout.ranks % model_ranks != 0)
    throw Error(fmt::format("the number of GPUs, {}, is not a multiple of the {} that share a model", layout.ranks,
                            model_ranks));
  if (has_any(words, {"fsdp", "zero3", "hsdp"})) {
    layout.shard = Shard::kParameters;
  } else if (has(words, "zero2")) {
    layout.shard = Shard::kGradients;
  } else if (has_any(words, {"zero1", "distributed optimizer"}) ||
             (has_any(mode, {"megatron", "nanotron"}) && layout.sharers() > 1)) {
    layout.shard = Shard::kOptimizer;
  }
  return layout;
}

// Parses a description, or a value of --recompute. Throws Error if only some layers are recomputed.
Checkpointing checkpointing_of(std::string_view words) {
  if (words == "auto" || words.starts_with("every="))
    throw Error("a step that recomputes only some layers cannot be predicted");
  if (words == "block" || words.starts_with("full")) return Checkpointing::kFull;
  if (has(words, "selective or none") || !has(words, "selective")) return Checkpointing::kNone;
  return has(words, "attention") ? Checkpointing::kAttention : Checkpointing::kSelective;
}

// The program that a mode describes. Throws Error for a program that cannot be predicted.
Program program_of(std::string_view mode) {
  if (mode.starts_with("laptime")) return Program::kLaptime;
  if (has_any(mode, {"xla", "jax", "pax", "tpu"})) throw Error("XLA programs are not predicted");
  if (has_any(mode, {"megatron", "llm.c", "flashattention code", "nemo"})) return Program::kMegatron;
  const bool compiles = has(mode, "compile") && !has(mode, "compile state not stated");
  return compiles || has_any(mode, {"thunder", "fused"}) ? Program::kPyTorchCompile : Program::kPyTorchEager;
}

Framework framework_of(std::string_view mode) {
  if (has(mode, "nanotron")) return Framework::kNanotron;
  if (has(mode, "deepspeed")) return Framework::kDeepSpeed;
  if (has_any(mode, {"nvfuser", "unsloth"})) return Framework::kNvFuser;
  return has(mode, "thunder") ? Framework::kThunder : Framework::kNone;
}

// True if the description says that the layout of the model is not stated.
bool leaves_open(const PublishedRun& run) {
  const std::string words = lowered(run.parallelism);
  return has(words, "not stated") && !has(words, "data parallel");
}

AttentionKernel attention_of(const PublishedRun& run, std::string_view mode, const DescribedRun& described) {
  const std::string words = lowered(run.flash_attention);
  if (words == kUsualAttention) {
    // The names that peers/ and transformers give to implementations with PyTorch's attention (SDPA).
    return has_any(mode, {"sdpa", "flash", "tuned"}) ? AttentionKernel::kSecond
                                                     : usual_attention(described.program, described.config.dtype);
  }
  const bool is_stated = !has(words, "not stated") && !words.empty();
  if (is_stated && words.starts_with("no")) return AttentionKernel::kUnfused;
  if (has_any(mode, {"torch 1.", "torch 2.0"})) return AttentionKernel::kFirst;
  if (has_any(words, {"fa3", "fa4", "cudnn"})) return AttentionKernel::kThird;
  return AttentionKernel::kSecond;
}

RunConfig config_of(const std::vector<GivenOption>& given) {
  const ResolvedConfig resolved = resolve(given);
  if (!resolved.invalid.empty()) throw Error(resolved.invalid);
  return resolved.config;
}

// Describes a run whose model is a named size of an edition, such as "small".
void describe_edition(const PublishedRun& run, DescribedRun& described) {
  const std::string edition = run.model_family.substr(kEditionFamily.size());
  if (run.sequence_length.empty() || run.micro_batch.empty()) throw Error("context or batch is not stated");
  std::vector<GivenOption> given{{"edition", edition},
                                 {"model", run.model_name},
                                 {"context", run.sequence_length},
                                 {"batch", run.micro_batch},
                                 {"dtype", "bfloat16"}};
  for (const auto& [flag, size] : {std::pair<std::string_view, std::string_view>{"num-layers", run.layers},
                                   {"d-model", run.d_model},
                                   {"d-ff", run.d_ff},
                                   {"num-heads", run.heads},
                                   {"num-kv-heads", run.kv_heads},
                                   {"vocab", run.vocab}}) {
    if (!size.empty()) given.push_back({flag, size});
  }
  for (const auto& [flag, text] : run.options) given.push_back({flag, text});
  described.config = config_of(given);
  const ModelConfig& model = described.config.model;
  described.step.layers = model.num_layers;
  described.step.d_model = static_cast<double>(model.d_model);
  described.step.kv_width = static_cast<double>(model.kv_heads() * model.d_head());
  described.step.parameters = static_cast<double>(summarize(model).parameter_count);
  const auto table = static_cast<double>(model.vocab_size * model.d_model);
  described.counted_parameters = described.step.parameters - (model.weight_tie ? 0 : table);
}

void describe_model(const PublishedRun& run, DescribedRun& described) {
  if (run.model_family.starts_with(kEditionFamily)) return describe_edition(run, described);
  const std::string family = lowered(run.model_family + " " + run.model_name);
  if (has_any(family, {"moe", "mixtral", "mixture", "deepseek-v", "8x7b", "8x22b", "expert"}))
    throw Error("mixtures of experts are not predicted");
  const int64_t layers = count_in(run.layers);
  const int64_t d_model = count_in(run.d_model);
  const int64_t d_ff = count_in(run.d_ff, 4 * d_model);
  const int64_t heads = count_in(run.heads, d_model / 128);
  const int64_t vocab = count_in(run.vocab, 50'304);
  if (layers < 1 || d_model < 1 || heads < 1) throw Error("the sizes of the model are not stated");
  const int64_t kv_heads = count_in(run.kv_heads, heads);
  const int64_t sequence = count_in(run.sequence_length);
  if (sequence < 1) throw Error("the sequence length is not stated");
  const bool is_gated = has_any(family, {"llama", "mistral", "qwen", "gemma", "phi-3"});
  // The number of parameters shows whether the head shares the embedding.
  const double parameters = number_in(run.parameters).value_or(0);
  const auto width = static_cast<double>(d_model);
  const double attention = width * width * (2 + 2 * static_cast<double>(kv_heads) / static_cast<double>(heads));
  const double table = width * static_cast<double>(vocab);
  const double in_layers =
      static_cast<double>(layers) * (attention + (is_gated ? 3 : 2) * width * static_cast<double>(d_ff));
  const bool is_tied = parameters > 0 ? parameters < in_layers + 1.5 * table : !is_gated;
  described.step.parameters = parameters > 0 ? parameters : in_layers + (is_tied ? 1 : 2) * table;
  const bool counts_embedding = is_tied || has(run.note, "all parameters");
  described.counted_parameters = described.step.parameters - (counts_embedding ? 0 : table);

  const auto text = [](int64_t number) { return fmt::format("{}", number); };
  // Only gated editions have grouped queries, so an ungated model with them is described as a gated one. With 2/3 of
  // d_ff, the three products of a gated layer cost as much as the two of an ungated layer.
  const bool is_llama = is_gated || kv_heads != heads;
  const int64_t feed_forward = is_gated || !is_llama ? d_ff : 2 * d_ff / 3;
  const std::string words[] = {text(d_model),  text(feed_forward), text(heads),
                               text(kv_heads), text(vocab),        text(sequence)};
  std::vector<GivenOption> given{{"model", "custom"},     {"d-model", words[0]}, {"d-ff", words[1]},
                                 {"num-heads", words[2]}, {"vocab", words[4]},   {"context", words[5]},
                                 {"num-layers", "2"},     {"dtype", "bfloat16"}};
  if (is_llama) {
    given.push_back({"edition", "llama"});
    given.push_back({"num-kv-heads", words[3]});
  } else {
    given.push_back({"edition", "gpt2"});
  }
  given.push_back({"weight-tie", is_tied ? "true" : "false"});
  described.config = config_of(given);
  described.step.layers = layers;
  described.step.d_model = width;
  described.step.kv_width = static_cast<double>(described.config.model.kv_heads() * described.config.model.d_head());
}

// The size of a micro-batch if the description states none. If the global batch is stated: one sequence per
// tensor-parallel rank, or fewer if the batch would otherwise have too few micro-batches to fill the pipeline. If not:
// as many sequences as fit in 8192 tokens.
int64_t unstated_micro_batch(const std::optional<double>& global, int64_t sequence, const ParallelLayout& layout) {
  constexpr int64_t kTokens = 8192;
  constexpr int64_t kForPipeline = 4;  // micro-batches per pipeline rank
  if (!global) return std::max<int64_t>(1, kTokens / sequence);
  const int64_t of_rank = std::llround(*global / static_cast<double>(sequence) / static_cast<double>(layout.data()));
  const int64_t most = layout.pipeline > 1 ? of_rank / (kForPipeline * layout.pipeline) : of_rank;
  return std::clamp<int64_t>(most, 1, layout.tensor);
}

void describe_batch(const PublishedRun& run, DescribedRun& described) {
  ParallelStep& step = described.step;
  const int64_t sequence = described.config.model.context_length;
  const std::optional<double> global = number_in(run.global_batch_tokens);
  constexpr double kMostTokens = 1e15;
  if (global && *global > kMostTokens) throw Error("the batch has too many tokens");
  int64_t micro = count_in(run.micro_batch);
  if (micro < 1) micro = unstated_micro_batch(global, sequence, step.layout);
  const double of_rank = static_cast<double>(micro) * static_cast<double>(sequence);
  const double tokens = of_rank * static_cast<double>(step.layout.data());
  step.micro_batches = global ? std::max<int64_t>(1, std::llround(*global / tokens)) : 1;
  described.config.model.batch_size = micro;
  described.tokens = tokens * static_cast<double>(step.micro_batches);
  step.tokens = of_rank / static_cast<double>(step.layout.context);
}

// Bytes/s in one direction for "400 Gb/s per node" or "4x200 Gb/s RDMA per node"; 0 if none is stated.
double network_of(std::string_view words) {
  const size_t unit = words.find("Gb/s");
  if (unit == std::string_view::npos) return 0;
  const size_t digits = words.find_last_of("0123456789", unit);
  size_t begin = words.find_last_not_of("0123456789x.", digits);
  begin = begin == std::string_view::npos ? 0 : begin + 1;
  const std::string_view text = words.substr(begin, digits - begin + 1);
  const size_t times = text.find('x');
  const double each = number_in(times == std::string_view::npos ? text : text.substr(times + 1)).value_or(0);
  const double count = times == std::string_view::npos ? 1 : number_in(text.substr(0, times)).value_or(1);
  return count * each * 1e9 / 8;
}

// For a run whose layout is not stated, chooses the fewest pipeline ranks, then the fewest tensor-parallel ranks, with
// which the model fits in memory. If none fit, also recomputes all activations; throws Error if that does not help.
void choose_layout(const PublishedRun& run, const DataSheet& machine, DescribedRun& described) {
  constexpr std::array<int64_t, 7> kParts{1, 2, 4, 8, 16, 32, 64};
  const ParallelLayout stated = described.step.layout;
  const Checkpointing stated_checkpointing = described.step.checkpointing;
  SharePlans plans;
  for (const Checkpointing checkpointing : {stated_checkpointing, Checkpointing::kFull}) {
    described.step.checkpointing = checkpointing;
    for (const int64_t pipeline : kParts) {
      for (const int64_t tensor : kParts) {
        ParallelLayout& layout = described.step.layout = stated;
        layout.pipeline = pipeline;
        layout.tensor = std::max(tensor, stated.tensor);
        const int64_t parts = layout.tensor * layout.pipeline;
        if (layout.tensor > machine.link_devices || described.config.model.num_heads % layout.tensor != 0 ||
            described.step.layers % pipeline != 0 || layout.ranks % parts != 0)
          continue;
        if (layout.shard == Shard::kNone && layout.sharers() > 1) layout.shard = Shard::kOptimizer;
        describe_batch(run, described);
        if (bytes_of(described, plans).total() <= kUsableFraction * static_cast<double>(machine.memory)) return;
      }
    }
  }
  throw Error("the parallel layout is not stated, and no layout that laptime tried fits");
}

void describe(const PublishedRun& run, DescribedRun& described) {
  if (!run.refusal.empty()) throw Error(run.refusal);
  const std::string mode = lowered(run.mode);
  const DataSheet* machine = machine_of_words(run.hardware);
  if (machine == nullptr && has(run.hardware, "not named")) machine = machine_of_words(run.note);
  if (machine == nullptr) throw Error(fmt::format("no machine file describes {}", quote(run.hardware)));
  described.program = program_of(mode);
  describe_model(run, described);
  RunConfig& config = described.config;
  config.device = fmt::format("{}{}", kMachinePrefix, machine->name);
  described.step.layout = layout_of(run, mode);
  described.step.checkpointing = checkpointing_of(lowered(run.activation_checkpointing));
  described.step.network_bandwidth = network_of(run.interconnect);
  describe_batch(run, described);

  const std::string dtype = lowered(run.dtype);
  const std::string_view arithmetic = std::string_view(dtype).substr(0, dtype.find(','));
  if (has_any(dtype, {"fp4", "nvfp4"})) described.product_bits = 4;
  if (has_any(dtype, {"fp8", "float8"})) described.product_bits = 8;
  if (has_any(arithmetic, {"fp32", "float32"}) && !has(arithmetic, "16")) config.dtype = Precision::kFloat32;
  if (has(dtype, "tf32")) config.dtype = Precision::kTf32;
  if (described.product_bits == 8 && machine->float8 <= 0)
    throw Error(fmt::format("the machine file of {} has no float8 rate", machine->name));
  described.step.value_bytes = activation_bytes(config.dtype);
  described.stores_16_bits = stores_16_bits(described, has(dtype, "autocast"));
  described.attention = attention_of(run, mode, described);
  if (described.step.layout.context > 1 && described.attention == AttentionKernel::kUnfused)
    throw Error("context parallelism without fused attention is not predicted");
  described.framework = framework_of(mode);
  described.fuses_loss = has_any(mode, {"liger", "unsloth"});
  described.compiles_loss = !has(mode, "loss not compiled");
  // Until version 2.5 added enable_gqa, PyTorch's attention (SDPA) needed as many key heads as query heads. Other
  // kernels accept fewer key heads.
  described.repeats_heads = described.program != Program::kMegatron && has(lowered(run.flash_attention), "sdpa");
  if (described.program == Program::kLaptime && has(mode, "compile")) config.mode = Mode::kCompile;
  described.is_recorded = config.mode == Mode::kCompile || has_any(mode, {"cuda graphs", "max-autotune"});
  described.all_16_bits = has_any(dtype, {"adam in bf16", "true"});
  if (has(dtype, "moments in bf16")) config.moments = MomentType::kBFloat16;

  if (run.quantity == "inference_time_s" || (run.quantity == "forward_time_s" && has(run.note, "no_grad")))
    config.pass = Pass::kInference;
  const std::string_view note = run.note;
  if (has_any(note, {"optimizer Muon", "optimizer SOAP", "optimizer Distributed", "optimizer AdamW or"}))
    throw Error("only runs with Adam or AdamW can be predicted");
  const std::string counts = lowered(note);
  if (has_any(counts, {"leaves attention out", "without attention"})) {
    described.counted_attention = CountedAttention::kNone;
  } else if (has(counts, "causal") && !has(counts, "non-causal")) {
    described.counted_attention = CountedAttention::kCausal;
  }
  // GPT-2 and GPT-3 use dropout; flash attention applies it inside its kernel.
  constexpr double kDropout = 0.1;
  if (described.attention == AttentionKernel::kUnfused && config.model.edition == Edition::kGpt2 &&
      has_any(mode, {"huggingface", "megatron"}))
    config.model.attn_pdrop = config.model.resid_pdrop = config.model.embd_pdrop = kDropout;
  const bool keeps_attention =
      described.attention != AttentionKernel::kUnfused && described.program != Program::kLaptime;
  if (keeps_attention) config.keep = "scaled_dot_product_attention";
  if (leaves_open(run)) choose_layout(run, *machine, described);
}

}  // namespace

// Finds a machine if all parts of its name occur in the text. The longest such name wins, so that "A100 40GB" is not
// taken for a100.
const DataSheet* machine_of_words(std::string_view hardware) {
  const JoinedWords words(hardware);
  const DataSheet* found = nullptr;
  for (const DataSheet& machine : known_machines()) {
    const bool fits = std::ranges::all_of(fields_of(machine.name, '-'), [&](std::string_view part) {
      // "MI300" without a suffix means the full GPU, MI300X.
      return words.have(part) || (part.ends_with('x') && words.have(part.substr(0, part.size() - 1)));
    });
    if (fits && (found == nullptr || machine.name.size() > found->name.size())) found = &machine;
  }
  return found;
}

bool stores_16_bits(const DescribedRun& run, bool is_autocast) {
  if (!is_mixed(run.config.dtype) || run.program == Program::kLaptime) return false;
  return !is_autocast || run.program == Program::kMegatron || run.step.layout.shard == Shard::kParameters;
}

AttentionKernel usual_attention(Program program, Precision dtype) {
  return fuses_attention(program, dtype) ? AttentionKernel::kThird : AttentionKernel::kUnfused;
}

DescribedRun described(const PublishedRun& run) {
  DescribedRun described;
  try {
    describe(run, described);
  } catch (const Error& error) {
    described.refusal = error.what();
  }
  return described;
}

}  // namespace laptime
