// How a GEMM divides its result into blocks.
#include "backend/cpu/gemm/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

namespace laptime::cpu {
namespace {

GemmShape shape_of(int64_t batches, int64_t m, int64_t n, int64_t k) {
  return {batches, m, n, k, {m * k, k, 1}, {k * n, n, 1}};
}

void check_cut(const GemmShape& shape, const GemmCut::Limits& limits) {
  const GemmCut cut(shape, limits);
  std::vector<int> covered(static_cast<size_t>(shape.batches * shape.m * shape.n), 0);
  for (int64_t index = 0; index < cut.count(); ++index) {
    const GemmBlock block = cut[index];
    ASSERT_GT(block.rows, 0);
    ASSERT_GT(block.columns, 0);
    ASSERT_LE(block.rows, limits.rows);
    ASSERT_LE(block.columns, limits.columns);
    ASSERT_EQ(block.rows, cut.rows(block.row + block.rows == shape.m));
    ASSERT_EQ(block.columns, cut.columns(block.column + block.columns == shape.n));
    for (int64_t i = 0; i < block.rows; ++i) {
      for (int64_t j = 0; j < block.columns; ++j)
        ++covered[static_cast<size_t>(position_in_c(shape, block) + i * shape.n + j)];
    }
  }
  ASSERT_TRUE(std::all_of(covered.begin(), covered.end(), [](int n) { return n == 1; }))
      << shape.m << " x " << shape.n << " x " << shape.k << ", " << cut.count() << " blocks";
}

TEST(GemmCut, BlocksCoverEachElementOnce) {
  constexpr GemmCut::Limits kBlocks{.rows = 512, .columns = 768, .row_multiple = 8, .column_multiple = 48};
  std::minstd_rand random(1);
  for (int i = 0; i < 300; ++i) {
    const auto pick = [&](int64_t largest) {
      return 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(largest));
    };
    check_cut(shape_of(pick(3), pick(700), pick(900), pick(2000)), kBlocks);
    check_cut(shape_of(1, pick(400), pick(400), pick(20000)),
              {.rows = 28, .columns = 64, .row_multiple = 14, .column_multiple = 32});
  }
  check_cut(shape_of(1, 1, 1, 1), kBlocks);
  check_cut(shape_of(48, 1, 1, 1'000'000'000), kBlocks);
}

}  // namespace
}  // namespace laptime::cpu
