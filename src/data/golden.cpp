// Reads a golden file into a GoldenCase.
#include "data/golden.h"

#include <filesystem>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "base/json_field.h"
#include "base/words.h"
#include "data/golden_reading.h"
#include "model/gpt/editions.h"
#include "model/parameters.h"

namespace laptime {
namespace {

constexpr int64_t kMostSamples = 1 << 20;

template <class E>
E choice_of(const JsonField& field) {
  const std::string word = field.text();
  std::string known;
  for (const auto& choice : choices_of(E{})) {
    if (choice.name == word) return choice.value;
    known += fmt::format("{}{}", known.empty() ? "one of " : ", ", choice.name);
  }
  field.fail(known);
}

std::vector<int64_t> shape_of(const JsonField& field) {
  return mapped(field.elements(), [](const JsonField& element) { return element.integer(0); });
}

std::vector<std::string> texts_of(const JsonField& field) { return mapped(field.elements(), &JsonField::text); }

EagerTrace trace_of(const JsonField& field) {
  EagerTrace trace{.forward_ops = texts_of(field.at("forward_ops")),
                   .backward_ops = texts_of(field.at("backward_ops")),
                   .saved_bytes = field.at("saved_bytes").integer(0),
                   .saved = {}};
  for (const JsonField& storage : field.at("saved").elements()) {  // [bytes, dtype, shape]
    const std::vector<JsonField> parts = storage.elements();
    if (parts.size() != 3) storage.fail("an array [bytes, dtype, shape]");
    trace.saved.push_back({.bytes = parts[0].integer(0), .dtype = parts[1].text(), .shape = shape_of(parts[2])});
  }
  return trace;
}

PrecisionValues values_of(const JsonField& metadata, const std::string& precision, int64_t steps) {
  const bool has_error = metadata.has("torch_error") && metadata.at("torch_error").has(precision);
  return {.losses = numbers_of(metadata.at("losses_" + precision), steps),
          .torch_error = has_error ? torch_error_of(metadata.at("torch_error").at(precision)) : TorchError{},
          .eager = trace_of(metadata.at("eager_" + precision))};
}

ModelConfig model_of(const JsonField& metadata) {
  ModelConfig model;
  model.name = "custom";
  model.edition = choice_of<Edition>(metadata.at("edition"));
  model.batch_size = metadata.at("batch_size").integer(1);
  model.vocab_size = metadata.at("vocab_size").integer(1);
  model.context_length = metadata.at("context_length").integer(1);
  model.d_model = metadata.at("d_model").integer(1);
  model.d_ff = metadata.at("d_ff").integer(1);
  model.num_layers = metadata.at("num_layers").integer(1);
  model.num_heads = metadata.at("num_heads").integer(1);
  model.weight_tie = metadata.at("tied").truth();
  const bool bias = metadata.has("bias") && metadata.at("bias").truth();
  model.bias = bias || gpt_edition(model.edition).defaults.bias;
  return model;
}

void read_metadata(const JsonField& metadata, GoldenCase& golden) {
  golden.model = model_of(metadata);
  golden.optimizer = choice_of<Optimizer>(metadata.at("optimizer"));
  if (metadata.has("clip")) {
    golden.clip_norm = metadata.at("clip").number();
    if (!(*golden.clip_norm > 0)) metadata.at("clip").fail("null or a positive number");
  }
  golden.seed = metadata.at("seed").integer(0);
  golden.steps = metadata.at("steps").integer(1, kMostGoldenSteps);
  const std::string truth = metadata.at("truth").text();
  if (truth != "float64" && truth != "float32") metadata.at("truth").fail("float64 or float32");
  golden.exact = truth == "float64";
  golden.losses = numbers_of(metadata.at("losses"), golden.steps);
  golden.float32 = values_of(metadata, "float32", golden.steps);
  golden.bfloat16 = values_of(metadata, "bfloat16", golden.steps);
  golden.autocast_dtypes = dtypes_of(metadata.at("autocast_dtypes"));
  if (metadata.has("losses_float16")) {
    golden.float16 = Float16Values{.values = values_of(metadata, "float16", golden.steps),
                                   .autocast_dtypes = dtypes_of(metadata.at("autocast_dtypes_float16")),
                                   .loss_scales = numbers_of(metadata.at("loss_scales_float16"), golden.steps)};
  }
  if (metadata.has("grad_norm")) golden.grad_norm = metadata.at("grad_norm").number();
  if (metadata.has("eager_float32_peak_bytes")) {
    const JsonField peaks = metadata.at("eager_float32_peak_bytes");
    golden.eager_float32_peaks = EagerPeaks{.inference = peaks.at("inference").integer(0),
                                            .forward_backward = peaks.at("forward_backward").integer(0)};
  }
  for (const auto& [key, value] : metadata.at("norms").members()) {
    golden.norms.emplace(key, StoredNorm{.norm = value.at("norm").number(), .shape = shape_of(value.at("shape"))});
  }
}

void check_samples(const GoldenCase& golden, const std::string& key, int64_t numel) {
  const StoredTensor& at = golden.file->tensor("sample_at/" + key);
  const StoredTensor& values = golden.file->tensor("sample/" + key);
  if (at.shape.rank() != 1 || at.shape != values.shape || at.shape[0] < 1 || at.shape[0] > kMostSamples) {
    throw Error::format(
        "{}: tensors 'sample_at/{}' {} and 'sample/{}' {} are not two vectors of the same length, 1 to {}; "
        "regenerate the file (tests/golden/README.md)",
        golden.file->text(), key, at.shape.text(), key, values.shape.text(), kMostSamples);
  }
  for (const int64_t position : golden.file->read<int64_t>(at)) {
    if (position < 0 || position >= numel) {
      throw Error::format(
          "{}: tensor 'sample_at/{}': position {} is outside a tensor of {} elements; regenerate the file "
          "(tests/golden/README.md)",
          golden.file->text(), key, position, numel);
    }
  }
}

// Adds a tensor to compare, with the norm of its stored values, after checking its shape against the model.
void add_key(GoldenCase& golden, const std::string& key, const std::vector<int64_t>& shape) {
  const auto stated = golden.norms.find(key);
  if (stated == golden.norms.end() || stated->second.shape != shape) {
    throw Error::format("{}: metadata, 'norms' has no '{}' of shape [{}]; regenerate the file (tests/golden/README.md)",
                        golden.file->text(), key, joined(shape, ", "));
  }
  if (golden.file->find(key) != nullptr) {
    tensor_with(golden, key, shape);
  } else {
    check_samples(golden, key, stated->second.numel());
  }
  note_key(golden, key, norm_of(stored_tensor(golden, key).values));
}

void read_tensors(GoldenCase& golden) {
  const ModelConfig& model = golden.model;
  const std::vector<ParameterSpec> parameters = parameter_list(model);
  const std::vector<int64_t> batch{model.batch_size, model.context_length};
  for (const char* name : {"tokens", "targets"}) {
    if (golden.file->find(name) != nullptr) tensor_with(golden, name, batch);
  }
  for (const ParameterSpec& parameter : parameters) {
    const std::string name = "weight/" + parameter.name;
    if (golden.file->find(name) != nullptr) tensor_with(golden, name, parameter.shape);
  }
  add_key(golden, "logits", {model.batch_size, model.context_length, model.vocab_size});
  for (const std::string& group : groups_of(golden)) {
    for (const ParameterSpec& parameter : parameters) add_key(golden, group + parameter.name, parameter.shape);
  }
}

}  // namespace

int64_t StoredNorm::numel() const {
  Size numel = 1;
  for (const int64_t size : shape) numel *= size;
  return numel.value();
}

std::vector<Precision> GoldenCase::precisions() const {
  std::vector<Precision> precisions{Precision::kFloat32, Precision::kBFloat16};
  if (float16) precisions.push_back(Precision::kFloat16);
  return precisions;
}

const PrecisionValues& GoldenCase::values(Precision precision) const {
  if (precision == Precision::kFloat16 && float16) return float16->values;
  if (precision == Precision::kBFloat16) return bfloat16;
  LAPTIME_CHECK(precision == Precision::kFloat32 || precision == Precision::kTf32, "{}", name_of(precision));
  return float32;
}

const std::map<std::string, std::string>& GoldenCase::dtypes(Precision precision) const {
  if (precision == Precision::kFloat16 && float16) return float16->autocast_dtypes;
  LAPTIME_CHECK(precision == Precision::kBFloat16, "{}", name_of(precision));
  return autocast_dtypes;
}

GoldenCase read_golden(const std::string& path) {
  const std::filesystem::path file(path);
  if (std::filesystem::is_directory(file)) return read_golden_folder(path);
  if (file.filename() == "config.json")
    return read_golden_folder(file.has_parent_path() ? file.parent_path().string() : ".");
  GoldenCase golden;
  golden.file = std::make_shared<SafetensorsFile>(path);
  const Json document = golden_metadata(*golden.file);
  read_metadata(JsonField(document, golden_metadata_place(*golden.file)), golden);
  check_run(golden);
  read_tensors(golden);
  return golden;
}

GoldenKey split_key(std::string_view key) {
  const size_t slash = key.find('/');
  if (slash == std::string_view::npos) return {.group = key, .name = {}};
  return {.group = key.substr(0, slash), .name = key.substr(slash + 1)};
}

GoldenTensor stored_tensor(const GoldenCase& golden, const std::string& key) {
  const SafetensorsFile& file = *golden.file;
  if (const StoredTensor* const whole = file.find(key)) return {.positions = {}, .values = file.read<double>(*whole)};
  return {.positions = file.read<int64_t>(file.tensor("sample_at/" + key)),
          .values = file.read<double>(file.tensor("sample/" + key))};
}

RunConfig run_config_of(const GoldenCase& golden, Precision precision) {
  RunConfig config;
  config.model = golden.model;
  config.dtype = precision;
  config.mode = Mode::kEager;
  config.pass = Pass::kStep;
  config.warmup = 0;
  config.steps = golden.steps;
  config.seed = golden.seed;
  config.optimizer = golden.optimizer;
  config.lr = 1e-3;
  config.beta1 = 0.9;
  config.beta2 = 0.999;
  config.eps = 1e-8;
  config.weight_decay = 0.01;
  config.clip_norm = golden.clip_norm;
  if (precision == Precision::kFloat16) config.loss_scale = "dynamic";
  config.init = WeightInit::kStream;
  config.batches = Batches::kFixed;
  config.weights = golden.folder;
  return config;
}

}  // namespace laptime
