// Runs a kernel and the reference on the same inputs and compares the results.
#include "support/conformance.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <ostream>

#include "backend/cuda/libraries/blas_products.h"
#include "base/random.h"
#include "base/words.h"
#include "support/card_memory.h"
#include "support/conformance_point.h"
#include "support/kernel_devices.h"
#include "tensor/elements.h"

namespace laptime::test {
namespace {

// CUDA kernels are slow on the host, where each thread is a fiber. They run only at points whose inputs have few
// elements. In float16, they run only with contiguous operands, because loads and stores are the same as in bfloat16.
bool runs_cuda(DType dtype, Arrangement arrangement, const Signature& signature) {
  constexpr int64_t kMostElements = 6000;
  for (const TensorType& type : signature.in) {
    if (type.numel() > kMostElements) return false;
  }
  return dtype != DType::kFloat16 || arrangement == Arrangement::kContiguous;
}

// The operands of one point in one arrangement, and the results expected of each kernel.
struct Point : Operands {
  Expected& expected;
};

// One launch, with its own copies of the operands.
class Launch {
 public:
  // `way` selects the queue of the device, and `overwrites` lists outputs that overwrite an input. Optional outputs get
  // memory only if `optional_outputs`.
  Launch(Point& point, const Kernel& kernel, const KernelDevice& device, int way, bool optional_outputs,
         std::span<const Update> overwrites = {});
  // Describes the error in the result; empty if it is correct.
  std::string error(Point& point, const Kernel& kernel);
  bool same_bits(const Launch& other) const;

 private:
  void run_on_card(Backend& card, const Signature& signature, const Kernel& kernel, const std::vector<TensorView>& in,
                   GuardedTensor& workspace);
  std::string value_error(Point& point, const Kernel& kernel, size_t output);
  std::string norm_error(Point& point, const Kernel& kernel, size_t output);

  std::vector<GuardedTensor> inputs_;
  std::vector<GuardedTensor> outputs_;
  std::vector<TensorView> out_;
  std::vector<bool> overwritten_;  // for each input, true if an output overwrites it
  const OpCard& op_;
};

Launch::Launch(Point& point, const Kernel& kernel, const KernelDevice& device, int way, bool optional_outputs,
               std::span<const Update> overwrites)
    : overwritten_(point.inputs.size(), false), op_(*point.signature.op) {
  for (size_t k = 0; k < point.inputs.size(); ++k) {
    inputs_.emplace_back(point.signature.in[k]);
    inputs_.back().copy_from(point.inputs[k]);
  }
  for (const TensorType& type : point.signature.out) outputs_.emplace_back(type);
  const std::vector<TensorView> in = views_of(inputs_);
  out_ = views_of(outputs_);
  for (size_t k = 0; k < out_.size(); ++k) {
    int place = op_.updated_input(static_cast<int>(k));
    for (const Update& overwrite : overwrites) {
      if (overwrite.output == static_cast<int>(k)) place = overwrite.input;
    }
    if (place >= 0) {
      out_[k] = in[static_cast<size_t>(place)];
      overwritten_[static_cast<size_t>(place)] = true;
    }
    if (!optional_outputs && op_.optional_outputs.contains(static_cast<int>(k))) out_[k].data = nullptr;
  }
  const int64_t bytes = kernel.workspace_bytes(point.signature);
  GuardedTensor workspace(contiguous_type(DType::kBool, {bytes}));
  if (device.card != nullptr) {
    run_on_card(device.card(), point.signature, kernel, in, workspace);
  } else {
    Queue& queue = device.queue(way);
    if (kernel.prepare != nullptr) kernel.prepare(point.signature, queue);
    kernel.launch({op_, point.signature.attributes, in, out_, workspace.view().data, queue});
  }
  if (!workspace.guards_intact()) ADD_FAILURE() << "the workspace of " << bytes << " bytes is too small";
}

void Launch::run_on_card(Backend& card, const Signature& signature, const Kernel& kernel,
                         const std::vector<TensorView>& in, GuardedTensor& workspace) {
  CardMemory memory(card);
  for (GuardedTensor& tensor : inputs_) memory.put(tensor);
  for (GuardedTensor& tensor : outputs_) memory.put(tensor);
  memory.put(workspace);
  const std::vector<TensorView> card_in = memory.on_card(in);
  const std::vector<TensorView> card_out = memory.on_card(out_);
  card.prepare(kernel, signature);
  card.launch({.kernel = &kernel,
               .attributes = &signature.attributes,
               .in = card_in,
               .out = card_out,
               .workspace = memory.on_card(workspace.view()).data});
  card.synchronize();
  memory.fetch();
}

std::string Launch::error(Point& point, const Kernel& kernel) {
  for (size_t k = 0; k < inputs_.size(); ++k) {
    if (!inputs_[k].guards_intact()) return fmt::format("writes around input {}", k);
    if (!overwritten_[k] && !std::ranges::equal(inputs_[k].bytes(), point.inputs[k].bytes()))
      return fmt::format("writes input {}", k);
  }
  for (size_t k = 0; k < outputs_.size(); ++k) {
    if (!outputs_[k].guards_intact()) return fmt::format("writes around output {}", k);
    if (out_[k].data == nullptr) continue;
    if (std::string error = value_error(point, kernel, k); !error.empty()) return error;
    if (std::string error = norm_error(point, kernel, k); !error.empty()) return error;
  }
  return "";
}

std::string Launch::value_error(Point& point, const Kernel& kernel, size_t output) {
  const std::vector<double>& tolerances = point.expected.tolerance(kernel)[output];
  const TensorView& view = out_[output];
  const DType dtype = view.type.dtype;
  // Tolerances are in units of float32. One unit of TF32 equals 2^13 units of float32.
  const double units = kernel.math_of_products(point.signature) == ProductMath::kTf32 ? 0x1p13 : 1;
  for (int64_t i = 0; i < view.numel(); ++i) {
    const double got = view.at(i);
    const double truth = point.expected.truth[output][static_cast<size_t>(i)];
    const double tolerance = units * tolerances[static_cast<size_t>(i)];
    if (std::isnan(truth) && std::isnan(got)) continue;
    const double low = rounded(truth - tolerance, dtype);
    const double high = rounded(truth + tolerance, dtype);
    if (got >= low && got <= high) continue;
    return fmt::format("output {}, element {} is {:.9g}, the reference says {:.9g}, accepted from {:.9g} to {:.9g}",
                       output, i, got, truth, low, high);
  }
  return "";
}

// For a contraction, checks the L2 error, and compares the largest error with the largest error of plain loops.
std::string Launch::norm_error(Point& point, const Kernel& kernel, size_t output) {
  const TensorView& view = out_[output];
  const std::vector<double>& truth = point.expected.truth[output];
  const bool finite = std::all_of(truth.begin(), truth.end(), [](double value) { return std::isfinite(value); });
  if (op_.kind != OpKind::kContraction || !is_floating(view.type.dtype) || !finite) return "";
  double error_squares = 0;
  double squares = 0;
  double largest_error = 0;
  double largest = 0;
  for (int64_t i = 0; i < view.numel(); ++i) {
    const double exact = truth[static_cast<size_t>(i)];
    if (!std::isfinite(view.at(i))) continue;  // an overflow of the type, which value_error() has checked
    const double error = std::abs(view.at(i) - exact);
    error_squares += error * error;
    squares += exact * exact;
    largest_error = std::max(largest_error, error);
    largest = std::max(largest, std::abs(exact));
  }
  const auto rounds_to = [&](DType dtype) {
    return view.type.dtype == dtype || point.signature.in[0].dtype == dtype ||
           kernel.math_of_products(point.signature) == math_of_factors(dtype);
  };
  const bool tf32 = kernel.math_of_products(point.signature) == ProductMath::kTf32;
  // TF32 rounding errors of up to three consecutive products add up.
  const double products = tf32 && kernel.rounds_between_products ? 3 : 1;
  const double limit = rounds_to(DType::kBFloat16)          ? kBFloat16Limit
                       : rounds_to(DType::kFloat16) || tf32 ? products * kFloat16Limit
                                                            : kFloat32Limit;
  if (std::sqrt(error_squares) > limit * std::sqrt(squares))
    return fmt::format("output {}: the L2 error is {:.3g} of the norm, accepted is {:.3g}", output,
                       std::sqrt(error_squares / squares), limit);
  // Allows one more unit in the last place, because plain loops are exact for some small products.
  const double twice_plain = 2 * point.expected.largest_plain_error + largest * kFloatUnit;
  if (output != 0 || !point.expected.has_plain || tf32 || largest_error <= twice_plain) return "";
  if (!is_of_blas(kernel))
    return fmt::format("output {}: the largest error is {:.3g}, accepted is {:.3g}, twice that of plain loops", output,
                       largest_error, twice_plain);
  if (const double accepted = point.expected.largest_library_error(); largest_error > accepted)
    return fmt::format("output {}: the largest error is {:.3g}, accepted is {:.3g}, that of float32 sums in any order",
                       output, largest_error, accepted);
  return "";
}

bool Launch::same_bits(const Launch& other) const {
  const auto same = [](const GuardedTensor& a, const GuardedTensor& b) {
    return std::ranges::equal(a.bytes(), b.bytes());
  };
  return std::ranges::equal(outputs_, other.outputs_, same) && std::ranges::equal(inputs_, other.inputs_, same);
}

// Sets of overwrites that the op card and the types permit: each overwrite alone, and finally a set of overwrites that
// do not conflict.
std::vector<std::vector<Update>> overwrites_of(const Signature& signature) {
  std::vector<std::vector<Update>> sets;
  std::vector<Update> together;
  IndexSet outputs;
  IndexSet inputs;
  for (const Update& permission : signature.op->may_overwrite) {
    const TensorType& to = signature.out[static_cast<size_t>(permission.output)];
    if (static_cast<size_t>(permission.input) >= signature.in.size()) continue;  // an absent optional operand
    if (to != signature.in[static_cast<size_t>(permission.input)]) continue;
    sets.push_back({permission});
    if (outputs.contains(permission.output) || inputs.contains(permission.input)) continue;
    outputs.bits |= IndexSet{permission.output}.bits;
    inputs.bits |= IndexSet{permission.input}.bits;
    together.push_back(permission);
  }
  if (together.size() > 1) sets.push_back(together);
  return sets;
}

// Launches again in every way from device.first_again on, which must give the bits of `first`. Describes a difference,
// or returns an empty string.
std::string different_way(Point& point, const Kernel& kernel, const KernelDevice& device, const Launch& first,
                          std::span<const Update> overwrites = {}) {
  for (int way = device.first_again; way < kWays; ++way) {
    const Launch again(point, kernel, device, way, true, overwrites);
    if (!again.same_bits(first))
      return fmt::format("the result with {} differs from that with {}", device.name_of(way), device.name_of(0));
  }
  return "";
}

// Launches with outputs that overwrite inputs. Describes the error, or returns an empty string.
std::string run_overwriting(Point& point, const Kernel& kernel, const KernelDevice& device) {
  for (const std::vector<Update>& overwrites : overwrites_of(point.signature)) {
    const auto in_place = [&](std::string_view error) {
      return fmt::format("output {} over input {}: {}", overwrites[0].output, overwrites[0].input, error);
    };
    Launch first(point, kernel, device, 0, true, overwrites);
    if (const std::string error = first.error(point, kernel); !error.empty()) return in_place(error);
    if (std::string error = different_way(point, kernel, device, first, overwrites); !error.empty())
      return in_place(error);
  }
  return "";
}

// Runs all checks of one kernel at one point. Describes the error, or returns an empty string.
std::string run_kernel(Point& point, const Kernel& kernel, const KernelDevice& device) try {
  Launch first(point, kernel, device, 0, true);
  if (std::string error = first.error(point, kernel); !error.empty()) return error;
  if (std::string error = different_way(point, kernel, device, first); !error.empty()) return error;
  if (point.signature.op->optional_outputs.bits != 0) {
    Launch without(point, kernel, device, 1, false);
    if (std::string error = without.error(point, kernel); !error.empty()) return "without optional outputs: " + error;
  }
  return run_overwriting(point, kernel, device);
} catch (const cuda::MissingProposal&) {
  return "";  // the library proposes fewer algorithms for this product than there are kernels
} catch (const Error& error) {
  return error.what();
}

// Launches the reference with operands in this arrangement. Describes the error, or returns an empty string.
std::string run_reference(Point& point) {
  const Kernel reference = reference_kernel(*point.signature.op);
  Launch first(point, reference, on_cpu(), 0, true);
  if (std::string error = first.error(point, reference); !error.empty()) return error;
  return run_overwriting(point, reference, on_cpu());
}

void check_arrangement(const ConformancePoint& point, Arrangement arrangement, Expected& expected) {
  Point prepared{Operands(point, arrangement), expected};
  const std::vector<KernelOnDevice>& kernels = kernels_to_check(*point.row.op);
  ASSERT_FALSE(kernels.empty()) << point.row.op->name << " has no kernel other than its reference";
  EXPECT_EQ(run_reference(prepared), "") << "the reference, " << name_of(arrangement);
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  const bool runs_on_cuda = runs_cuda(point.dtype, arrangement, prepared.signature);
  for (const auto& [kernel, device] : kernels) {
    if (device->is_slow && !runs_on_cuda) continue;
    const std::string refusal = kernel.refusal(prepared.signature);
    if (!refusal.empty() && kernel.library != nullptr)
      continue;  // if a library does not support a point, our own kernel runs
    if (!refusal.empty() && std::ranges::find(point.row.may_refuse, arrangement) != point.row.may_refuse.end())
      continue;
    const std::string error = refusal.empty() ? run_kernel(prepared, kernel, *device) : "rejects the point: " + refusal;
    EXPECT_EQ(error, "") << kernel.name << " of " << prepared.signature.text() << ", " << name_of(arrangement)
                         << "\n  to reproduce: test_ops --gtest_filter=" << test->test_suite_name() << "."
                         << test->name();
  }
}

}  // namespace

const std::vector<Arrangement>& all_arrangements() {
  static const std::vector<Arrangement> kAll{
      Arrangement::kContiguous, Arrangement::kTransposed, Arrangement::kReversed, Arrangement::kStrided,
      Arrangement::kPadded,     Arrangement::kBroadcast,  Arrangement::kMixed};
  return kAll;
}

const std::vector<Arrangement>& dense_arrangements() {
  static const std::vector<Arrangement> kDense{Arrangement::kContiguous, Arrangement::kTransposed,
                                               Arrangement::kReversed,   Arrangement::kStrided,
                                               Arrangement::kPadded,     Arrangement::kMixed};
  return kDense;
}

void PrintTo(const ConformancePoint& point, std::ostream* stream) {
  *stream << point.row.op->name << " " << name_of(point.dtype);
}

std::vector<ConformancePoint> conformance_points(const std::vector<ConformanceCase>& cases) {
  std::vector<ConformancePoint> points;
  int number = 0;
  for (const ConformanceCase& row : cases) {
    for (const DType dtype : row.dtypes) points.push_back({row, dtype, number});
    ++number;
  }
  return points;
}

// For example gelu_float32_3x17_2.
std::string conformance_name(const testing::TestParamInfo<ConformancePoint>& parameter) {
  const ConformancePoint& point = parameter.param;
  const Shape shape = point.row.inputs.empty() ? Shape{} : point.row.inputs[0].shape;
  return fmt::format("{}_{}_{}_{}", point.row.op->name, name_of(point.dtype),
                     shape.empty() ? "number" : joined(shape, "x"), point.number);
}

void check_conformance(const ConformancePoint& point) {
  std::optional<Expected> dense;
  std::optional<Expected> broadcast;
  for (const Arrangement arrangement : point.row.arrangements) {
    const bool repeats = arrangement == Arrangement::kBroadcast;
    std::optional<Expected>& expected = repeats ? broadcast : dense;
    if (!expected) expected.emplace(point, repeats ? arrangement : Arrangement::kContiguous);
    check_arrangement(point, arrangement, *expected);
  }
}

std::string conformance_error(const ConformanceCase& row, DType dtype, const Kernel& kernel) {
  const ConformancePoint point{row, dtype, 0};
  Expected expected(point, Arrangement::kContiguous);
  Point prepared{Operands(point, Arrangement::kContiguous), expected};
  return run_kernel(prepared, kernel, on_cpu());
}

std::vector<ConformanceCase> over_shapes(const ConformanceCase& row, const std::vector<Shape>& shapes) {
  std::vector<ConformanceCase> rows;
  for (const Shape& shape : shapes) {
    rows.push_back(row);
    for (Operand& operand : rows.back().inputs) operand.shape = shape;
  }
  return rows;
}

const std::vector<Shape>& pointwise_shapes() {
  static const std::vector<Shape> kShapes{{}, {1}, {7, 1}, {3, 5}, {2, 3, 4, 5}, {17, 33}, {2, 1100}, {600, 3, 2}};
  return kShapes;
}

std::vector<ConformanceCase> joined(std::initializer_list<std::vector<ConformanceCase>> lists) {
  std::vector<ConformanceCase> all;
  for (const auto& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

}  // namespace laptime::test
