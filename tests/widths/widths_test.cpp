// The loss, logits, gradients and weights have identical bits for any vector width, on all processors with fused
// multiply-adds. The test runs the instruction sets of this machine and, if none has 16 lanes, kernels compiled for
// AVX2 with 16 lanes.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/isa.h"
#include "support/training.h"

namespace laptime {

#ifdef LAPTIME_LANES16
namespace lanes16 {
std::vector<Kernel> kernels_of_all_families();
}
#endif

namespace test {
namespace {

struct Table {
  std::string name;
  std::vector<Kernel> kernels;
};

// Kernels that --reproducible allows, followed by the references.
Table reproducible(const std::string& name, std::vector<Kernel> kernels) {
  std::erase_if(kernels, [](const Kernel& kernel) { return !kernel.reproducible || kernel.name == kReferenceName; });
  for (const Kernel& reference : reference_kernels()) kernels.push_back(reference);
  return {name, std::move(kernels)};
}

std::vector<Table> tables() {
  std::vector<Table> tables;
  for (const cpu::Isa isa : cpu::runnable_isas()) {
    if (isa >= cpu::Isa::kAvx2) tables.push_back(reproducible(std::string(name_of(isa)), cpu_kernels(isa)));
  }
  if (tables.empty()) return tables;
#ifdef LAPTIME_LANES16
  tables.push_back(reproducible("16 lanes", lanes16::kernels_of_all_families()));
#endif
  return tables;
}

struct Case {
  std::string name;
  RunConfig config;
  bool compile = false;
  bool groups_rows = false;  // true if head and loss run in row groups
};
void PrintTo(const Case& value, std::ostream* stream) { *stream << value.name; }

std::vector<Case> cases() {
  std::vector<Case> cases;
  const auto add = [&](const std::string& name, const RunConfig& config) {
    cases.push_back({name + "_eager", config, false});
    cases.push_back({name + "_compile", config, true});
  };
  for (const Precision dtype : {Precision::kFloat32, Precision::kBFloat16}) {
    const std::string suffix = "_" + std::string(name_of(dtype));
    for (const Edition edition : kEditions)
      add("edition_" + std::string(name_of(edition)) + suffix, tiny_config(edition, dtype));
    add("odd" + suffix, odd_config(dtype));
    RunConfig long_context = tiny_config(Edition::k2025, dtype);  // attention has several blocks of rows and of keys
    long_context.model.context_length = 300;
    long_context.model.batch_size = 1;
    long_context.model.num_layers = 1;
    add("long" + suffix, long_context);
    RunConfig wide_heads = tiny_config(Edition::k2024, dtype);
    wide_heads.model.d_model = 267;
    wide_heads.model.num_heads = 1;
    wide_heads.model.num_layers = 1;
    add("wide_heads" + suffix, wide_heads);
    cases.push_back({"row_groups" + suffix, row_groups_config(dtype), true, true});
  }
  RunConfig dropout = tiny_config(Edition::k2024);
  dropout.model.embd_pdrop = dropout.model.attn_pdrop = dropout.model.resid_pdrop = 0.1;
  dropout.clip_norm = 0.5;
  add("dropout_and_clipping", dropout);
  return cases;
}

std::vector<std::byte> trained(const Case& of, const std::vector<Kernel>& kernels, int threads) {
  TrainingOptions options{.threads = threads};
  options.kernels = kernels;
  if (of.compile) options.passes = compile_options(of.config, of.groups_rows);
  Training training(of.config, options);
  std::vector<std::byte> all;
  for (int step = 0; step < 2; ++step) {
    training.step();
    const std::vector<std::byte> now = training.everything();
    all.insert(all.end(), now.begin(), now.end());
  }
  return all;
}

class Widths : public testing::TestWithParam<Case> {};

TEST_P(Widths, GiveTheSameBits) {
  static const std::vector<Table> kTables = tables();
  if (kTables.empty()) GTEST_SKIP() << "this machine has no fused multiply-adds";
  const std::vector<std::byte> expected = trained(GetParam(), kTables.front().kernels, 1);
  ASSERT_FALSE(expected.empty());
  for (const Table& table : kTables)
    EXPECT_TRUE(trained(GetParam(), table.kernels, 2) == expected) << table.name << " against " << kTables[0].name;
}

INSTANTIATE_TEST_SUITE_P(All, Widths, testing::ValuesIn(cases()),
                         [](const auto& parameter) { return parameter.param.name; });

}  // namespace
}  // namespace test
}  // namespace laptime
