// Reads the parts that golden files and folders with golden values share.
#include "data/golden_reading.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/words.h"
#include "model/validate.h"

namespace laptime {

Json golden_metadata(const SafetensorsFile& file) {
  constexpr int kMaxDepth = 8;
  constexpr size_t kLongest = 16'000'000;
  const auto found = file.metadata().find("laptime");
  if (found == file.metadata().end()) {
    throw Error::format(
        "{} has no metadata 'laptime', so it is not a file of stored PyTorch values; give one, such as those in "
        "tests/golden",
        file.text());
  }
  const std::string where = golden_metadata_place(file);
  if (found->second.size() > kLongest) {
    throw Error::format("{} has {} bytes; at most {} are allowed; regenerate the file (tests/golden/README.md)", where,
                        found->second.size(), kLongest);
  }
  return parse_json(found->second, where, kMaxDepth);
}

std::string golden_metadata_place(const SafetensorsFile& file) { return file.text() + ": metadata"; }

std::vector<double> numbers_of(const JsonField& field, int64_t count) {
  std::vector<double> numbers;
  for (const JsonField& element : field.elements()) numbers.push_back(element.number());
  if (std::ssize(numbers) != count) field.fail(fmt::format("an array of {} numbers", count));
  return numbers;
}

TorchError torch_error_of(const JsonField& distances) {
  TorchError error;
  for (const auto& [key, value] : distances.members()) {
    const double distance = value.number();
    if (distance < 0) value.fail("a distance");
    if (key == "losses") {
      error.losses = distance;
    } else {
      error.tensors.emplace(key, distance);
    }
  }
  return error;
}

std::map<std::string, std::string> dtypes_of(const JsonField& field) {
  std::map<std::string, std::string> dtypes;
  for (const auto& [name, dtype] : field.members()) dtypes.emplace(name, dtype.text());
  return dtypes;
}

void check_run(const GoldenCase& golden) {
  try {
    validate(run_config_of(golden, Precision::kFloat32));
  } catch (const Error& error) {
    throw Error::format("{}: {}", golden_metadata_place(*golden.file), error.what());
  }
}

const StoredTensor& tensor_with(const GoldenCase& golden, const std::string& name, const std::vector<int64_t>& shape) {
  const StoredTensor& tensor = golden.file->tensor(name);
  if (!std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end())) {
    throw Error::format(
        "{}: tensor '{}' has shape {}, but the model needs [{}]; regenerate the file (tests/golden/README.md)",
        golden.file->text(), name, tensor.shape.text(), joined(shape, ", "));
  }
  return tensor;
}

std::vector<std::string> groups_of(const GoldenCase& golden) {
  std::vector<std::string> groups{"grad/", "after1/"};
  if (golden.steps > 1) groups.push_back(fmt::format("after{}/", golden.steps));
  return groups;
}

double norm_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

void note_key(GoldenCase& golden, const std::string& key, double norm) {
  golden.keys.push_back(key);
  golden.truth_norm[key] = norm;
  double& largest = golden.largest_norm[std::string(split_key(key).group)];
  largest = std::max(largest, norm);
}

}  // namespace laptime
