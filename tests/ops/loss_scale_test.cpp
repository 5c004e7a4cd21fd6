// Loss scaling: kernels compared with the references, and scales and skipped steps compared with torch.amp.GradScaler.
#include "ops/loss_scale/loss_scale.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "backend/cpu/cpu_backend.h"
#include "ops/kernels_cpu.h"
#include "support/conformance.h"

namespace laptime::test {
namespace {

Operand scalar(DType dtype, double value) {
  return {.shape = {}, .values = Values::kConstant, .dtype = dtype, .bound = value};
}

std::vector<ConformanceCase> unscale_rows() {
  std::vector<ConformanceCase> rows;
  for (const Shape& shape : std::vector<Shape>{{1}, {7, 5}, {33, 65}, {2, 1100}, {90, 800}}) {
    for (const Values values : {Values::kSigned, Values::kRare, Values::kExtreme}) {
      for (const double scale : {1.0, 65536.0, 3.0}) {
        rows.push_back({.op = &kUnscaleGradient,
                        .inputs = {{.shape = shape, .values = values, .dtype = DType::kFloat32},
                                   scalar(DType::kFloat32, scale),
                                   scalar(DType::kBool, shape[0] == 7 ? 1 : 0)},
                        .dtypes = {DType::kFloat32},
                        .arrangements = shape.product() < 10000 ? dense_arrangements()
                                                                : std::vector<Arrangement>{Arrangement::kContiguous}});
      }
    }
  }
  return rows;
}
LAPTIME_CONFORMANCE(UnscaleGradient, unscale_rows());

std::vector<ConformanceCase> assign_unless_rows() {
  std::vector<ConformanceCase> rows;
  for (const double skip : {0.0, 1.0}) {
    // The state is bfloat16 if moments are (--moments bfloat16).
    for (const DType state : {DType::kFloat32, DType::kBFloat16}) {
      rows.push_back({.op = &kAssignUnless,
                      .inputs = {{.shape = {33, 65}, .dtype = state},
                                 {.shape = {33, 65}, .dtype = DType::kFloat32},
                                 scalar(DType::kBool, skip)},
                      .dtypes = {DType::kFloat32},
                      .arrangements = dense_arrangements(),
                      .slack = 0});
    }
  }
  return rows;
}
LAPTIME_CONFORMANCE(AssignUnless, assign_unless_rows());

// Steps that would keep or grow the scale, each without and with an overflow. All results are exact.
std::vector<ConformanceCase> number_rows() {
  std::vector<ConformanceCase> rows;
  for (const double found : {0.0, 1.0}) {
    const auto add = [&](const OpCard& op, const Attributes& attributes, std::vector<Operand> inputs) {
      inputs.push_back(scalar(DType::kBool, found));
      rows.push_back({.op = &op,
                      .attributes = attributes,
                      .inputs = std::move(inputs),
                      .dtypes = {DType::kFloat32},
                      .arrangements = {Arrangement::kContiguous},
                      .slack = 0});
    };
    add(kCountApplied, {}, {scalar(DType::kInt64, 41)});
    for (const double good_steps : {0.0, 3.0, 4.0}) {
      const LossScaleAttributes attributes{.growth_interval = 5};
      add(kUpdateLossScale, attributes, {scalar(DType::kFloat32, 65536), scalar(DType::kInt64, good_steps)});
      add(kUpdateLossScale, attributes, {scalar(DType::kFloat32, 0x1p127), scalar(DType::kInt64, good_steps)});
    }
  }
  return rows;
}
LAPTIME_CONFORMANCE(LossScaleNumbers, number_rows());

template <class T>
TensorView view_of(T* data, DType dtype, const Shape& shape) {
  return {reinterpret_cast<std::byte*>(data), contiguous_type(dtype, shape)};
}

// A single infinity or NaN is found at any position, even if all other elements are the largest finite number.
TEST(UnscaleGradient, FindsASingleOverflow) {
  constexpr int64_t kSize = 70000;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  cpu::CpuBackend backend(cpu_kernels(cpu::widest_isa()), 2);
  for (const float value : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(), 0.0F}) {
    for (const int64_t at : {int64_t{0}, int64_t{1023}, int64_t{40000}, kSize - 1}) {
      std::vector<float> grad(kSize, std::numeric_limits<float>::max());
      grad[static_cast<size_t>(at)] = value;
      std::vector<float> unscaled(kSize);
      float scale = 2;
      uint8_t before = 0;
      uint8_t found = 7;
      const std::vector<TensorView> in{view_of(grad.data(), DType::kFloat32, {kSize}),
                                       view_of(&scale, DType::kFloat32, {}), view_of(&before, DType::kBool, {})};
      const std::vector<TensorView> out{view_of(unscaled.data(), DType::kFloat32, {kSize}),
                                        view_of(&found, DType::kBool, {})};
      const Attributes none;
      for (const Kernel& kernel : backend.kernels(kUnscaleGradient)) {
        backend.launch({.kernel = &kernel, .attributes = &none, .in = in, .out = out, .workspace = nullptr});
        EXPECT_EQ(found, value == 0 ? 0 : 1) << kernel.name << ", " << value << " at " << at;
      }
    }
  }
}

nlohmann::json grad_scaler() {
  std::ifstream file(LAPTIME_GOLDEN_DIR "/grad_scaler.json");
  return nlohmann::json::parse(file);
}

// The scale and the count of good steps after each step, for overflows at the steps listed in the file.
TEST(UpdateLossScale, MatchesGradScaler) {
  const nlohmann::json file = grad_scaler();
  ASSERT_GE(file.at("rules").size(), 4U);
  for (const nlohmann::json& rule : file.at("rules")) {
    const std::vector<int64_t> overflows = rule.at("overflows");
    const Attributes attributes = LossScaleAttributes{2.0, 0.5, rule.at("growth_interval")};
    float scale = rule.at("init_scale");
    int64_t good_steps = 0;
    const int64_t steps = rule.at("steps");
    for (int64_t step = 0; step < steps; ++step) {
      uint8_t found = std::count(overflows.begin(), overflows.end(), step) > 0 ? 1 : 0;
      const std::vector<TensorView> in{view_of(&scale, DType::kFloat32, {}), view_of(&good_steps, DType::kInt64, {}),
                                       view_of(&found, DType::kBool, {})};
      kUpdateLossScale.reference({attributes, in, std::span(in).first(2)});
      EXPECT_EQ(scale, rule.at("scales").at(static_cast<size_t>(step)).get<float>()) << rule << " step " << step;
      EXPECT_EQ(good_steps, rule.at("good_steps").at(static_cast<size_t>(step)).get<int64_t>()) << rule << step;
    }
  }
}

}  // namespace
}  // namespace laptime::test
