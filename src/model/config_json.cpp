// Converts the keys of a config.json to a ModelConfig. A key that would change the computation is rejected by name.
#include "model/config_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <vector>

#include "base/error.h"
#include "base/json_field.h"
#include "base/words.h"
#include "config/known_models.h"
#include "config/option_table.h"
#include "config/run_config.h"
#include "model/gpt/editions.h"

namespace laptime {
namespace {

constexpr int64_t kMaxInteger = 1 << 30;

// A model family: its model_type, and the keys of the properties that all families have. Missing keys take the defaults
// of the configuration classes in transformers.
struct Family {
  std::string_view model_type;
  std::string_view architecture;
  Edition edition = Edition::kLlama;
  std::array<std::string_view, 2> activations = {"silu", "swish"};
  std::string_view d_model = "hidden_size";
  std::string_view d_ff = "intermediate_size";
  std::string_view layers = "num_hidden_layers";
  std::string_view heads = "num_attention_heads";
  std::string_view positions = "max_position_embeddings";
  std::string_view eps = "rms_norm_eps";
  std::string_view activation = "hidden_act";
  int64_t default_positions = 2048;  // larger defaults are not listed, because default_context() is at most 2048
  double default_eps = 1e-6;
  int64_t default_kv_heads = 0;  // 0: the number of heads
  int64_t default_head_dim = 0;  // 0: hidden size / number of heads
  int64_t default_window = 0;    // 0: the family always has full attention
  bool is_tied = false;
};

constexpr std::array kFamilies{
    Family{.model_type = "llama", .architecture = "LlamaForCausalLM"},
    Family{
        .model_type = "mistral", .architecture = "MistralForCausalLM", .default_kv_heads = 8, .default_window = 4096},
    Family{.model_type = "qwen2",
           .architecture = "Qwen2ForCausalLM",
           .edition = Edition::kQwen2,
           .default_kv_heads = 32,
           .default_window = 4096},
    Family{.model_type = "qwen3",
           .architecture = "Qwen3ForCausalLM",
           .edition = Edition::kQwen3,
           .default_kv_heads = 32,
           .default_head_dim = 128,
           .default_window = 4096},
    Family{.model_type = "gpt2",
           .architecture = "GPT2LMHeadModel",
           .edition = Edition::kGpt2Hf,
           .activations = {"gelu_new", "gelu_new"},
           .d_model = "n_embd",
           .d_ff = "n_inner",
           .layers = "n_layer",
           .heads = "n_head",
           .positions = "n_positions",
           .eps = "layer_norm_epsilon",
           .activation = "activation_function",
           .default_positions = 1024,
           .default_eps = 1e-5,
           .is_tied = true},
    Family{.model_type = "gpt_neox",
           .architecture = "GPTNeoXForCausalLM",
           .edition = Edition::kGptNeox,
           .activations = {"gelu", "gelu"},
           .eps = "layer_norm_eps",
           .default_eps = 1e-5},
};

// Substrings of keys that change the computation of a model. A key that contains one and has not been read is rejected
// unless its value is null, false, 0 or empty.
constexpr std::array<std::string_view, 42> kParts{
    "expert",      "moe",    "router", "softcap",    "quant",     "window",   "chunk", "scal",      "multipl",
    "norm",        "rope",   "rotary", "attn",       "attention", "residual", "conv",  "ssm",       "mamba",
    "cross",       "latent", "lora",   "nextn",      "bias",      "clip",     "alibi", "sparse",    "parallel",
    "layer_types", "vision", "audio",  "encoder",    "auto_map",  "dropout",  "pdrop", "embedding", "kv_",
    "position",    "logit",  "act_fn", "activation", "compress",  "prune"};
// Keys that contain such a substring but do not affect training.
constexpr std::array<std::string_view, 11> kHarmless{
    "attn_implementation",   "_attn_implementation", "_attn_implementation_autoset", "_attn_implementation_internal",
    "max_window_layers",     "classifier_dropout",   "classifier_activation",        "summary_activation",
    "summary_first_dropout", "output_attentions",    "tie_encoder_decoder"};

class Reader {
 public:
  Reader(const JsonField& document, const std::string& file, const Family& family)
      : json_(document), file_(file), family_(family) {}

  ModelConfig read() {
    check_architecture();
    ModelConfig model;
    model.edition = family_.edition;
    model.d_model = integer(family_.d_model, "d-model");
    model.num_layers = integer(family_.layers, "num-layers");
    model.num_heads = integer(family_.heads, "num-heads");
    const bool is_gpt2 = family_.edition == Edition::kGpt2Hf;
    const bool is_neox = family_.edition == Edition::kGptNeox;
    const bool has_head_dim = !is_gpt2 && !is_neox && (json_.has("head_dim") || family_.default_head_dim > 0);
    if (!has_head_dim && model.d_model % model.num_heads != 0)
      refuse(family_.heads, fmt::format("{}", model.num_heads), fmt::format("give a divisor of {}", model.d_model));
    model.vocab_size = integer("vocab_size", "vocab");
    model.d_ff = is_gpt2 ? integer_or(family_.d_ff, 4 * model.d_model, "d-ff") : integer(family_.d_ff, "d-ff");
    model.norm_eps = number_or(family_.eps, family_.default_eps);
    model.weight_tie = truth_or("tie_word_embeddings", family_.is_tied);
    const int64_t positions = integer_or(family_.positions, family_.default_positions);
    model.context_length = default_context(positions);
    check_word(family_.activation, family_.activations);
    if (is_gpt2) read_gpt2(model, positions);
    if (!is_gpt2) read_rope(model, is_neox);
    if (is_neox) read_gpt_neox(model);
    if (!is_gpt2 && !is_neox) read_llama(model);
    refuse_others();
    check_ranges(model);
    return model;
  }

 private:
  bool has(std::string_view key) {
    read_.insert(std::string(key));
    return json_.has(key);
  }
  // A positive integer; if `flag` names an option, at most the maximum of that option.
  int64_t integer(std::string_view key, std::string_view flag = {}) {
    read_.insert(std::string(key));
    const std::optional<Option> option = find_option<RunConfig>(flag);
    return json_.at(key).integer(1, option ? static_cast<int64_t>(option->max) : kMaxInteger);
  }
  int64_t integer_or(std::string_view key, int64_t otherwise, std::string_view flag = {}) {
    return has(key) ? integer(key, flag) : otherwise;
  }
  double number_or(std::string_view key, double otherwise) { return has(key) ? json_.at(key).number() : otherwise; }
  bool truth_or(std::string_view key, bool otherwise) { return has(key) ? json_.at(key).truth() : otherwise; }

  [[noreturn]] void refuse(std::string_view key, std::string_view value, std::string_view instead) const {
    throw Error::format("{}: '{}' is {}, which is not supported; {}", file_, printable_key(key), value, instead);
  }
  static std::string printable_key(std::string_view key) {
    const std::string quoted = quote(key);
    return quoted.substr(1, quoted.size() - 2);
  }

  // The key that provides the value of the option with this flag; the flag itself if there is no such key.
  std::string_view key_of(std::string_view flag) const {
    const bool is_gpt2 = family_.edition == Edition::kGpt2Hf;
    const std::string_view hidden_dropout = is_gpt2 ? "resid_pdrop" : "hidden_dropout";
    const std::array<std::pair<std::string_view, std::string_view>, 15> keys{
        {{"d-model", family_.d_model},
         {"d-ff", family_.d_ff},
         {"num-layers", family_.layers},
         {"num-heads", family_.heads},
         {"vocab", "vocab_size"},
         {"context", family_.positions},
         {"norm-eps", family_.eps},
         {"embd-pdrop", is_gpt2 ? "embd_pdrop" : hidden_dropout},
         {"attn-pdrop", is_gpt2 ? "attn_pdrop" : "attention_dropout"},
         {"resid-pdrop", hidden_dropout},
         {"num-kv-heads", "num_key_value_heads"},
         {"head-dim", "head_dim"},
         {"max-context", is_gpt2 ? family_.positions : "sliding_window"},
         {"rope-theta", family_.edition == Edition::kGptNeox ? "rotary_emb_base" : "rope_theta"},
         {"rotary-share", "rotary_pct"}}};
    const auto* const found = std::ranges::find(keys, flag, [](const auto& entry) { return entry.first; });
    return found == keys.end() ? flag : found->second;
  }
  // Throws Error with the key if a value is outside the range of its option.
  void check_ranges(const ModelConfig& model) const {
    ModelConfig::visit_fields(model, [&](const Option& option, const auto& field) {
      check_range(option, field, fmt::format("{}: '{}'", file_, key_of(option.flag)));
    });
  }

  void check_architecture() {
    if (!has("architectures")) return;
    const std::vector<JsonField> names = json_.at("architectures").elements();
    for (const JsonField& name : names) {
      if (name.text() != family_.architecture)
        refuse("architectures", quote(name.text()),
               fmt::format("give a model with the architecture {}", family_.architecture));
    }
  }

  // Throws Error unless the text of the key, if present, is one of `words`.
  void check_word(std::string_view key, std::span<const std::string_view> words) {
    if (!has(key)) return;
    const std::string word = json_.at(key).text();
    if (std::ranges::find(words, word) == words.end())
      refuse(key, quote(word), fmt::format("{} computes {}", family_.model_type, words.front()));
  }
  // Throws Error if `key` is present and differs from `value`, which gpt_neox reads from `own_key` or takes by default.
  void refuse_unless(std::string_view key, std::string_view own_key, double value) {
    if (const double found = number_or(key, value); found != value)
      refuse(key, fmt::format("{}", found),
             fmt::format("gpt_neox reads '{}' instead, here {}; give both keys the same value", own_key, value));
  }
  void require(std::string_view key, bool value) {
    if (truth_or(key, value) != value)
      refuse(key, value ? "false" : "true", fmt::format("only {} is", value ? "true" : "false"));
  }

  void read_gpt2(ModelConfig& model, int64_t positions) {
    constexpr double kUsualDropout = 0.1;
    model.bias = true;
    model.max_context = positions;
    model.embd_pdrop = number_or("embd_pdrop", kUsualDropout);
    model.attn_pdrop = number_or("attn_pdrop", kUsualDropout);
    model.resid_pdrop = number_or("resid_pdrop", kUsualDropout);
    require("scale_attn_weights", true);
    require("scale_attn_by_inverse_layer_idx", false);
    require("reorder_and_upcast_attn", false);
    has("n_ctx");
  }

  void read_gpt_neox(ModelConfig& model) {
    model.attn_pdrop = number_or("attention_dropout", 0);
    model.embd_pdrop = model.resid_pdrop = number_or("hidden_dropout", 0);
    model.attention_bias = truth_or("attention_bias", true);
    model.mlp_bias = true;
    model.parallel_residual = truth_or("use_parallel_residual", true);
    if (const double share = model.rotary_share.value_or(1); !(share > 0 && share <= 1))
      refuse("rotary_pct", fmt::format("{}", share), "give a share of a head, above 0 and up to 1");
    const auto rotated = static_cast<int64_t>(static_cast<double>(model.d_head()) * model.rotary_share.value_or(1));
    if (rotated % 2 != 0 || rotated == 0)
      refuse("rotary_pct", fmt::format("{} of {} elements", model.rotary_share.value_or(1), model.d_head()),
             "give a share that rotates an even number of elements: RoPE rotates pairs");
  }

  void read_llama(ModelConfig& model) {
    const bool is_usual = family_.default_kv_heads > 0 && !json_.holds("num_key_value_heads");  // null means num_heads
    const int64_t kv_heads =
        integer_or("num_key_value_heads", is_usual ? family_.default_kv_heads : model.num_heads, "num-kv-heads");
    if (model.num_heads % kv_heads != 0)
      refuse("num_key_value_heads", fmt::format("{}", kv_heads), fmt::format("give a divisor of {}", model.num_heads));
    if (kv_heads != model.num_heads) model.num_kv_heads = kv_heads;
    const int64_t head_dim = integer_or(
        "head_dim", family_.default_head_dim > 0 ? family_.default_head_dim : model.d_model / model.num_heads,
        "head-dim");
    if (head_dim % 2 != 0) refuse("head_dim", fmt::format("{}", head_dim), "give an even number: RoPE rotates pairs");
    if (head_dim * model.num_heads != model.d_model) model.head_dim = head_dim;
    model.attn_pdrop = number_or("attention_dropout", 0);
    const bool takes_bias = family_.model_type != "qwen2" && family_.model_type != "mistral";
    if (takes_bias) model.attention_bias = truth_or("attention_bias", false);
    if (family_.model_type == "llama") model.mlp_bias = truth_or("mlp_bias", false);
    read_window(model);
    read_pad_token(model);
  }

  // A negative id counts from the end of the vocabulary, as in PyTorch's Embedding.
  void read_pad_token(ModelConfig& model) {
    if (!has("pad_token_id")) return;
    const int64_t id = json_.at("pad_token_id").integer(-model.vocab_size, model.vocab_size - 1);
    model.pad_token = id < 0 ? id + model.vocab_size : id;
  }

  // The layers of a qwen model before this one have full attention.
  int64_t first_sliding_layer() {
    constexpr int64_t kUsual = 28;
    return has("max_window_layers") ? json_.at("max_window_layers").integer(0, kMaxInteger) : kUsual;
  }

  bool slides_in_any_layer() {
    bool any = false;
    for (const JsonField& layer : json_.at("layer_types").elements()) {
      const std::string type = layer.text();
      if (type != "full_attention" && type != "sliding_attention")
        refuse("layer_types", quote(type), "every layer must be full_attention or sliding_attention");
      any = any || type == "sliding_attention";
    }
    return any;
  }

  // Limits the context to the sliding window if any layer has one; attention is full in contexts up to that length.
  void read_window(ModelConfig& model) {
    const bool has_windows = family_.default_window > 0;
    if (!has_windows) {
      if (has("layer_types") && slides_in_any_layer())
        refuse("layer_types", quote("sliding_attention"), fmt::format("{} has no sliding window", family_.model_type));
      return;
    }
    const bool is_qwen = family_.model_type.starts_with("qwen");
    const bool uses = is_qwen ? truth_or("use_sliding_window", false) : true;
    bool slides = uses && has("sliding_window");
    int64_t window = 0;
    if (has("sliding_window")) window = integer("sliding_window");
    if (!json_.holds("sliding_window")) {
      window = family_.default_window;
      slides = uses;
    }
    if (has("layer_types")) {
      slides = slides_in_any_layer() && window > 0;
    } else if (is_qwen) {
      slides = slides && first_sliding_layer() < model.num_layers;
    }
    if (!slides) return;
    model.max_context = window;
    model.context_length = std::min(model.context_length, window);
  }

  // Version 5 of transformers stores all parameters of RoPE in one object; version 4 stores only the scaling in an
  // object.
  void read_rope(ModelConfig& model, bool is_neox) {
    constexpr double kUsualTheta = 10'000;
    constexpr double kUsualNeoxShare = 0.25;
    model.rope_theta = number_or(is_neox ? "rotary_emb_base" : "rope_theta", kUsualTheta);
    double share = number_or(is_neox ? "rotary_pct" : "partial_rotary_factor", is_neox ? kUsualNeoxShare : 1);
    // Some version 4 files repeat gpt_neox's values under the keys of other families; the values must be equal.
    if (is_neox) {
      refuse_unless("rope_theta", "rotary_emb_base", *model.rope_theta);
      refuse_unless("partial_rotary_factor", "rotary_pct", share);
    }
    std::optional<std::string> scaling;
    for (const std::string_view key : {"rope_scaling", "rope_parameters"}) {
      if (!has(key)) continue;
      const JsonField rope = json_.at(key);
      check_rope_keys(key, rope);
      if (rope.has("rope_theta")) model.rope_theta = rope.at("rope_theta").number();
      if (rope.has("partial_rotary_factor")) share = rope.at("partial_rotary_factor").number();
      model.rope_scaling = scaling_word(key, rope);
      if (scaling && model.rope_scaling != *scaling)
        refuse(key, "different from rope_scaling", "keep only one of the two keys");
      scaling = model.rope_scaling;
    }
    if (share != 1 && !is_neox)
      refuse("partial_rotary_factor", fmt::format("{}", share),
             fmt::format("{} rotates whole heads", family_.model_type));
    if (share != 1) model.rotary_share = share;
  }

  // Throws Error for an unknown key, unless its value is null, false, 0 or empty. This also rejects parameters per
  // layer type.
  void check_rope_keys(std::string_view key, const JsonField& rope) const {
    constexpr std::array<std::string_view, 8> kKnown{
        "rope_theta", "partial_rotary_factor", "rope_type",        "type",
        "factor",     "low_freq_factor",       "high_freq_factor", "original_max_position_embeddings"};
    for (const auto& [name, value] : rope.members()) {
      if (std::ranges::find(kKnown, name) == kKnown.end() && !value.is_neutral())
        refuse(key, fmt::format("given with the key '{}'", printable_key(name)),
               "only the types default and llama3 are");
    }
  }

  std::string scaling_word(std::string_view key, const JsonField& rope) const {
    const std::string_view type_key = rope.has("rope_type") ? "rope_type" : "type";
    const std::string type = rope.has(type_key) ? rope.at(type_key).text() : "default";
    if (type == "default") return "none";
    if (type != "llama3") refuse(key, fmt::format("of {} {}", type_key, quote(type)), "only default and llama3 are");
    const RopeScalingWord scaling{
        .factor = rope.at("factor").number(),
        .low_factor = rope.at("low_freq_factor").number(),
        .high_factor = rope.at("high_freq_factor").number(),
        .original_context = static_cast<double>(rope.at("original_max_position_embeddings").integer(1, kMaxInteger))};
    return canonical_rope_scaling(fmt::format("{}: '{}'", file_, key), rope_scaling_word(scaling));
  }

  void refuse_others() const {
    for (const auto& [key, value] : json_.members()) {
      if (read_.contains(key) || std::ranges::find(kHarmless, key) != kHarmless.end() || value.is_neutral()) continue;
      const std::string lower_key = lowered(key);
      const bool matters =
          std::ranges::any_of(kParts, [&](std::string_view part) { return lower_key.find(part) != std::string::npos; });
      if (matters)
        refuse(key, value.brief(), "remove the key if the model is the same without it, or choose another model");
    }
  }

  const JsonField& json_;
  const std::string& file_;
  const Family& family_;
  std::set<std::string> read_;
};

}  // namespace

ModelConfig parse_model_config(std::string_view text, const std::string& name) {
  constexpr int kMaxDepth = 16;
  const Json document = parse_json(text, name, kMaxDepth);
  const JsonField field(document, name);
  const std::string type = field.at("model_type").text();
  std::vector<std::string_view> known;
  for (const Family& family : kFamilies) {
    if (family.model_type == type) return Reader(field, name, family).read();
    known.push_back(family.model_type);
  }
  throw Error::format("{}: 'model_type' is {}, which is not supported; only {} are", name, quote(type),
                      joined(known, ", "));
}

ModelConfig read_model_config(const std::string& path) {
  constexpr size_t kLargest = 1 << 20;
  if (path.ends_with(".safetensors"))
    throw Error::format("{} contains weights; name its folder, which must also contain config.json", quote(path));
  std::error_code unreadable;
  const bool is_file = std::filesystem::is_regular_file(path, unreadable);
  std::ifstream stream;
  if (is_file) stream.open(path, std::ios::binary);
  if (!is_file || !stream)
    throw Error::format("{} cannot be read; name a config.json, or the folder that contains it", quote(path));
  std::string text(kLargest + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(stream.gcount()));
  if (text.size() > kLargest)
    throw Error::format("{} is larger than 1 MiB, so it is not a config.json; name a config.json", quote(path));
  return parse_model_config(text, path);
}

}  // namespace laptime
