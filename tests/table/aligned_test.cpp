// Rows of cells in aligned columns.
#include "table/aligned.h"

#include <gtest/gtest.h>

namespace laptime {
namespace {

TEST(Aligned, ColumnsAreAsWideAsTheirWidestCell) {
  EXPECT_EQ(aligned({{"op", "nodes", ""}, {"matmul", "7", "x"}, {"add"}}, {false, true}),
            "op      nodes\n"
            "matmul      7  x\n"
            "add\n");
}

TEST(Aligned, UsesDisplayWidths) { EXPECT_EQ(aligned({{"é", "b"}, {"漢字", "b"}}, {}, 2), "  é     b\n  漢字  b\n"); }

TEST(Aligned, BreaksLinesWiderThanTheTerminal) {
  const std::vector<Cells> rows{{"device", "what it is", "from"},
                                {"roofline:h100", "a machine of a data sheet", "a page"}};
  EXPECT_EQ(aligned(rows, {}, 0, 39),
            "device         what it is\n               from\nroofline:h100  a machine of a data\n               sheet\n"
            "               a page\n");
  EXPECT_EQ(aligned(rows, {}, 0, 30),
            "device\n    what it is\n    from\nroofline:h100\n    a machine of a data sheet\n    a page\n");
  EXPECT_EQ(aligned(rows, {}, 0, 80), aligned(rows));
}

TEST(Aligned, NoRowsGiveNoText) { EXPECT_EQ(aligned({}), ""); }

}  // namespace
}  // namespace laptime
