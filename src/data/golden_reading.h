// What golden files and folders with golden values are both read with. Errors name the file and the field or tensor.
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

// The document that the file keeps under "laptime" in its metadata, and how errors name the place.
Json golden_metadata(const SafetensorsFile& file);
std::string golden_metadata_place(const SafetensorsFile& file);

std::vector<double> numbers_of(const JsonField& field, int64_t count);
TorchError torch_error_of(const JsonField& distances);
std::map<std::string, std::string> dtypes_of(const JsonField& field);

// Error unless the run of the case is valid.
void check_run(const GoldenCase& golden);

// The stored tensor; error unless it is there with this shape.
const StoredTensor& tensor_with(const GoldenCase& golden, const std::string& name, const std::vector<int64_t>& shape);

// What compared tensors other than the logits are: gradients, and weights after the first and the last step. Each is
// the start of keys, "grad/".
std::vector<std::string> groups_of(const GoldenCase& golden);

double norm_of(const std::vector<double>& values);

// Adds a compared tensor, with the norm of what is compared of it.
void note_key(GoldenCase& golden, const std::string& key, double norm);

}  // namespace laptime
