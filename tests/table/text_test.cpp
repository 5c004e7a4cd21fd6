// Escapes, display widths and aligned columns.
#include "table/text.h"

#include <gtest/gtest.h>

#include <random>

namespace laptime {
namespace {

TEST(Text, EscapesControlBytes) {
  EXPECT_EQ(printable("plain: é 漢字"), "plain: é 漢字");
  EXPECT_EQ(printable("\x1b[31m"), "\\x1b[31m");
  EXPECT_EQ(printable("a\nb\tc\rd"), "a\\nb\\tc\\x0dd");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
  EXPECT_EQ(printable("\u009b2J"), "\\u{9b}2J");      // C1 control: ESC [ as one character
  EXPECT_EQ(printable("\u202egpj"), "\\u{202e}gpj");  // right-to-left override
  EXPECT_EQ(printable("\u2028\ufeff\u200b"), "\\u{2028}\\u{feff}\\u{200b}");
}

TEST(Text, EscapesInvalidUtf8) {
  EXPECT_EQ(printable("\xff"), "\\xff");
  EXPECT_EQ(printable("\xc3"), "\\xc3");                             // truncated
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");                    // overlong
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");           // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above the Unicode range
  EXPECT_EQ(printable("\x9b"
                      "2J"),
            "\\x9b2J");
}

TEST(Text, AsciiFormEscapesAllOtherCharacters) { EXPECT_EQ(printable("é 漢 \xff", true), "\\u{e9} \\u{6f22} \\xff"); }

TEST(Text, AsciiFormOfRandomBytesIsPrintable) {
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (size_t n = random() % 20; n > 0; --n) text += static_cast<char>(random() % 256);
    const std::string ascii = printable(text, true);
    for (const char c : ascii) ASSERT_TRUE(c >= 0x20 && c < 0x7F);
    EXPECT_EQ(printable(printable(text)), printable(text));
    EXPECT_LE(display_width(text), 2 * text.size());
  }
}

TEST(Text, MeasuresDisplayWidth) {
  EXPECT_EQ(display_width(""), 0U);
  EXPECT_EQ(display_width("abc"), 3U);
  EXPECT_EQ(display_width("±é"), 2U);
  EXPECT_EQ(display_width("漢字"), 4U);
  EXPECT_EQ(display_width("e\u0301"), 1U);
  EXPECT_EQ(display_width("🚀"), 2U);
}

TEST(Text, PadsToColumns) {
  EXPECT_EQ(pad_right("漢", 4), "漢  ");
  EXPECT_EQ(pad_left("±1", 4), "  ±1");
  EXPECT_EQ(pad_left("longer", 3), "longer");
}

TEST(Text, BreaksLinesAtSpaces) {
  EXPECT_EQ(broken_at_spaces("one two three", 0), "one two three");
  EXPECT_EQ(broken_at_spaces("one two three", 13), "one two three");
  EXPECT_EQ(broken_at_spaces("one two three", 12), "one two\nthree");
  EXPECT_EQ(broken_at_spaces("one two three", 4), "one\ntwo\nthree");
  EXPECT_EQ(broken_at_spaces("漢字 漢字", 8), "漢字\n漢字");
  EXPECT_EQ(broken_at_spaces("", 4), "");
}

TEST(Text, EscapesMarkdown) {
  EXPECT_EQ(markdown_escaped("a|b <c> *d* [e](f) `g` ~h &i \\"),
            "a\\|b &lt;c> \\*d\\* \\[e\\](f) \\`g\\` \\~h &amp;i \\\\");
  EXPECT_EQ(markdown_escaped("num_layers _x_"), "num_layers \\_x\\_");
  EXPECT_EQ(markdown_escaped("a\nb"), "a\\\\nb");
}

TEST(Text, EscapesCsv) {
  EXPECT_EQ(csv_text("plain"), "plain");
  EXPECT_EQ(csv_text("a,b \"c\""), "\"a,b \"\"c\"\"\"");
  EXPECT_EQ(csv_text("=1+1"), "'=1+1");
  EXPECT_EQ(csv_text("@x,y"), "\"'@x,y\"");
  EXPECT_EQ(csv_text("a\nb"), "a\\nb");
  EXPECT_EQ(csv_quoted("-1.5"), "-1.5");
}

TEST(Text, ShortensToWidth) {
  EXPECT_EQ(shortened("matmul", 6, true), "matmul");
  EXPECT_EQ(shortened("matmul:tiles", 8, true), "matmul:…");
  EXPECT_EQ(shortened("matmul:tiles", 8, false), "matmul..");
  EXPECT_EQ(shortened("漢字漢字", 5, true), "漢字…");
}

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
