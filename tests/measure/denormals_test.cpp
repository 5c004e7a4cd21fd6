// Counts of denormal numbers in tensors of each type, and detection of a run that slows down.
#include "measure/spoiled_values.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace laptime {
namespace {

template <class T>
int64_t counted_in(const std::vector<T>& values, DType dtype) {
  return count_denormals(std::as_bytes(std::span(values)), dtype);
}

TEST(Denormals, AreCountedInEveryType) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(counted_in<float>({0, -0.0F, 1e-40F, -1e-45F, 1e-37F, 1, infinity, std::nanf("")}, DType::kFloat32), 2);
  EXPECT_EQ(counted_in<double>({0, 1e-310, 1e-300}, DType::kFloat64), 1);
  EXPECT_EQ(counted_in<uint16_t>({0, 0x8000, 0x0001, 0x807F, 0x0080, 0x7F80}, DType::kBFloat16), 2);
  EXPECT_EQ(counted_in<uint16_t>({0, 0x0001, 0x03FF, 0x0400}, DType::kFloat16), 2);
  EXPECT_EQ(counted_in<int64_t>({1, 2}, DType::kInt64), 0);
}

Sampling sampling_of(const std::vector<double>& seconds) {
  Sampling sampling;
  for (const double time : seconds) {
    Timeline step;
    step.begin = Seconds{0};
    step.end = Seconds{time};
    sampling.steps.push_back(step);
  }
  return sampling;
}

TEST(HasSlowedDown, DetectsARunWhoseLastStepsAreSlower) {
  EXPECT_TRUE(has_slowed_down(sampling_of({9, 1, 1, 1, 1, 1, 1.5, 1.5, 1.5})));
  EXPECT_FALSE(has_slowed_down(sampling_of({9, 1, 1, 1, 1, 1, 1.1, 1.1, 1.1})));
  EXPECT_FALSE(has_slowed_down(sampling_of({1, 1, 1, 9, 1, 1, 1, 1, 1})));
  EXPECT_FALSE(has_slowed_down(sampling_of({1, 2, 3})));
}

}  // namespace
}  // namespace laptime
