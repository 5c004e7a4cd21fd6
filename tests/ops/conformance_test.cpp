// The conformance test, which runs the case tables of all ops, and a check that every op with kernels has a table.
#include "support/conformance.h"

#include <set>

#include "base/isa.h"
#include "ops/kernels_cpu.h"
#include "ops/kernels_cuda.h"

namespace laptime::test {

TEST_P(Conformance, MatchesReference) { check_conformance(GetParam()); }

// The name of a conformance test begins with MatchesReference/<op>_<dtype>_.
TEST(ConformanceTables, CoverEveryOpWithKernels) {
  std::set<std::string> tested;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) tested.insert(suite.GetTestInfo(k)->name());
  }
  std::vector<Kernel> kernels = cpu_kernels(cpu::widest_isa());
  for (Kernel& kernel : cuda_kernels()) kernels.push_back(std::move(kernel));
  for (const Kernel& kernel : kernels) {
    const bool needs_ranks =
        kernel.op->kind == OpKind::kCommunication || kernel.op->kind == OpKind::kWait;  // tested in collective_test.cpp
    if (kernel.name == kReferenceName || needs_ranks) continue;
    const auto has_table = [&](DType dtype) {
      const std::string prefix = fmt::format("MatchesReference/{}_{}_", kernel.op->name, name_of(dtype));
      const auto first = tested.lower_bound(prefix);
      return first != tested.end() && first->starts_with(prefix);
    };
    EXPECT_TRUE(has_table(DType::kFloat32) || has_table(DType::kBFloat16)) << kernel.op->name;
  }
}

}  // namespace laptime::test
