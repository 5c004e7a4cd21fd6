// The operands of one point of a conformance test, the results of the reference, and the accepted error of a kernel.
#pragma once

#include "support/conformance.h"

namespace laptime::test {

constexpr double kFloatUnit = 0x1p-23;  // one unit in the last place of a float32 of about 1

std::vector<TensorView> views_of(std::vector<GuardedTensor>& tensors);
// The value rounded to the type.
double rounded(double value, DType dtype);

// The operands of one point, and the results of the reference.
class Point {
 public:
  explicit Point(const ConformancePoint& point);

  Signature signature;
  std::vector<GuardedTensor> inputs;
  std::vector<std::vector<double>> truth;  // per output, by row-major index
  // Absolute tolerance per output, before rounding to the output's type.
  const std::vector<std::vector<double>>& tolerance(const Kernel& kernel);
  double largest_plain_error = 0;  // error of the first output; 0 without plain loops
  bool has_plain = false;

 private:
  std::vector<std::vector<double>> reference(std::vector<GuardedTensor>& from);
  // Adds to `tolerance` `slack` times the change of the outputs when all elements of an input change up or down by the
  // fraction `unit`, for one input after the other.
  void add_sensitivity(double unit, double slack, std::vector<std::vector<double>>& tolerance);
  void add_sensitivity_to(size_t input, double unit, double slack, int draws,
                          std::vector<std::vector<double>>& tolerance);
  void add_plain(PlainLoops plain);
  bool reduces() const;

  double slack_ = 0;
  std::vector<std::vector<double>> tolerance_;
  std::vector<std::vector<double>> tolerance_of_rounding_;  // empty until a kernel needs it
};

}  // namespace laptime::test
