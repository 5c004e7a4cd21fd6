// Parsers of text files in /proc and /sys, with files of several machines and malformed files.
#include "base/proc_text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/fake_root.h"

namespace laptime {
namespace {

using Numbers = std::vector<int64_t>;
using Words = std::vector<std::string>;

TEST(Split, DropsEmptyParts) {
  EXPECT_EQ(split("a  b ", ' '), (std::vector<std::string_view>{"a", "b"}));
  EXPECT_TRUE(split("", ',').empty());
  EXPECT_TRUE(split(",,", ',').empty());
}

TEST(ParseInt64, RejectsMalformedOrTooLargeNumbers) {
  EXPECT_EQ(parse_int64("42"), 42);
  EXPECT_EQ(parse_int64("-1"), -1);
  for (const char* bad : {"", "max", "4 2", "42x", "9223372036854775808"}) EXPECT_FALSE(parse_int64(bad)) << bad;
}

TEST(LineValue, FindsWholeKeys) {
  const std::string text =
      "MemTotal:       24684084 kB\nMemTotalOther: 1 kB\nVmSize:\t  12 kB\nnr_throttled 7\nEmpty:\n";
  EXPECT_EQ(line_value(text, "MemTotal"), "24684084 kB");
  EXPECT_EQ(line_bytes(text, "MemTotal"), 24684084LL * 1024);
  EXPECT_EQ(line_bytes(text, "VmSize"), 12 * 1024);
  EXPECT_EQ(line_number(text, "nr_throttled"), 7);
  EXPECT_EQ(line_bytes(text, "nr_throttled"), 7);
  EXPECT_EQ(line_value(text, "Empty"), "");
  EXPECT_FALSE(line_number(text, "Empty"));
  EXPECT_FALSE(line_value(text, "Mem"));
  EXPECT_FALSE(line_value(text, "Absent"));
  EXPECT_FALSE(line_bytes("MemTotal: 9223372036854775807 kB", "MemTotal"));  // more than 63 bits
}

TEST(CpuList, ParsesRangesAndSingleCpus) {
  EXPECT_EQ(parse_cpu_list("0-2,5\n"), (Numbers{0, 1, 2, 5}));
  EXPECT_EQ(parse_cpu_list("7"), (Numbers{7}));
  for (const char* bad : {"", "a", "3-1", "-1", "1-", "0-99999999"}) EXPECT_TRUE(parse_cpu_list(bad).empty()) << bad;
}

TEST(Bracketed, ReadsSelectedSetting) {
  EXPECT_EQ(bracketed("always [madvise] never\n"), "madvise");
  EXPECT_FALSE(bracketed("always madvise"));
  EXPECT_FALSE(bracketed("] ["));
}

TEST(CacheSize, ParsesUnits) {
  EXPECT_EQ(parse_cache_size("32K\n"), 32768);
  EXPECT_EQ(parse_cache_size("2M"), 2097152);
  EXPECT_EQ(parse_cache_size("4096"), 4096);
  EXPECT_FALSE(parse_cache_size(""));
  EXPECT_FALSE(parse_cache_size("K"));
}

constexpr const char* kStat =
    "cpu  300 0 30 4000 5 0 1 60 0 0\n"
    "cpu0 100 0 10 2000 5 0 1 11 0 0\n"
    "cpu1 200 0 20 2000 0 0 0 22 0 0\n"
    "cpu12 200 0 20 2000 0 0 0 27 0 0\n"
    "intr 12345\n";

TEST(StealTicks, AreSummedOverAllowedCores) {
  EXPECT_EQ(parse_steal_ticks(kStat, {0, 1}), 33);
  EXPECT_EQ(parse_steal_ticks(kStat, {12}), 27);
  EXPECT_FALSE(parse_steal_ticks(kStat, {3}));
  EXPECT_FALSE(parse_steal_ticks("cpu0 1 2 3\n", {0}));  // a kernel that does not count steal time
}

TEST(LoadAverage, ParsesThreeNumbers) {
  EXPECT_EQ(parse_load_average("0.50 1.25 2.00 1/92 5456\n"), (std::vector<double>{0.5, 1.25, 2.0}));
  EXPECT_TRUE(parse_load_average("").empty());
  EXPECT_TRUE(parse_load_average("x 1 2").empty());
}

TEST(RunDelay, ReadsSecondField) {
  EXPECT_DOUBLE_EQ(parse_run_delay("394552 3000000000 2\n").value_or(0), 3);
  EXPECT_FALSE(parse_run_delay("394552 3000000000"));
  EXPECT_FALSE(parse_run_delay("1 x 2"));
  EXPECT_FALSE(parse_run_delay(""));
}

// Two sockets, each with one core of two threads.
constexpr const char* kCpuinfo =
    "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 207\n"
    "model name\t: INTEL(R) XEON(R) PLATINUM 8581C\nstepping\t: 2\nmicrocode\t: 0x21000290\n"
    "physical id\t: 0\nsiblings\t: 2\ncore id\t\t: 0\ncpu cores\t: 1\nflags\t\t: fpu avx2 fma avx512f\n\n"
    "processor\t: 1\nphysical id\t: 0\ncore id\t\t: 0\n\n"
    "processor\t: 2\nphysical id\t: 1\ncore id\t\t: 0\n\n"
    "processor\t: 3\nphysical id\t: 1\ncore id\t\t: 0\n";

TEST(Cpuinfo, CountsCoresOfTwoSocketsWithSmt) {
  const Processor processor = parse_cpuinfo(kCpuinfo);
  EXPECT_EQ(processor.vendor, "GenuineIntel");
  EXPECT_EQ(processor.model_name, "INTEL(R) XEON(R) PLATINUM 8581C");
  EXPECT_EQ(processor.family, 6);
  EXPECT_EQ(processor.model, 207);
  EXPECT_EQ(processor.stepping, 2);
  EXPECT_EQ(processor.microcode, "0x21000290");
  EXPECT_EQ(processor.sockets, 2);
  EXPECT_EQ(processor.physical_cores, 2);
  EXPECT_EQ(processor.smt, true);
  EXPECT_EQ(processor.flags, (Words{"fpu", "avx2", "fma", "avx512f"}));
}

TEST(Cpuinfo, LeavesMissingFieldsEmpty) {
  for (const char* text : {"", "nonsense", ":::\n\n::", "model\nflags"}) {
    const Processor processor = parse_cpuinfo(text);
    EXPECT_FALSE(processor.model_name) << text;
    EXPECT_FALSE(processor.model) << text;
    EXPECT_FALSE(processor.sockets) << text;
    EXPECT_FALSE(processor.smt) << text;
    EXPECT_TRUE(processor.flags.empty()) << text;
  }
}

TEST(ReadText, ReadsLongFilesButNotMissingOrEmptyOnes) {
  const FakeRoot root;
  root.write("empty", "\n");
  root.write("long", std::string(10000, 'x'));
  root.write("word", " performance\n");
  EXPECT_FALSE(read_text_file(root.path() / "missing"));
  EXPECT_FALSE(read_word(root.path() / "empty"));
  EXPECT_EQ(read_text_file(root.path() / "long")->size(), 10000U);
  EXPECT_EQ(read_word(root.path() / "word"), "performance");
  EXPECT_FALSE(read_word(root.path()));  // a folder, not a file
}

}  // namespace
}  // namespace laptime
