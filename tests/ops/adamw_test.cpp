// AdamW: kernels compared with the references for the three update rules, also in place and with skipped steps.
#include "ops/adamw/adamw.h"

#include <cstring>
#include <limits>

#include "backend/cpu/cpu_backend.h"
#include "ops/kernels_cpu.h"
#include "support/conformance.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> adamw_rows(DType moments = DType::kFloat32) {
  std::vector<ConformanceCase> rows;
  for (const AdamRule rule : {AdamRule::k2025, AdamRule::k2026, AdamRule::kTorch}) {
    for (const Shape& shape : std::vector<Shape>{{1}, {7, 5}, {33, 65}, {2, 1100}, {90, 800}}) {
      for (const double step : {1.0, 1000.0}) {
        const Operand any{.shape = shape, .dtype = DType::kFloat32};
        const Operand moment{.shape = shape, .dtype = moments};
        const Operand positive{.shape = shape, .values = Values::kPositive, .dtype = moments};
        rows.push_back({.op = &kAdamW,
                        .attributes = AdamWAttributes{rule, 0.9, 0.999, 1e-8, 0.01},
                        .inputs = {any,
                                   {.shape = shape},  // the gradient may have a different type
                                   moment,
                                   positive,
                                   {.shape = {}, .values = Values::kConstant, .dtype = DType::kInt64, .bound = step},
                                   {.shape = {}, .values = Values::kConstant, .dtype = DType::kFloat32, .bound = 1e-2}},
                        .arrangements = shape.product() < 10000 ? dense_arrangements()
                                                                : std::vector<Arrangement>{Arrangement::kContiguous}});
      }
    }
  }
  return rows;
}

LAPTIME_CONFORMANCE(AdamW, adamw_rows());
LAPTIME_CONFORMANCE(AdamWMomentsInBFloat16, adamw_rows(DType::kBFloat16));

// The cases with a bfloat16 copy of the weights as an additional input and output.
std::vector<ConformanceCase> rows_with_copy() {
  std::vector<ConformanceCase> rows = adamw_rows();
  for (ConformanceCase& row : rows) {
    row.op = &kAdamWWithCopy;
    row.inputs.insert(row.inputs.begin(), {.shape = row.inputs[0].shape, .dtype = DType::kBFloat16});
  }
  return rows;
}

LAPTIME_CONFORMANCE(AdamWWithCopy, rows_with_copy());

std::vector<ConformanceCase> step_size_rows() {
  std::vector<ConformanceCase> rows;
  for (const double step : {1.0, 7.0, 1000.0}) {
    rows.push_back({.op = &kAdamStepSize,
                    .attributes = AdamWAttributes{},
                    .inputs = {{.shape = {}, .values = Values::kConstant, .dtype = DType::kInt64, .bound = step},
                               {.shape = {}, .values = Values::kConstant, .dtype = DType::kFloat32, .bound = 1e-2}},
                    .dtypes = {DType::kFloat32},
                    .arrangements = {Arrangement::kContiguous}});
  }
  return rows;
}

LAPTIME_CONFORMANCE(AdamStepSize, step_size_rows());

// Each case twice, with the additional input `skip` false and true.
std::vector<ConformanceCase> skippable_rows() {
  std::vector<ConformanceCase> rows;
  for (const ConformanceCase& row : adamw_rows()) {
    for (const double skip : {0.0, 1.0}) {
      rows.push_back(row);
      rows.back().inputs.push_back({.shape = {}, .values = Values::kConstant, .dtype = DType::kBool, .bound = skip});
    }
  }
  return rows;
}

LAPTIME_CONFORMANCE(AdamWSkip, skippable_rows());

// A skipped step changes nothing, even if the gradient contains infinities or NaN.
TEST(AdamW, SkippedStepChangesNothing) {
  constexpr int64_t kSize = 777;
  cpu::CpuBackend backend(cpu_kernels(cpu::widest_isa()), 2);
  const TensorType row = contiguous_type(DType::kFloat32, {kSize});
  for (const AdamRule rule : {AdamRule::k2025, AdamRule::k2026, AdamRule::kTorch}) {
    std::vector<float> state(3 * kSize);
    for (size_t i = 0; i < state.size(); ++i) state[i] = 0.25F + static_cast<float>(i);
    std::vector<float> grad(kSize, std::numeric_limits<float>::infinity());
    grad[3] = std::numeric_limits<float>::quiet_NaN();
    int64_t step = 0;  // no step has been applied yet
    float lr = 1e-3F;
    uint8_t skip = 1;
    const std::vector<float> before = state;
    const auto view = [&](auto* data, const TensorType& type) {
      return TensorView{reinterpret_cast<std::byte*>(data), type};
    };
    float* const w = state.data();
    const std::vector<TensorView> in{view(w, row),
                                     view(grad.data(), row),
                                     view(w + kSize, row),
                                     view(w + 2 * kSize, row),
                                     view(&step, contiguous_type(DType::kInt64, {})),
                                     view(&lr, contiguous_type(DType::kFloat32, {})),
                                     view(&skip, contiguous_type(DType::kBool, {}))};
    const std::vector<TensorView> out{in[0], in[2], in[3]};
    const Attributes attributes = AdamWAttributes{rule, 0.9, 0.999, 1e-8, 0.01};
    for (const Kernel& kernel : backend.kernels(kAdamW)) {
      backend.launch({.kernel = &kernel, .attributes = &attributes, .in = in, .out = out, .workspace = nullptr});
      EXPECT_EQ(std::memcmp(state.data(), before.data(), state.size() * sizeof(float)), 0)
          << kernel.name << " " << name_of(rule);
    }
  }
}

}  // namespace
}  // namespace laptime::test
