// Reading the folder of a model of the library transformers, with the values that PyTorch computed for it.
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/json_field.h"
#include "base/words.h"
#include "data/golden.h"
#include "model/config_json.h"
#include "model/library_layout.h"
#include "model/named_model.h"
#include "model/parameters.h"
#include "model/validate.h"

namespace laptime {
namespace {

constexpr int kMaxDepth = 8;
constexpr int64_t kMostSteps = 1'000'000;

std::vector<double> losses_of(const JsonField& field, int64_t steps) {
  std::vector<double> losses;
  for (const JsonField& element : field.elements()) losses.push_back(element.number());
  if (std::ssize(losses) != steps) field.fail(fmt::format("an array of {} numbers", steps));
  return losses;
}

PrecisionValues values_of(const JsonField& metadata, const std::string& precision, int64_t steps) {
  PrecisionValues values{
      .losses = losses_of(metadata.at("losses_" + precision), steps), .torch_error = {}, .eager = {}};
  for (const auto& [key, value] : metadata.at("torch_error").at(precision).members()) {
    if (key == "losses") {
      values.torch_error.losses = value.number();
    } else {
      // The library names the one tensor without a name "logits".
      values.torch_error.tensors.emplace(key, value.number());
    }
  }
  return values;
}

void read_metadata(const JsonField& metadata, GoldenCase& golden) {
  if (const std::string optimizer = metadata.at("optimizer").text(); optimizer != "torch")
    metadata.at("optimizer").fail("torch");
  golden.optimizer = Optimizer::kTorch;
  golden.model.batch_size = metadata.at("batch_size").integer(1);
  golden.model.context_length = metadata.at("context_length").integer(1);
  golden.seed = metadata.at("seed").integer(0);
  golden.steps = metadata.at("steps").integer(1, kMostSteps);
  golden.losses = losses_of(metadata.at("losses"), golden.steps);
  golden.float32 = values_of(metadata, "float32", golden.steps);
  golden.bfloat16 = values_of(metadata, "bfloat16", golden.steps);
  for (const auto& [module, dtype] : metadata.at("autocast_dtypes").members())
    golden.autocast_dtypes.emplace(module, dtype.text());
  for (const auto& [tensor, ranges] : metadata.at("undetermined").members()) {
    for (const JsonField& range : ranges.elements()) {
      const std::vector<JsonField> ends = range.elements();
      if (ends.size() != 2) range.fail("an array of two numbers");
      golden.undetermined[tensor].push_back({ends[0].integer(0), ends[1].integer(0)});
    }
  }
}

void add_key(GoldenCase& golden, const std::string& key, const std::vector<int64_t>& shape) {
  const StoredTensor& tensor = golden.file->tensor(key);
  if (!std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end())) {
    throw Error::format("{}: tensor '{}' has shape {}, the model needs [{}]; write the file again", golden.file->text(),
                        key, tensor.shape.text(), joined(shape, ", "));
  }
  std::vector<double> values = golden.file->read<double>(tensor);
  double all = 0;
  for (const double value : values) all += value * value;
  const GoldenKey parts = split_key(key);
  const auto ranges = golden.undetermined.find(std::string(parts.name));
  if (parts.group.starts_with("after") && ranges != golden.undetermined.end()) {
    for (const auto& [from, to] : ranges->second) {
      if (from > to || to > std::ssize(values))
        throw Error::format(
            "{}: metadata, 'undetermined' of '{}': [{}, {}) is no range of {} elements; write the file "
            "again",
            golden.file->text(), parts.name, from, to, values.size());
      std::fill(values.begin() + from, values.begin() + to, 0.0);
    }
  }
  double compared = 0;
  for (const double value : values) compared += value * value;
  golden.keys.push_back(key);
  golden.norms[key] = {.norm = std::sqrt(all), .shape = shape};
  golden.truth_norm[key] = std::sqrt(compared);
  double& largest = golden.largest_norm[std::string(parts.group)];
  largest = std::max(largest, std::sqrt(compared));
}

void read_tensors(GoldenCase& golden) {
  const ModelConfig& model = golden.model;
  for (const char* name : {"tokens", "targets"}) {
    const StoredTensor& tensor = golden.file->tensor(name);
    if (tensor.shape != Shape({model.batch_size, model.context_length})) {
      throw Error::format("{}: tensor '{}' has shape {}, the metadata say [{}, {}]; write the file again",
                          golden.file->text(), name, tensor.shape.text(), model.batch_size, model.context_length);
    }
    for (const int64_t id : golden.file->read<int64_t>(tensor)) {
      if (id < 0 || id >= model.vocab_size)
        throw Error::format("{}: tensor '{}' has {} in it, outside a vocabulary of {}; write the file again",
                            golden.file->text(), name, id, model.vocab_size);
    }
  }
  std::vector<LibraryPlace> places;
  for (const ParameterSpec& parameter : parameter_list(model)) {
    LibraryPlace place = library_place(model, parameter).value();
    if (std::ranges::find(places, place.tensor, &LibraryPlace::tensor) == places.end())
      places.push_back(std::move(place));
  }
  add_key(golden, "logits", {model.batch_size, model.context_length, model.vocab_size});
  std::vector<std::string> groups{"grad/", "after1/"};
  if (golden.steps > 1) groups.push_back(fmt::format("after{}/", golden.steps));
  for (const std::string& group : groups) {
    for (const LibraryPlace& place : places) add_key(golden, group + place.tensor, place.shape);
  }
}

}  // namespace

GoldenCase read_golden_folder(const std::string& folder) {
  const std::filesystem::path values = std::filesystem::path(folder) / kValuesFile;
  if (!std::filesystem::exists(values)) {
    throw Error::format(
        "{} has no {}, so there is nothing to compare with; name a golden file, or the folder of a model "
        "with its values",
        quote(folder), kValuesFile);
  }
  GoldenCase golden;
  const std::string with_slash = folder.ends_with('/') ? folder : folder + "/";
  golden.model = named_model(with_slash).value().model;
  golden.folder = folder;
  golden.file = std::make_shared<SafetensorsFile>(values.string());
  const auto found = golden.file->metadata().find("laptime");
  if (found == golden.file->metadata().end())
    throw Error::format("{} has no metadata 'laptime'; name a folder with golden values", golden.file->text());
  const std::string where = golden.file->text() + ": metadata";
  const Json document = parse_json(found->second, where, kMaxDepth);
  const JsonField metadata(document, where);
  read_metadata(metadata, golden);
  const std::filesystem::path older = std::filesystem::path(folder) / "config_v4.json";
  if (std::filesystem::exists(older)) {
    ModelConfig model = read_model_config(older.string());
    model.name = golden.model.name;
    model.batch_size = golden.model.batch_size;
    model.context_length = golden.model.context_length;
    golden.has_same_older_config = model == golden.model;
  }
  try {
    validate(run_config_of(golden, Precision::kFloat32));
  } catch (const Error& error) {
    throw Error::format("{}: {}", where, error.what());
  }
  const int64_t parameters = summarize(golden.model).parameter_count;
  if (metadata.at("parameters").integer(0) != parameters) {
    throw Error::format("{}: {} parameters, but config.json describes {}; write the file again", where,
                        metadata.at("parameters").integer(0), parameters);
  }
  read_tensors(golden);
  return golden;
}

}  // namespace laptime
