// Rows of cells in aligned columns.
#include "report/aligned.h"

#include <gtest/gtest.h>

namespace laptime {
namespace {

TEST(Aligned, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(aligned({{"op", "nodes", ""}, {"matmul", "7", "x"}, {"add"}}, {false, true}),
            "op      nodes\n"
            "matmul      7  x\n"
            "add\n");
}

TEST(Aligned, WidthsAreThoseOfATerminal) {
  EXPECT_EQ(aligned({{"é", "b"}, {"漢字", "b"}}, {}, 2), "  é     b\n  漢字  b\n");
}

TEST(Aligned, NothingIsNoText) { EXPECT_EQ(aligned({}), ""); }

}  // namespace
}  // namespace laptime
