// Predicted times of single launches on a machine described by a data sheet.
#include "predict/launch_times.h"

#include <gtest/gtest.h>

#include <vector>

namespace laptime {
namespace {

constexpr double kOwnBandwidth = 0.875;  // fraction of the bandwidth that laptime's compiled kernels reach

LaunchWork attention(double positions, int64_t width) {
  return {.kind = LaunchWork::Kind::kAttention,
          .written = {16, static_cast<int64_t>(positions), width},
          .flops = 4 * 16 * positions * positions * static_cast<double>(width)};
}

TEST(LaunchTimes, Tf32AttentionStoresItsScores) {
  const DataSheet h100 = find_machine("h100");
  const double positions = 4096;
  const LaunchWork work = attention(positions, 64);
  const LaunchTimes in_tf32(h100, h100.tf32, Program::kLaptime, Mode::kCompile, true, true);
  const LaunchTimes in_bfloat16(h100, h100.bfloat16, Program::kLaptime, Mode::kCompile);
  // Each of the two products counts as two passes over the scores of 16 heads.
  const double moved = 2 * 2 * 4 * 16 * positions * positions / (h100.bandwidth * kOwnBandwidth);
  const double multiplied = work.flops / (h100.tf32 * h100.reached_tf32);
  EXPECT_NEAR(in_tf32.kernel(work), moved + multiplied, 0.02 * moved);
  EXPECT_NEAR(in_bfloat16.kernel(work), work.flops / 2 / (h100.bfloat16 * h100.reached_attention), 5e-6);
}

TEST(LaunchTimes, AttentionOfOtherProgramsIsOneKernel) {
  const DataSheet h100 = find_machine("h100");
  const LaunchWork work = attention(4096, 64);
  const LaunchTimes compiled(h100, h100.tf32, Program::kPyTorchCompile, Mode::kCompile, true, true);
  EXPECT_NEAR(compiled.kernel(work), work.flops / 2 / (h100.tf32 * h100.reached_attention), 5e-6);
}

TEST(LaunchTimes, LaptimeCopiesUnalignedMatrices) {
  const DataSheet h100 = find_machine("h100");
  LaunchWork work{.kind = LaunchWork::Kind::kProduct,
                  .written = {1, 16384, 50257},
                  .flops = 2.0 * 16384 * 50257 * 768,
                  .bytes = 2.0 * 16384 * 50257};
  const auto kernel = [&](double product_peak, Program program) {
    return LaunchTimes(h100, product_peak, program, Mode::kCompile).kernel(work);
  };
  const double aligned = kernel(h100.bfloat16, Program::kLaptime);
  const double of_pytorch = kernel(h100.bfloat16, Program::kPyTorchCompile);
  const double in_float32 = kernel(h100.float32, Program::kLaptime);
  work.unaligned = work.bytes;
  EXPECT_NEAR(kernel(h100.bfloat16, Program::kLaptime) - aligned, 2 * work.bytes / (h100.bandwidth * kOwnBandwidth),
              1e-5);
  EXPECT_DOUBLE_EQ(kernel(h100.bfloat16, Program::kPyTorchCompile), of_pytorch);
  EXPECT_DOUBLE_EQ(kernel(h100.float32, Program::kLaptime), in_float32);
}

TEST(LaunchTimes, LaptimeKernelsHaveTheirOwnRates) {
  const DataSheet b200 = find_machine("b200");
  const auto kernel = [&](const LaunchWork& work, Program program, Mode mode) {
    return LaunchTimes(b200, b200.bfloat16, program, mode).kernel(work);
  };
  const LaunchWork moving{.bytes = 1e11};
  const double floor = moving.bytes / b200.bandwidth;
  EXPECT_NEAR(kernel(moving, Program::kLaptime, Mode::kCompile), floor / kOwnBandwidth, 1e-5);
  EXPECT_NEAR(kernel(moving, Program::kPyTorchCompile, Mode::kCompile), floor / b200.reached_bandwidth, 1e-5);
  EXPECT_NEAR(kernel(moving, Program::kLaptime, Mode::kEager), floor / 0.35, 1e-5);
  const DataSheet l4 = find_machine("l4");  // has enough processors for eager kernels to reach the same bandwidth
  EXPECT_DOUBLE_EQ(LaunchTimes(l4, l4.bfloat16, Program::kLaptime, Mode::kEager).kernel(moving),
                   LaunchTimes(l4, l4.bfloat16, Program::kLaptime, Mode::kCompile).kernel(moving));
  const LaunchWork product{.kind = LaunchWork::Kind::kProduct, .flops = 1e14};
  EXPECT_NEAR(
      kernel(product, Program::kPyTorchCompile, Mode::kCompile) / kernel(product, Program::kLaptime, Mode::kCompile),
      1.25, 1e-3);
}

TEST(LaunchTimes, KnownRunsDependOnTheProgramAndMode) {
  DataSheet machine = find_machine("h100");
  machine.laptime_compile = {.figures = 37, .error = 0.05, .low = 0.9, .high = 1.1};
  machine.laptime_eager = {};
  const auto figures = [&](Program program, Mode mode) {
    return LaunchTimes(machine, machine.bfloat16, program, mode).known_runs().value_or(KnownRuns{}).figures;
  };
  EXPECT_EQ(figures(Program::kLaptime, Mode::kCompile), 37);
  EXPECT_EQ(figures(Program::kLaptime, Mode::kEager), 0);
  EXPECT_EQ(figures(Program::kPyTorchEager, Mode::kEager), machine.eager.figures);
}

TEST(LaunchTimes, UsesTheTf32RateEvenIfPeaksAreEqual) {
  DataSheet machine = find_machine("rtx4090");
  ASSERT_EQ(machine.tf32, machine.float32);
  machine.reached_float32 = 0.9;
  machine.reached_tf32 = 0.6;
  const LaunchWork work{.kind = LaunchWork::Kind::kProduct, .flops = 1e12};
  const auto rate = [&](bool is_tf32) {
    const LaunchTimes times(machine, machine.tf32, Program::kPyTorchEager, Mode::kEager, true, is_tf32);
    return work.flops / times.kernel(work);
  };
  EXPECT_NEAR(rate(true), 0.6 * machine.tf32, 0.01 * machine.tf32);
  EXPECT_NEAR(rate(false), 0.9 * machine.tf32, 0.01 * machine.tf32);
}

struct Matrix {
  TensorType type;
};

TEST(LaunchTimes, CountsBytesOfMatricesWithUnalignedRows) {
  const std::vector<Matrix> in{{contiguous_type(DType::kBFloat16, {64, 768})},
                               {contiguous_type(DType::kBFloat16, {50257, 768})}};
  const std::vector<Matrix> out{{contiguous_type(DType::kBFloat16, {64, 50257})}};
  EXPECT_DOUBLE_EQ(unaligned_bytes(in, out), 2.0 * 64 * 50257);
  EXPECT_DOUBLE_EQ(unaligned_bytes(in, {}), 0);
}

}  // namespace
}  // namespace laptime
