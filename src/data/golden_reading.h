// Helpers for reading golden files and folders with golden values. Errors name the file and the field or tensor.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/json_field.h"
#include "data/golden.h"

namespace laptime {

inline constexpr int64_t kMostGoldenSteps = 1'000'000;

// The document stored under "laptime" in the file's metadata. golden_metadata_place names this place in errors.
Json golden_metadata(const SafetensorsFile& file);
std::string golden_metadata_place(const SafetensorsFile& file);

std::vector<double> numbers_of(const JsonField& field, int64_t count);
TorchError torch_error_of(const JsonField& distances);
std::map<std::string, std::string> dtypes_of(const JsonField& field);

// Throws Error unless validate() accepts the run of the case.
void check_run(const GoldenCase& golden);

// The stored tensor; throws Error unless it exists with this shape.
const StoredTensor& tensor_with(const GoldenCase& golden, const std::string& name, const std::vector<int64_t>& shape);

// The key prefixes of all compared tensors except the logits: one for gradients ("grad/"), one for weights after the
// first step, and, if there are several steps, one for weights after the last step.
std::vector<std::string> groups_of(const GoldenCase& golden);

double norm_of(const std::vector<double>& values);

// Adds the key of a tensor to compare. `norm` is the norm of the values that are compared.
void note_key(GoldenCase& golden, const std::string& key, double norm);

}  // namespace laptime
