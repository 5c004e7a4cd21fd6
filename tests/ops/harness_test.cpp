// The test harnesses must detect incorrect kernels and incorrect gradients.
#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include "backend/cpu/team.h"
#include "ops/pointwise/pointwise.h"
#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

using testing::HasSubstr;

constexpr int64_t kSize = 21;

float* data(const TensorView& view) { return view.as<float>(); }
void negate(const KernelCall& call, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i) data(call.out[0])[i] = -data(call.in[0])[i];
}

std::string error_of(void (*launch)(const KernelCall&), double slack = 0) {
  const ConformanceCase row{.op = &kNeg, .inputs = {{.shape = {kSize}}}, .slack = slack};
  const Kernel kernel{.op = &kNeg, .name = "test", .supports = nullptr, .workspace = nullptr, .launch = launch};
  return conformance_error(row, DType::kFloat32, kernel);
}

TEST(ConformanceHarness, AcceptsCorrectKernel) {
  EXPECT_EQ(error_of([](const KernelCall& call) { negate(call, 0, kSize); }), "");
}

TEST(ConformanceHarness, DetectsWrongValue) {
  const auto wrong = [](const KernelCall& call) {
    negate(call, 0, kSize);
    data(call.out[0])[20] *= 1 + 0x1p-22F;
  };
  EXPECT_THAT(error_of(wrong), HasSubstr("element 20"));
  EXPECT_EQ(error_of(wrong, 2), "");  // the tolerance is two units of the input plus two of the result
}

TEST(ConformanceHarness, DetectsUnwrittenElement) {
  EXPECT_THAT(error_of([](const KernelCall& call) { negate(call, 1, kSize); }), HasSubstr("element 0 is"));
}

TEST(ConformanceHarness, DetectsWritesOutsideTheOutput) {
  const auto beyond = [](const KernelCall& call) {
    negate(call, 0, kSize);
    data(call.out[0])[kSize] = 0;
  };
  const auto before = [](const KernelCall& call) {
    negate(call, 0, kSize);
    data(call.out[0])[-1] = 0;
  };
  EXPECT_THAT(error_of(beyond), HasSubstr("writes around output 0"));
  EXPECT_THAT(error_of(before), HasSubstr("writes around output 0"));
}

TEST(ConformanceHarness, DetectsWritesToAnInput) {
  const auto writes = [](const KernelCall& call) {
    negate(call, 0, kSize);
    data(call.in[0])[3] = 0;
  };
  EXPECT_THAT(error_of(writes), HasSubstr("writes input 0"));
}

TEST(ConformanceHarness, DetectsThreadDependentBits) {
  const auto depends = [](const KernelCall& call) {
    negate(call, 0, kSize);
    if (cpu::team_of(call).size() == 3) data(call.out[0])[5] *= 1 + 0x1p-22F;
  };
  EXPECT_THAT(error_of(depends, 3), HasSubstr("with 3 threads differs"));
}

TEST(ConformanceHarness, DetectsUnsafeInPlaceKernel) {
  static const OpCard kOverwriting = [] {
    OpCard card = kNeg;
    card.may_overwrite = {{0, 0}};
    return card;
  }();
  const auto error = [](void (*launch)(const KernelCall&)) {
    const ConformanceCase row{.op = &kOverwriting, .inputs = {{.shape = {kSize}}}};
    const Kernel kernel{
        .op = &kOverwriting, .name = "test", .supports = nullptr, .workspace = nullptr, .launch = launch};
    return conformance_error(row, DType::kFloat32, kernel);
  };
  EXPECT_EQ(error([](const KernelCall& call) { negate(call, 0, kSize); }), "");
  EXPECT_THAT(error([](const KernelCall& call) {
                data(call.out[0])[4] = 0;
                negate(call, 0, kSize);
              }),
              HasSubstr("output 0 over input 0: output 0, element 4"));
}

TEST(GradientHarness, DetectsWrongGradient) {
  static const OpCard kWrong = [] {
    OpCard card = kSquare;
    card.gradient = [](GradientContext& c) {
      c.grad_in[0] = mul(c.build, c.grad_out[0], c.in[0]);
    };  // half of the correct gradient
    return card;
  }();
  EXPECT_NONFATAL_FAILURE(expect_gradient({.op = &kWrong, .inputs = {{.shape = {1}}}}), "gradient of input 0");
}

}  // namespace
}  // namespace laptime::test
