// A golden file: a small training run and the values that PyTorch computed for it (format: tests/golden/README.md).
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/model_config.h"
#include "config/run_config.h"
#include "data/safetensors.h"

namespace laptime {

// A storage that eager PyTorch keeps for backward.
struct SavedStorage {
  int64_t bytes = 0;
  std::string dtype;           // dtype of the tensor that refers to it: "float32"
  std::vector<int64_t> shape;  // shape of the same tensor
};

// The ops that eager PyTorch runs (not views), and the storages that it keeps for backward (not parameters).
struct EagerTrace {
  std::vector<std::string> forward_ops;  // "pow float32 [3, 18, 40]": name, dtype and shape of the first output
  std::vector<std::string> backward_ops;
  int64_t saved_bytes = 0;          // counts each storage once
  std::vector<SavedStorage> saved;  // largest first
};

// Peak bytes in addition to parameters, batch and RoPE tables.
struct EagerPeaks {
  int64_t inference = 0;
  int64_t forward_backward = 0;
};

// Error of PyTorch's own run in one precision relative to its float64 run; empty if the truth is float32.
struct TorchError {
  std::map<std::string, double> tensors;  // keyed like "grad/ln_final.weight"
  std::optional<double> losses;           // largest relative error of a loss
};

struct StoredNorm {
  double norm = 0;
  std::vector<int64_t> shape;

  int64_t numel() const;  // throws Error if the number does not fit in 63 bits
};

// The results of a run in one precision.
struct PrecisionValues {
  std::vector<double> losses;  // loss before each of the `steps` updates
  TorchError torch_error;
  EagerTrace eager;
};

// A run under float16 autocast, with a dynamic loss scale.
struct Float16Values {
  PrecisionValues values;
  std::map<std::string, std::string> autocast_dtypes;
  std::vector<double> loss_scales;  // one per step
};

struct GoldenCase {
  ModelConfig model;
  Optimizer optimizer = Optimizer::k2025;
  std::optional<double> clip_norm;
  int64_t steps = 0;
  int64_t seed = 0;
  bool exact = true;           // the truth is float64; otherwise float32
  std::vector<double> losses;  // in the precision of the truth
  PrecisionValues float32;
  PrecisionValues bfloat16;                            // autocast with CUDA's op lists
  std::map<std::string, std::string> autocast_dtypes;  // for intermediate values: "layers.0.attn.scores" -> "bfloat16"
  std::optional<Float16Values> float16;                // none if the file has no run in float16
  std::optional<double> grad_norm;                     // before clipping
  std::optional<EagerPeaks> eager_float32_peaks;

  // "logits", "grad/NAME", "after1/NAME", "after<steps>/NAME": every compared tensor, in model order.
  std::vector<std::string> keys;
  std::map<std::string, StoredNorm> norms;   // by key: norm of the whole tensor, as stated in the file
  std::map<std::string, double> truth_norm;  // by key: norm of the stored values, which are samples or the whole tensor
  std::map<std::string, double> largest_norm;   // by group: the largest truth_norm
  std::shared_ptr<const SafetensorsFile> file;  // kept open so that tensors can be read later

  // The remaining fields are only for the folder of a transformers model, whose tensors have the library's names and
  // layouts.
  std::string folder;  // folder with the model's weights; empty for a golden file
  // By tensor: ranges [from, to) of elements whose gradient consists only of rounding errors, so that AdamW may move
  // them arbitrarily.
  std::map<std::string, std::vector<std::array<int64_t, 2>>> undetermined;
  bool has_same_older_config = true;  // config_v4.json, if the folder has it, describes the same model

  // The precisions for which the file has values: float32, bfloat16 and possibly float16.
  std::vector<Precision> precisions() const;
  // `precision` must be one of precisions() (LAPTIME_CHECK), or tf32, which uses the values of float32.
  const PrecisionValues& values(Precision precision) const;
  // `precision` must be bfloat16 or float16 (LAPTIME_CHECK).
  const std::map<std::string, std::string>& dtypes(Precision precision) const;
};

// Reads and checks a file: every field must have the right type, and every compared tensor must exist with the shape
// that its model requires. Throws Error that names the file and the field or tensor. `path` may also be the folder of a
// transformers model with a values file (kValuesFile), or the config.json in it.
GoldenCase read_golden(const std::string& path);
GoldenCase read_golden_folder(const std::string& folder);
inline constexpr std::string_view kValuesFile = "values.safetensors";

// "grad/ln_final.weight" -> group "grad", name "ln_final.weight"; "logits" is a group with a single unnamed tensor.
struct GoldenKey {
  std::string_view group;
  std::string_view name;
};
GoldenKey split_key(std::string_view key);

// The stored values of a key. `positions` are flat indices into the whole tensor; empty if all elements are stored.
struct GoldenTensor {
  std::vector<int64_t> positions;
  std::vector<double> values;
};
GoldenTensor stored_tensor(const GoldenCase& golden, const std::string& key);

// The run that must reproduce the case: `steps` steps in eager mode on a fixed batch, with the stream weights, or those
// of the folder, and the optimizer settings of the golden values.
RunConfig run_config_of(const GoldenCase& golden, Precision precision);

}  // namespace laptime
