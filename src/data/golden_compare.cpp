// The tolerances of a golden file, and the comparisons that apply them.
#include "data/golden_compare.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "model/gpt/editions.h"

namespace laptime {
namespace {

constexpr double kFactor = 2;  // tolerance of losses, logits and gradients, as a multiple of PyTorch's own distance
constexpr double kWeightFactor = 6;   // weights after steps: AdamW's first steps amplify errors of small gradients
constexpr double kLeastShare = 1e-3;  // minimum denominator of a distance, as a share of the group's largest norm
constexpr double kPeakShare = 0.05;
constexpr double kSavedShare = 0.02;  // tolerance of saved bytes where library kernels may save more than they need

// The distance that is always allowed for a precision, however accurate PyTorch itself is.
struct Floors {
  double tensors;
  double weights;  // after the steps
  double losses;
};

Floors floors_of(const GoldenCase& golden, Precision precision) {
  if (precision == Precision::kFloat32) {
    const double tensors = golden.exact ? 2e-6 : 1e-5;
    return {.tensors = tensors, .weights = tensors, .losses = 1e-6};
  }
  // float16 has 1/8 of the rounding errors of bfloat16. tf32 keeps 10 mantissa bits, and tensor cores may truncate the
  // rest: up to 1/4 of bfloat16's rounding errors, but always towards zero, so the errors in a sum accumulate. With
  // any of these types, if rounding flips the sign of a gradient's element, the first step puts that weight two
  // learning rates away from the truth. One such element is visible in a small tensor, so the tolerance of weights is
  // not scaled.
  const double share = precision == Precision::kFloat16 ? 1.0 / 8 : precision == Precision::kTf32 ? 1.0 / 2 : 1;
  const double tensors = golden.exact ? 4e-3 : 2e-2;
  return {.tensors = share * tensors, .weights = tensors, .losses = share * 2e-3};
}

Comparison measured(std::string what, double distance, double allowed, std::string note = {}) {
  return {.what = std::move(what),
          .distance = distance,
          .allowed = allowed,
          .pass = distance <= allowed,  // false if distance is NaN
          .skipped = false,
          .note = std::move(note)};
}

Comparison not_compared(std::string what, std::string note) {
  return {.what = std::move(what), .distance = 0, .allowed = 0, .pass = true, .skipped = true, .note = std::move(note)};
}

double relative(double value, double truth) {
  const double difference = std::fabs(value - truth);
  return difference == 0 ? 0 : difference / std::fabs(truth);
}

Comparison compare_bytes(std::string what, int64_t bytes, int64_t truth, double allowed) {
  return measured(std::move(what), relative(static_cast<double>(bytes), static_cast<double>(truth)), allowed,
                  fmt::format("{} bytes, PyTorch {}", bytes, truth));
}

Comparison compare_peak(const GoldenCase& golden, std::string what, int64_t EagerPeaks::*peak, int64_t bytes) {
  if (!golden.eager_float32_peaks) return not_compared(std::move(what), "not in the file");
  return compare_bytes(std::move(what), bytes, (*golden.eager_float32_peaks).*peak, kPeakShare);
}

// True if a gradient is zero in exact arithmetic, as for k_proj.bias, or for q and k at a context of 1. Its terms then
// cancel, and the computed value consists only of rounding errors.
bool is_rounding_alone(const GoldenCase& golden, const std::string& key) {
  const double share = golden.exact ? 1e-12 : 1e-6;
  return golden.norms.at(key).norm <= share * golden.largest_norm.at("grad");
}

// Returns the largest root mean square of the elements of a gradient.
double largest_element_of_gradients(const GoldenCase& golden) {
  double largest = 0;
  for (const auto& [key, stored] : golden.norms) {
    if (split_key(key).group == "grad")
      largest = std::max(largest, stored.norm / std::sqrt(static_cast<double>(std::max<int64_t>(stored.numel(), 1))));
  }
  return largest;
}

// The norm by which a tensor's distance is divided. In a gradient of one or two elements, the terms may cancel by
// chance, so its distance is divided by a norm that takes the gradients of other tensors into account.
double scale_of(const GoldenCase& golden, const std::string& key) {
  constexpr int64_t kFew = 2;
  const std::string group(split_key(key).group);
  const double largest = golden.largest_norm.at(group);
  const double scale = std::max(golden.truth_norm.at(key), kLeastShare * largest);
  if (group != "grad") return scale;
  if (is_rounding_alone(golden, key)) return largest;
  const int64_t numel = golden.norms.at(key).numel();
  return numel > kFew ? scale
                      : std::max(scale, largest_element_of_gradients(golden) * std::sqrt(static_cast<double>(numel)));
}

double allowed_to(const GoldenCase& golden, Precision precision, const std::string& key) {
  const std::map<std::string, double>& torch_errors = golden.values(precision).torch_error.tensors;
  const auto found = torch_errors.find(key);
  const double torch_error = found == torch_errors.end() ? 0 : found->second;
  const Floors floors = floors_of(golden, precision);
  if (split_key(key).group.starts_with("after")) return kWeightFactor * std::max(torch_error, floors.weights);
  return kFactor * std::max(torch_error, floors.tensors);
}

// For each element of `stored` (the stored values of `key`): true if moved_by_rounding() lists it. All false if the
// key is not a weight after a step, or if the file stores the gradient at other positions.
std::vector<bool> skipped_elements(const GoldenCase& golden, const std::string& key, const GoldenTensor& stored) {
  const size_t count = stored.values.size();
  std::vector<bool> skipped(count, false);
  if (!golden.folder.empty()) {
    const auto ranges = golden.undetermined.find(std::string(split_key(key).name));
    if (!split_key(key).group.starts_with("after") || ranges == golden.undetermined.end()) return skipped;
    for (const auto& [from, to] : ranges->second) std::fill(skipped.begin() + from, skipped.begin() + to, true);
    return skipped;
  }
  const std::string gradient = fmt::format("grad/{}", split_key(key).name);
  if (!split_key(key).group.starts_with("after") || !golden.norms.contains(gradient)) return skipped;
  const auto [positions, truth] = stored_tensor(golden, gradient);
  if (positions != stored.positions || truth.size() != count) return skipped;
  const double tolerance = allowed_to(golden, Precision::kFloat32, gradient) * scale_of(golden, gradient) /
                           std::sqrt(static_cast<double>(count));
  // A zero among larger gradients is exact and not noise, for example in the embedding row of a token that the batch
  // does not contain.
  const bool all = std::all_of(truth.begin(), truth.end(), [tolerance](double g) { return std::fabs(g) <= tolerance; });
  for (size_t i = 0; i < count; ++i) skipped[i] = all || (truth[i] != 0 && std::fabs(truth[i]) <= tolerance);
  return skipped;
}

}  // namespace

Comparison compare_loss(const GoldenCase& golden, Precision precision, int64_t step, double loss) {
  LAPTIME_CHECK(step >= 0 && step < golden.steps, "step {} of {}", step, golden.steps);
  const double torch_error = golden.values(precision).torch_error.losses.value_or(0);
  const double allowed = kFactor * std::max(torch_error, floors_of(golden, precision).losses);
  return measured(fmt::format("loss of step {}", step), relative(loss, golden.losses[static_cast<size_t>(step)]),
                  allowed);
}

template <class T>
Comparison compare_tensor(const GoldenCase& golden, Precision precision, const std::string& key,
                          std::span<const T> values) {
  const GoldenTensor truth = stored_tensor(golden, key);
  const int64_t numel = golden.norms.at(key).numel();
  LAPTIME_CHECK(static_cast<int64_t>(values.size()) == numel, "{}: has {} values, expected {}", key, values.size(),
                numel);
  const std::vector<bool> skipped = skipped_elements(golden, key, truth);
  const auto skipped_count = std::count(skipped.begin(), skipped.end(), true);
  if (skipped_count == std::ssize(skipped) && skipped_count > 0)
    return not_compared(key, "its gradient is zero within tolerance");
  double sum = 0;
  for (size_t i = 0; i < truth.values.size(); ++i) {
    if (skipped[i]) continue;
    const size_t at = truth.positions.empty() ? i : static_cast<size_t>(truth.positions[i]);
    const double difference = static_cast<double>(values[at]) - truth.values[i];
    sum += difference * difference;
  }
  const double distance = sum == 0 ? 0 : std::sqrt(sum) / scale_of(golden, key);
  std::string note;
  if (skipped_count > 0)
    note = fmt::format("{} of {} values skipped: gradient is zero within tolerance", skipped_count, skipped.size());
  return measured(key, distance, allowed_to(golden, precision, key), std::move(note));
}

template Comparison compare_tensor(const GoldenCase&, Precision, const std::string&, std::span<const float>);
template Comparison compare_tensor(const GoldenCase&, Precision, const std::string&, std::span<const double>);

std::vector<MovedByRounding> moved_by_rounding(const GoldenCase& golden, const std::string& key) {
  const GoldenTensor truth = stored_tensor(golden, key);
  const std::vector<bool> skipped = skipped_elements(golden, key, truth);
  std::vector<MovedByRounding> moved;
  for (size_t i = 0; i < skipped.size(); ++i) {
    if (!skipped[i]) continue;
    moved.push_back({truth.positions.empty() ? static_cast<int64_t>(i) : truth.positions[i], truth.values[i]});
  }
  return moved;
}

Comparison compare_grad_norm(const GoldenCase& golden, Precision precision, double norm) {
  const std::string what = "norm of the gradients";
  if (!golden.grad_norm) return not_compared(what, "not in the file");
  double worst = floors_of(golden, precision).tensors;
  for (const auto& [key, error] : golden.values(precision).torch_error.tensors) {
    if (split_key(key).group == "grad") worst = std::max(worst, error);
  }
  return measured(what, relative(norm, *golden.grad_norm), kFactor * worst);
}

Comparison compare_dtype(const GoldenCase& golden, Precision precision, const std::string& name,
                         std::string_view dtype) {
  const std::map<std::string, std::string>& dtypes = golden.dtypes(precision);
  const auto found = dtypes.find(name);
  const std::string expected = found == dtypes.end() ? "not in the file" : found->second;
  return measured("dtype of " + name, dtype == expected ? 0 : 1, 0, fmt::format("{}, PyTorch {}", dtype, expected));
}

Comparison compare_loss_scale(const GoldenCase& golden, int64_t step, double scale) {
  LAPTIME_CHECK(golden.float16 && step >= 0 && step < golden.steps, "step {} of {}", step, golden.steps);
  const double expected = golden.float16->loss_scales[static_cast<size_t>(step)];
  return measured(fmt::format("loss scale of step {}", step), relative(scale, expected), 0,
                  fmt::format("{}, PyTorch {}", scale, expected));
}

Comparison compare_saved_bytes(const GoldenCase& golden, Precision precision, int64_t bytes) {
  const bool is_written_out = gpt_edition(golden.model.edition).loss == CrossEntropyForm::kWrittenOut;
  return compare_bytes("bytes saved for backward", bytes, golden.values(precision).eager.saved_bytes,
                       is_written_out ? 0 : kSavedShare);
}

Comparison compare_inference_peak(const GoldenCase& golden, int64_t bytes) {
  return compare_peak(golden, "peak of inference", &EagerPeaks::inference, bytes);
}

Comparison compare_forward_backward_peak(const GoldenCase& golden, int64_t bytes) {
  return compare_peak(golden, "peak of forward and backward", &EagerPeaks::forward_backward, bytes);
}

}  // namespace laptime
