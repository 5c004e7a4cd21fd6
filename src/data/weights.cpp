// Matches the tensors of a weights file with the parameters of a model.
#include "data/weights.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "data/init.h"
#include "model/library_layout.h"

namespace laptime {
namespace {

constexpr std::string_view kPrefix = "weight/";

bool has_prefix(const WeightFiles& files) {
  return std::ranges::any_of(files.tensors(),
                             [](const StoredTensor* tensor) { return tensor->name.starts_with(kPrefix); });
}

// True if the tensor has this shape. A table may have extra rows, because the first rows of a row-major tensor are
// contiguous.
bool fits(const StoredTensor& tensor, const std::vector<int64_t>& shape, bool rows_may_be_cropped) {
  if (tensor.shape.size() != shape.size()) return false;
  for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
    const int64_t wanted = shape[static_cast<size_t>(axis)];
    const bool may_be_longer = axis == 0 && rows_may_be_cropped;
    if (tensor.shape[axis] != wanted && !(may_be_longer && tensor.shape[axis] > wanted)) return false;
  }
  return true;
}

}  // namespace

StartingWeights::StartingWeights(const RunConfig& config) : init_(config.init), seed_(config.seed) {
  if (config.weights.empty()) return;
  files_.emplace(config.weights);
  const ModelConfig model = config.step_model();
  const std::vector<ParameterSpec> parameters = parameter_list(model);
  const std::string prefix(has_prefix(*files_) ? kPrefix : "");
  const bool is_ours = files_->has(prefix + parameters.front().name);
  for (const ParameterSpec& parameter : parameters) {
    const std::optional<LibraryPlace> library = is_ours ? std::nullopt : library_place(model, parameter);
    add(parameter, library ? *library : LibraryPlace{.tensor = prefix + parameter.name, .shape = parameter.shape},
        library ? names_in_files(model, library->tensor) : std::vector{prefix + parameter.name});
  }
  refuse_others(model, parameters, prefix);
}

// Finds the tensor of a parameter, which may have any of `names`, and checks its shape and type.
void StartingWeights::add(const ParameterSpec& parameter, LibraryPlace place, const std::vector<std::string>& names) {
  const auto found = std::ranges::find_if(names, [&](const std::string& name) { return files_->has(name); });
  if (found == names.end()) {
    throw Error::format(
        "{} has no tensor '{}', which the model needs; give the options of the model for which the weights were made "
        "(--edition, --model, --weight-tie, --bias), or another file",
        files_->text(), names.front());
  }
  place.tensor = *found;
  const StoredTensor& tensor = files_->tensor(place.tensor);
  if (!fits(tensor, place.shape, parameter.rows_may_be_cropped)) {
    throw Error::format(
        "{}: tensor '{}' has shape {}, but the model needs [{}]; give the options of the model for which the weights "
        "were made, or another file",
        files_->text_of(tensor.name), tensor.name, tensor.shape.text(), joined(place.shape, ", "));
  }
  if (tensor.type >= StoredType::kI64) {
    throw Error::format(
        "{}: tensor '{}' contains integers ({}); save the weights again as float32, bfloat16 or float16",
        files_->text_of(tensor.name), tensor.name, name_of(tensor.type));
  }
  places_.emplace(parameter.name, std::move(place));
}

// Throws Error for a tensor that the model does not use, because the options then probably describe another model.
void StartingWeights::refuse_others(const ModelConfig& model, const std::vector<ParameterSpec>& parameters,
                                    const std::string& prefix) const {
  std::set<std::string, std::less<>> known;
  for (const auto& [name, place] : places_) known.insert(place.tensor);
  for (const ParameterSpec& parameter : parameters) {
    if (parameter.stored_again_as.empty()) continue;
    ParameterSpec again = parameter;
    again.name = parameter.stored_again_as;
    std::vector<std::string> names{prefix + again.name};
    if (const std::optional<LibraryPlace> place = library_place(model, again)) names.push_back(place->tensor);
    for (const std::string& name : names) {
      known.insert(name);
      if (files_->has(name)) require_same(name, places_.at(parameter.name).tensor);
    }
  }
  for (const StoredTensor* tensor : files_->tensors()) {
    if (!tensor->name.starts_with(prefix) || known.contains(tensor->name)) continue;
    if (library_place(model, parameters.front()) && is_stored_buffer(tensor->name)) continue;
    throw Error::format(
        "{}: the model has no parameter for tensor {}; give the options of the model for which the weights were made, "
        "or another file",
        files_->text_of(tensor->name), quote(tensor->name));
  }
}

// If the files also store a tied head, it must equal the embedding, because transformers would use the stored head.
void StartingWeights::require_same(const std::string& again, const std::string& tensor) const {
  constexpr int64_t kRun = 1 << 20;  // elements
  const int64_t size = files_->tensor(tensor).shape.product();
  bool is_same = files_->tensor(again).shape == files_->tensor(tensor).shape;
  std::vector<float> one;
  std::vector<float> other;
  for (int64_t at = 0; is_same && at < size; at += kRun) {
    one.resize(static_cast<size_t>(std::min(kRun, size - at)));
    other.resize(one.size());
    files_->read(tensor, at, one);
    files_->read(again, at, other);
    is_same = std::memcmp(one.data(), other.data(), one.size() * sizeof(float)) == 0;
  }
  if (is_same) return;
  throw Error::format(
      "{}: tensor '{}' differs from '{}', but the model ties them; give --weight-tie false, set tie_word_embeddings in "
      "config.json to false, or "
      "give another file",
      files_->text_of(again), again, tensor);
}

void StartingWeights::fill(const ParameterSpec& parameter, int64_t begin, std::span<float> out) const {
  if (!files_) return fill_parameter(parameter, init_, seed_, begin, out);
  const LibraryPlace& place = places_.at(parameter.name);
  if (!place.is_transposed && (place.group == 0 || place.group == place.stride))
    return files_->read(place.tensor, begin, out);
  const int64_t columns = parameter.shape.size() == 2 ? parameter.shape[1] : 1;
  const auto end = begin + static_cast<int64_t>(out.size());
  const auto element = [&](int64_t index) { return out.data() + (index - begin); };
  if (!place.is_transposed) {
    for (int64_t at = begin; at < end;) {  // runs of consecutive stored rows
      const int64_t row = at / columns;
      const int64_t run_end = std::min(end, (row / place.group + 1) * place.group * columns);
      const int64_t stored = place.row_of(row) * columns + at % columns;
      files_->read(place.tensor, stored, std::span(element(at), static_cast<size_t>(run_end - at)));
      at = run_end;
    }
    return;
  }
  // Column by column; each column is a contiguous part of a stored row.
  const int64_t stored_columns = place.shape[1];
  const int64_t first_row = begin / columns;
  const int64_t last_row = (end - 1) / columns;
  std::vector<float> run(static_cast<size_t>(last_row - first_row + 1));
  for (int64_t column = 0; column < columns; ++column) {
    files_->read(place.tensor, column * stored_columns + place.row_of(first_row), run);
    for (int64_t row = first_row; row <= last_row; ++row) {
      const int64_t index = row * columns + column;
      if (index >= begin && index < end) *element(index) = run[static_cast<size_t>(row - first_row)];
    }
  }
}

}  // namespace laptime
