// The operands of one point of a conformance test, the results of the reference, and the accepted error of a kernel.
#pragma once

#include <optional>

#include "support/conformance.h"

namespace laptime::test {

// True if the kernel calls cuBLASLt.
bool is_of_blas(const Kernel& kernel);

constexpr double kFloatUnit = 0x1p-23;  // one unit in the last place of a float32 of about 1

std::vector<TensorView> views_of(std::vector<GuardedTensor>& tensors);
double rounded(double value, DType dtype);

// The operands of one point in one arrangement.
struct Operands {
  Operands(const ConformancePoint& point, Arrangement arrangement);

  Signature signature;
  std::vector<GuardedTensor> inputs;
};

// The results of the reference. Arrangements with the same elements share them.
class Expected {
 public:
  Expected(const ConformancePoint& point, Arrangement arrangement);

  std::vector<std::vector<double>> truth;  // truth[output][row-major index]
  // Absolute tolerance of each element, as tolerance(kernel)[output][row-major index], for float32 products. The caller
  // scales it for TF32 and allows for rounding the result to the output's type.
  const std::vector<std::vector<double>>& tolerance(const Kernel& kernel);
  double largest_plain_error = 0;  // error of the first output; 0 without plain loops
  bool has_plain = false;
  // Largest error accepted in the first output of a cuBLASLt product, instead of twice largest_plain_error: cuBLASLt
  // specifies neither the order of its additions nor whether they round or truncate. Requires plain loops in the case.
  double largest_library_error();

 private:
  std::vector<std::vector<double>> reference(std::vector<GuardedTensor>& from);
  // Changes the elements of each input in turn, randomly up or down by the fraction `unit`, and adds `slack` times the
  // resulting change of the outputs to `tolerance`.
  void add_sensitivity(double unit, double slack, std::vector<std::vector<double>>& tolerance);
  void add_sensitivity_to(size_t input, double unit, double slack, int draws,
                          std::vector<std::vector<double>>& tolerance);
  void add_plain(PlainLoops plain);
  bool reduces() const;
  // The products of the first output without the bias, if they may be rounded to the output type before the bias is
  // added; otherwise empty.
  const std::vector<double>& products_before_bias();

  Operands operands_;
  double slack_ = 0;
  std::vector<std::vector<double>> tolerance_;
  std::vector<std::vector<double>> tolerance_of_rounding_;   // empty until a kernel needs it
  std::vector<std::vector<double>> tolerance_of_library_;    // empty until a kernel needs it
  std::optional<std::vector<double>> products_before_bias_;  // absent until a kernel needs it
  double sum_error_ = 0;  // accepted error of float32 sums in any order; 0 without plain loops
};

}  // namespace laptime::test
