// Reads the folder of a transformers model, with the values that PyTorch computed for it.
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/words.h"
#include "data/golden_reading.h"
#include "model/config_json.h"
#include "model/library_layout.h"
#include "model/named_model.h"
#include "model/parameters.h"

namespace laptime {
namespace {

PrecisionValues values_in_folder(const JsonField& metadata, const std::string& precision, int64_t steps) {
  return {.losses = numbers_of(metadata.at("losses_" + precision), steps),
          .torch_error = torch_error_of(metadata.at("torch_error").at(precision)),
          .eager = {}};
}

void read_folder_metadata(const JsonField& metadata, GoldenCase& golden) {
  if (const std::string optimizer = metadata.at("optimizer").text(); optimizer != "torch")
    metadata.at("optimizer").fail("torch");
  golden.optimizer = Optimizer::kTorch;
  golden.model.batch_size = metadata.at("batch_size").integer(1);
  golden.model.context_length = metadata.at("context_length").integer(1);
  golden.seed = metadata.at("seed").integer(0);
  golden.steps = metadata.at("steps").integer(1, kMostGoldenSteps);
  golden.losses = numbers_of(metadata.at("losses"), golden.steps);
  golden.float32 = values_in_folder(metadata, "float32", golden.steps);
  golden.bfloat16 = values_in_folder(metadata, "bfloat16", golden.steps);
  golden.autocast_dtypes = dtypes_of(metadata.at("autocast_dtypes"));
  for (const auto& [tensor, ranges] : metadata.at("undetermined").members()) {
    for (const JsonField& range : ranges.elements()) {
      const std::vector<JsonField> ends = range.elements();
      if (ends.size() != 2) range.fail("an array of two numbers");
      golden.undetermined[tensor].push_back({ends[0].integer(0), ends[1].integer(0)});
    }
  }
}

void add_folder_key(GoldenCase& golden, const std::string& key, const std::vector<int64_t>& shape) {
  std::vector<double> values = golden.file->read<double>(tensor_with(golden, key, shape));
  golden.norms[key] = {.norm = norm_of(values), .shape = shape};
  const GoldenKey parts = split_key(key);
  const auto ranges = golden.undetermined.find(std::string(parts.name));
  if (parts.group.starts_with("after") && ranges != golden.undetermined.end()) {
    for (const auto& [from, to] : ranges->second) {
      if (from > to || to > std::ssize(values))
        throw Error::format(
            "{}, 'undetermined' of '{}': [{}, {}) is not a range within {} elements; regenerate the folder "
            "(tests/golden_hf/README.md)",
            golden_metadata_place(*golden.file), parts.name, from, to, values.size());
      std::fill(values.begin() + from, values.begin() + to, 0.0);
    }
  }
  note_key(golden, key, norm_of(values));
}

void read_folder_tensors(GoldenCase& golden) {
  const ModelConfig& model = golden.model;
  for (const char* name : {"tokens", "targets"}) {
    const StoredTensor& tensor = golden.file->tensor(name);
    if (tensor.shape != Shape({model.batch_size, model.context_length})) {
      throw Error::format(
          "{}: tensor '{}' has shape {}, but the metadata says [{}, {}]; regenerate the folder "
          "(tests/golden_hf/README.md)",
          golden.file->text(), name, tensor.shape.text(), model.batch_size, model.context_length);
    }
    for (const int64_t id : golden.file->read<int64_t>(tensor)) {
      if (id < 0 || id >= model.vocab_size)
        throw Error::format(
            "{}: tensor '{}' contains {}, which is outside the vocabulary of {}; regenerate the folder "
            "(tests/golden_hf/README.md)",
            golden.file->text(), name, id, model.vocab_size);
    }
  }
  std::vector<LibraryPlace> places;
  for (const ParameterSpec& parameter : parameter_list(model)) {
    LibraryPlace place = library_place(model, parameter).value();
    if (std::ranges::find(places, place.tensor, &LibraryPlace::tensor) == places.end())
      places.push_back(std::move(place));
  }
  add_folder_key(golden, "logits", {model.batch_size, model.context_length, model.vocab_size});
  for (const std::string& group : groups_of(golden)) {
    for (const LibraryPlace& place : places) add_folder_key(golden, group + place.tensor, place.shape);
  }
}

}  // namespace

GoldenCase read_golden_folder(const std::string& folder) {
  const std::filesystem::path values = std::filesystem::path(folder) / kValuesFile;
  if (!std::filesystem::exists(values)) {
    throw Error::format(
        "{} has no {}, so there is nothing to compare with; give a file of stored PyTorch values, or the folder of a "
        "model that has them",
        quote(folder), kValuesFile);
  }
  GoldenCase golden;
  const std::string with_slash = folder.ends_with('/') ? folder : folder + "/";
  golden.model = named_model(with_slash).value().model;
  golden.folder = folder;
  golden.file = std::make_shared<SafetensorsFile>(values.string());
  const Json document = golden_metadata(*golden.file);
  const std::string where = golden_metadata_place(*golden.file);
  const JsonField metadata(document, where);
  read_folder_metadata(metadata, golden);
  const std::filesystem::path older = std::filesystem::path(folder) / "config_v4.json";
  if (std::filesystem::exists(older)) {
    ModelConfig model = read_model_config(older.string());
    model.name = golden.model.name;
    model.batch_size = golden.model.batch_size;
    model.context_length = golden.model.context_length;
    golden.has_same_older_config = model == golden.model;
  }
  check_run(golden);
  const int64_t parameters = summarize(golden.model).parameter_count;
  if (metadata.at("parameters").integer(0) != parameters) {
    throw Error::format(
        "{}: {} parameters, but config.json describes {}; regenerate the folder (tests/golden_hf/README.md)", where,
        metadata.at("parameters").integer(0), parameters);
  }
  read_folder_tensors(golden);
  return golden;
}

}  // namespace laptime
