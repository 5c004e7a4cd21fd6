// Checks that a golden file is consistent with itself, so that a damaged file is not mistaken for the truth.
#include <algorithm>
#include <cmath>
#include <utility>

#include "data/golden_compare.h"
#include "data/init.h"
#include "data/stream.h"
#include "model/parameters.h"

namespace laptime {
namespace {

// Tolerances for sums of the same numbers in a different order: in float64, and in float32.
constexpr double kExactSum = 1e-9;
constexpr double kFloat32Sum = 1e-5;

class FileCheck {
 public:
  explicit FileCheck(const GoldenCase& golden) : golden_(golden), file_(*golden.file) {}

  std::vector<Comparison> run() {
    check_inputs();
    for (const std::string& key : golden_.keys) check_tensor(key);
    for (const Precision precision : golden_.precisions()) check_losses(precision);
    check_truth();
    for (const Precision precision : golden_.precisions()) check_saved_bytes(precision);
    check_grad_norm();
    return std::move(results_);
  }

 private:
  void add(const std::string& what, double distance, double allowed, std::string note = {}) {
    results_.push_back({.what = "file: " + what,
                        .distance = distance,
                        .allowed = allowed,
                        .pass = distance <= allowed,
                        .skipped = false,
                        .note = std::move(note)});
  }

  // Adds a comparison whose distance is the share of values that differ; passes only if no value differs.
  template <class T>
  void add_equal(const std::string& what, const std::vector<T>& stored, const std::vector<T>& expected) {
    size_t different = 0;
    for (size_t i = 0; i < stored.size(); ++i) different += stored[i] == expected[i] ? 0 : 1;
    add(what, static_cast<double>(different) / static_cast<double>(std::max<size_t>(stored.size(), 1)), 0,
        fmt::format("{} of {} values differ from the seeded stream", different, stored.size()));
  }

  void check_inputs() {
    const auto seed = static_cast<uint64_t>(golden_.seed);
    for (const ParameterSpec& parameter : parameter_list(golden_.model)) {
      const StoredTensor* const tensor = file_.find("weight/" + parameter.name);
      if (tensor == nullptr) continue;
      const auto stored = file_.read<float>(*tensor);
      std::vector<float> expected(stored.size());
      fill_parameter(parameter, WeightInit::kStream, golden_.seed, 0, expected);
      add_equal(tensor->name, stored, expected);
    }
    for (const char* name : {"tokens", "targets"}) {
      const StoredTensor* const tensor = file_.find(name);
      if (tensor == nullptr) continue;
      const auto stored = file_.read<int64_t>(*tensor);
      std::vector<int64_t> expected(stored.size());
      fill_integers(Stream(seed, name), 0, expected, golden_.model.vocab_size);
      add_equal(name, stored, expected);
    }
  }

  void check_tensor(const std::string& key) {
    const StoredNorm& stated = golden_.norms.at(key);
    if (file_.find(key) != nullptr) {
      const double norm = golden_.truth_norm.at(key);
      const double difference = std::fabs(norm - stated.norm);
      add("norm of " + key, difference == 0 ? 0 : difference / std::fabs(stated.norm), sum_tolerance());
      return;
    }
    const std::vector<int64_t> positions = stored_tensor(golden_, key).positions;
    std::vector<int64_t> expected(positions.size());
    const std::string name = "sample/" + std::string(split_key(key).name);
    fill_integers(Stream(static_cast<uint64_t>(golden_.seed), name), 0, expected, stated.numel());
    add_equal("sample_at/" + key, positions, expected);
  }

  // Checks that PyTorch's own losses pass, and that their error relative to the truth is the one stated in the file.
  void check_losses(Precision precision) {
    const PrecisionValues& values = golden_.values(precision);
    const std::string name(name_of(precision));
    double worst = 0;
    for (int64_t step = 0; step < golden_.steps; ++step) {
      const Comparison result = compare_loss(golden_, precision, step, values.losses[static_cast<size_t>(step)]);
      add(fmt::format("{} {}", name, result.what), result.distance, result.allowed);
      worst = std::max(worst, result.distance);
    }
    if (!values.torch_error.losses) return;
    add("error of the " + name + " losses", std::fabs(worst - *values.torch_error.losses), kExactSum * worst,
        fmt::format("{} computed, {} stated", worst, *values.torch_error.losses));
  }

  void check_truth() {
    if (golden_.exact) return;
    add("float32 losses equal the reference losses", golden_.losses == golden_.float32.losses ? 0 : 1, 0);
  }

  void check_saved_bytes(Precision precision) {
    const EagerTrace& eager = golden_.values(precision).eager;
    double sum = 0;
    for (const SavedStorage& storage : eager.saved) sum += static_cast<double>(storage.bytes);
    const auto stated = static_cast<double>(eager.saved_bytes);
    add(fmt::format("{} saved bytes", name_of(precision)), std::fabs(sum - stated), 0,
        fmt::format("{} listed, {} stated", sum, stated));
  }

  void check_grad_norm() {
    if (!golden_.grad_norm) return;
    double sum = 0;
    for (const auto& [key, stated] : golden_.norms) {
      if (split_key(key).group == "grad") sum += stated.norm * stated.norm;
    }
    add("norm of the gradients", std::fabs(std::sqrt(sum) - *golden_.grad_norm), sum_tolerance() * *golden_.grad_norm);
  }

  double sum_tolerance() const { return golden_.exact ? kExactSum : kFloat32Sum; }

  const GoldenCase& golden_;
  const SafetensorsFile& file_;
  std::vector<Comparison> results_;
};

}  // namespace

std::vector<Comparison> check_golden_file(const GoldenCase& golden) {
  if (golden.folder.empty()) return FileCheck(golden).run();
  return {{.what = "folder: config_v4.json describes the same model as config.json",
           .distance = golden.has_same_older_config ? 0.0 : 1.0,
           .allowed = 0,
           .pass = golden.has_same_older_config,
           .note = {}}};
}

}  // namespace laptime
