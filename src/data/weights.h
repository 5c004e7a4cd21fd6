// StartingWeights: the initial weights of a run, generated from its seed or read from safetensors files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "data/weight_files.h"
#include "model/library_layout.h"
#include "model/parameters.h"

namespace laptime {

class StartingWeights {
 public:
  // Throws Error if the files of `config.weights` (weight_file_paths) lack a parameter of the model, have it in another
  // shape or as integers, contain other tensors, or contain a tied head that differs from the embedding. Tensors have
  // our names, optionally with the prefix `weight/`, or those of the transformers library (library_layout.h). A
  // position table may have more rows than the step uses.
  explicit StartingWeights(const RunConfig& config);

  // Fills in elements [begin, begin + out.size()) of a parameter of `config.step_model()`, row-major. May be called
  // from several threads at once.
  void fill(const ParameterSpec& parameter, int64_t begin, std::span<float> out) const;

 private:
  void add(const ParameterSpec& parameter, LibraryPlace place, const std::vector<std::string>& names);
  // Throws Error if the tensors with these names differ.
  void require_same(const std::string& again, const std::string& tensor) const;
  void refuse_others(const ModelConfig& model, const std::vector<ParameterSpec>& parameters,
                     const std::string& prefix) const;

  WeightInit init_;
  int64_t seed_;
  std::optional<WeightFiles> files_;
  std::map<std::string, LibraryPlace> places_;  // keyed by parameter; `tensor` is the name in the file
};

}  // namespace laptime
