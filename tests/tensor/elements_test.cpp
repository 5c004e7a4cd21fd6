// Reading tensor elements as plain numbers.
#include "tensor/elements.h"

#include <gtest/gtest.h>

#include <array>

namespace laptime {
namespace {

TEST(Elements, AreInRowMajorOrder) {
  std::array<float, 6> memory{1, 2, 3, 4, 5, 6};
  const TensorView transposed{reinterpret_cast<std::byte*>(memory.data()),
                              {DType::kFloat32, permuted(Layout::contiguous({2, 3}), {1, 0})}};
  EXPECT_EQ(elements_of(transposed), (std::vector<double>{1, 4, 2, 5, 3, 6}));
}

}  // namespace
}  // namespace laptime
