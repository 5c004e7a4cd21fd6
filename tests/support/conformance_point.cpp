// Runs the reference of an op, and determines how sensitive its results are to changes of the inputs.
#include "support/conformance_point.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "backend/cuda/libraries/blas.h"
#include "base/random.h"
#include "ops/linear/linear.h"
#include "ops/matmul/matmul.h"
#include "tensor/elements.h"

namespace laptime::test {
namespace {

// The largest relative error of rounding to a 16-bit type.
double half_unit(DType dtype) { return dtype == DType::kBFloat16 ? 0x1p-8 : 0x1p-11; }

// The index of a factor among the inputs of a product with a bias; absent for other signatures.
std::optional<size_t> factor_beside_bias(const Signature& signature) {
  if (signature.op == &kAddmm) return 1;
  if (signature.op != &kLinear) return std::nullopt;
  const bool addend = signature.attributes.as<LinearAttributes>().product.addend;
  return signature.in.size() > (addend ? 3U : 2U) ? std::optional<size_t>(0) : std::nullopt;
}

}  // namespace

bool is_of_blas(const Kernel& kernel) {
  return kernel.library != nullptr && std::string_view(kernel.library) == cuda::kBlasName;
}

std::vector<TensorView> views_of(std::vector<GuardedTensor>& tensors) {
  std::vector<TensorView> views;
  views.reserve(tensors.size());
  for (GuardedTensor& tensor : tensors) views.push_back(tensor.view());
  return views;
}

double rounded(double value, DType dtype) {
  alignas(8) std::array<std::byte, 8> element{};
  const TensorView one{element.data(), contiguous_type(dtype, {})};
  one.store(0, value);
  return one.load(0);
}

Operands::Operands(const ConformancePoint& point, Arrangement arrangement) {
  const ConformanceCase& row = point.row;
  signature = {row.op, row.attributes, {}, {}};
  for (size_t k = 0; k < row.inputs.size(); ++k) {
    const Operand& operand = row.inputs[k];
    const TensorType type{operand.dtype.value_or(point.dtype),
                          arranged(operand.shape, arrangement, static_cast<int>(k))};
    signature.in.push_back(type);
    inputs.emplace_back(type);
    inputs.back().fill(operand, static_cast<uint64_t>(1000 * point.number) + k);
  }
  signature.out = row.op->infer(row.attributes, signature.in);
}

Expected::Expected(const ConformancePoint& point, Arrangement arrangement) : operands_(point, arrangement) {
  const ConformanceCase& row = point.row;
  truth = reference(operands_.inputs);
  if (row.plain != nullptr) add_plain(row.plain);
  for (const auto& values : truth) tolerance_.emplace_back(values.size(), 0.0);
  if (row.slack == 0) return;
  slack_ = reduces() ? 4 * row.slack : row.slack;
  add_sensitivity(kFloatUnit, slack_, tolerance_);
  for (size_t k = 0; k < truth.size(); ++k) {
    if (!is_floating(operands_.signature.out[k].dtype)) continue;
    for (size_t i = 0; i < truth[k].size(); ++i) {
      const double units = std::isfinite(truth[k][i]) ? slack_ * std::abs(truth[k][i]) + row.absolute : 0;
      tolerance_[k][i] += units * kFloatUnit + static_cast<double>(std::numeric_limits<float>::min());
    }
  }
}

bool Expected::reduces() const {
  return operands_.signature.op->kind == OpKind::kReduction || operands_.signature.op->kind == OpKind::kContraction;
}

const std::vector<std::vector<double>>& Expected::tolerance(const Kernel& kernel) {
  if (is_of_blas(kernel) && !products_before_bias().empty()) {
    if (tolerance_of_library_.empty()) {
      tolerance_of_library_ = tolerance_;
      for (size_t i = 0; i < products_before_bias().size(); ++i)
        tolerance_of_library_[0][i] +=
            half_unit(operands_.signature.out[0].dtype) * std::abs(products_before_bias()[i]);
    }
    return tolerance_of_library_;
  }
  if (!kernel.rounds_between_products || !is_16_bit_float(operands_.signature.in[0].dtype)) return tolerance_;
  if (tolerance_of_rounding_.empty()) {
    constexpr double kSlack = 4;  // allows for draws in which the changes of terms cancel
    tolerance_of_rounding_ = tolerance_;
    add_sensitivity(half_unit(operands_.signature.in[0].dtype), kSlack, tolerance_of_rounding_);
  }
  return tolerance_of_rounding_;
}

void Expected::add_plain(PlainLoops plain) {
  has_plain = true;
  const std::vector<double> values = plain(operands_.signature, views_of(operands_.inputs));
  for (size_t i = 0; i < values.size(); ++i)
    largest_plain_error =
        std::max(largest_plain_error, std::abs(rounded(values[i], operands_.signature.out[0].dtype) - truth[0][i]));
  // Each of the K additions rounds by at most one unit of a partial sum, which is about sqrt(K) times a term if signs
  // are random. In any order, these K errors add up to about K units of a term, which is one unit of the sum of all
  // magnitudes. Tensor cores truncate, so a unit here is the error of truncation.
  std::vector<GuardedTensor> magnitudes;
  for (size_t k = 0; k < operands_.inputs.size(); ++k) {
    magnitudes.emplace_back(operands_.signature.in[k]);
    const TensorView from = operands_.inputs[k].view();
    const TensorView to = magnitudes.back().view();
    for (int64_t i = 0; i < to.numel(); ++i) to.put(i, std::abs(from.at(i)));
  }
  double largest = 0;
  for (const double sum : plain(operands_.signature, views_of(magnitudes))) largest = std::max(largest, sum);
  constexpr double kSlack = 4;
  sum_error_ = kSlack * kFloatUnit * largest;
}

const std::vector<double>& Expected::products_before_bias() {
  if (products_before_bias_) return *products_before_bias_;
  products_before_bias_.emplace();
  const std::optional<size_t> factor = factor_beside_bias(operands_.signature);
  if (!factor || !is_16_bit_float(operands_.signature.out[0].dtype)) return *products_before_bias_;
  // Doubling a factor is exact and adds the product, without the bias, once more.
  std::vector<GuardedTensor> doubled;
  for (size_t k = 0; k < operands_.inputs.size(); ++k) {
    doubled.emplace_back(operands_.signature.in[k]);
    const TensorView from = operands_.inputs[k].view();
    const TensorView to = doubled.back().view();
    for (int64_t i = 0; i < to.numel(); ++i) to.put(i, from.at(i) * (k == *factor ? 2 : 1));
  }
  const std::vector<double> twice = reference(doubled)[0];
  for (size_t i = 0; i < twice.size(); ++i) {
    const double product = twice[i] - truth[0][i];
    products_before_bias_->push_back(std::isfinite(product) ? product : 0);
  }
  return *products_before_bias_;
}

double Expected::largest_library_error() {
  double rounding = 0;
  const DType dtype = operands_.signature.out[0].dtype;
  const double unit = is_16_bit_float(dtype) ? half_unit(dtype) : kFloatUnit;
  for (size_t i = 0; i < truth[0].size(); ++i) {
    if (!std::isfinite(truth[0][i])) continue;
    const double product = products_before_bias().empty() ? 0 : std::abs(products_before_bias()[i]);
    rounding = std::max(rounding, unit * (std::abs(truth[0][i]) + (1 + unit) * product));
  }
  return sum_error_ + rounding;
}

// Outputs are float64, so that results are not rounded.
std::vector<std::vector<double>> Expected::reference(std::vector<GuardedTensor>& from) {
  std::vector<GuardedTensor> out;
  for (size_t k = 0; k < operands_.signature.out.size(); ++k) {
    TensorType type = operands_.signature.out[k];
    if (is_floating(type.dtype)) type.dtype = DType::kFloat64;
    out.emplace_back(type);
  }
  const std::vector<TensorView> in_views = views_of(from);
  const std::vector<TensorView> out_views = views_of(out);
  operands_.signature.op->reference({operands_.signature.attributes, in_views, out_views});
  std::vector<std::vector<double>> values;
  values.reserve(out_views.size());
  for (const TensorView& view : out_views) values.push_back(elements_of(view));
  return values;
}

void Expected::add_sensitivity(double unit, double slack, std::vector<std::vector<double>>& tolerance) {
  // One random draw is enough for pointwise ops, because each element depends on one element of each input. In sums,
  // the changes of terms may cancel in a single draw.
  for (size_t k = 0; k < operands_.inputs.size(); ++k) {
    if (is_floating(operands_.signature.in[k].dtype)) add_sensitivity_to(k, unit, slack, reduces() ? 6 : 1, tolerance);
  }
}

void Expected::add_sensitivity_to(size_t input, double unit, double slack, int draws,
                                  std::vector<std::vector<double>>& tolerance) {
  std::vector<std::vector<double>> worst = truth;
  for (auto& values : worst) std::fill(values.begin(), values.end(), 0.0);
  std::vector<GuardedTensor> moved;
  for (size_t k = 0; k < operands_.inputs.size(); ++k) {
    TensorType type = operands_.signature.in[k];
    if (k == input) type.dtype = DType::kFloat64;
    moved.emplace_back(type);
    if (k != input) moved.back().copy_from(operands_.inputs[k]);
  }
  const TensorView from = operands_.inputs[input].view();
  const TensorView to = moved[input].view();
  for (int draw = 0; draw < draws; ++draw) {
    for (int64_t i = 0; i < to.numel(); ++i) {
      const bool up = (hash_combine(static_cast<uint64_t>(draw), static_cast<uint64_t>(to.position(i))) & 1U) != 0;
      to.put(i, from.at(i) * (1 + (up ? unit : -unit)));
    }
    const std::vector<std::vector<double>> values = reference(moved);
    for (size_t k = 0; k < values.size(); ++k) {
      for (size_t i = 0; i < values[k].size(); ++i) {
        const double change = std::abs(values[k][i] - truth[k][i]);
        if (std::isfinite(change)) worst[k][i] = std::max(worst[k][i], change);
      }
    }
  }
  for (size_t k = 0; k < worst.size(); ++k) {
    for (size_t i = 0; i < worst[k].size(); ++i) tolerance[k][i] += slack * worst[k][i];
  }
}

}  // namespace laptime::test
