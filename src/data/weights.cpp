// Matches the tensors of a weights file with the parameters of a model.
#include "data/weights.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "data/init.h"

namespace laptime {
namespace {

constexpr std::string_view kPrefix = "weight/";

bool has_prefix(const SafetensorsFile& file) {
  const auto& tensors = file.tensors();
  return std::any_of(tensors.begin(), tensors.end(),
                     [](const auto& tensor) { return tensor.name.starts_with(kPrefix); });
}

// A table may have extra rows, because the first rows of a row-major tensor are contiguous.
bool fits(const StoredTensor& tensor, const ParameterSpec& parameter) {
  if (tensor.shape.size() != parameter.shape.size()) return false;
  for (int axis = 0; axis < tensor.shape.rank(); ++axis) {
    const int64_t wanted = parameter.shape[static_cast<size_t>(axis)];
    const bool may_be_longer = axis == 0 && parameter.rows_may_be_cropped;
    if (tensor.shape[axis] != wanted && !(may_be_longer && tensor.shape[axis] > wanted)) return false;
  }
  return true;
}

void check_parameter(const SafetensorsFile& file, const std::string& prefix, const ParameterSpec& parameter) {
  const StoredTensor* const tensor = file.find(prefix + parameter.name);
  if (tensor == nullptr) {
    throw Error::format(
        "{} has no tensor '{}{}', which the model needs; give the options of the model it was made for "
        "(--edition, --model, --weight-tie, --bias), or another file",
        file.text(), prefix, parameter.name);
  }
  if (!fits(*tensor, parameter)) {
    throw Error::format(
        "{}: tensor '{}' has shape {}, the model needs [{}]; give the options of the model it was made "
        "for, or another file",
        file.text(), tensor->name, tensor->shape.text(), joined(parameter.shape, ", "));
  }
}

// A tensor that the model does not use suggests that the options describe another model.
void check_no_others(const SafetensorsFile& file, const std::string& prefix,
                     const std::vector<ParameterSpec>& parameters) {
  std::set<std::string_view> known;
  for (const ParameterSpec& parameter : parameters) {
    known.insert(parameter.name);
    if (!parameter.stored_again_as.empty()) known.insert(parameter.stored_again_as);
  }
  for (const StoredTensor& tensor : file.tensors()) {
    if (!tensor.name.starts_with(prefix)) continue;
    const std::string_view name = std::string_view(tensor.name).substr(prefix.size());
    if (!known.contains(name)) {
      throw Error::format(
          "{}: the model has no parameter for tensor {}; give the options of the model it was made for, "
          "or another file",
          file.text(), quote(tensor.name));
    }
  }
}

}  // namespace

StartingWeights::StartingWeights(const RunConfig& config) : init_(config.init), seed_(config.seed) {
  if (config.weights.empty()) return;
  file_.emplace(config.weights);
  if (has_prefix(*file_)) prefix_ = kPrefix;
  const std::vector<ParameterSpec> parameters = parameter_list(config.step_model());
  for (const ParameterSpec& parameter : parameters) check_parameter(*file_, prefix_, parameter);
  check_no_others(*file_, prefix_, parameters);
}

void StartingWeights::fill(const ParameterSpec& parameter, int64_t begin, std::span<float> out) const {
  if (!file_) return fill_parameter(parameter, init_, seed_, begin, out);
  file_->read(file_->tensor(prefix_ + parameter.name), begin, out);
}

}  // namespace laptime
