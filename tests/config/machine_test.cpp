// Data sheet files: the shipped files are valid, and invalid files give errors.
#include "config/machine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "base/error.h"
#include "support/error_of.h"

namespace laptime {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kPaper = R"(title = "Paper 1"
source = "a note"
memory = "8GiB"
bandwidth = 100e9
launch = 1e-6
float32 = 1e12
bfloat16 = 4e12
)";

std::string error_of(const std::string& text) {
  return test::error_of([&] { parse_machine(text, "paper.toml"); });
}

TEST(DataSheet, ReadsMachineFile) {
  const DataSheet machine = parse_machine(kPaper, "machines/paper.toml");
  EXPECT_EQ(machine.name, "paper");
  EXPECT_EQ(machine.title, "Paper 1");
  EXPECT_EQ(machine.memory, int64_t{8} << 30);
  EXPECT_EQ(machine.bfloat16, 4e12);
  EXPECT_EQ(machine.tf32, 0);
  EXPECT_EQ(machine.kind, MachineKind::kGpu);
  EXPECT_EQ(parse_machine(std::string(kPaper) + "kind = \"cpu\"\n", "paper.toml").kind, MachineKind::kCpu);
  EXPECT_EQ(find_machine("epyc-9554").kind, MachineKind::kCpu);
  EXPECT_EQ(machine.usable_bandwidth(), 100e9);
  const DataSheet measured =
      parse_machine(std::string(kPaper) + "measured_bandwidth = 80e9\nmeasured_source = \"me\"\n", "paper.toml");
  EXPECT_EQ(measured.usable_bandwidth(), 80e9);
  EXPECT_EQ(measured.bandwidth, 100e9);
}

TEST(DataSheet, ReachedRatesMustBeCompleteOrAbsent) {
  EXPECT_FALSE(parse_machine(kPaper, "paper.toml").has_reached_rates());
  std::string text(kPaper);
  text += "processors = 10\ncache = \"4MiB\"\nreached_float32 = 0.9\nreached_tf32 = 0.5\nreached_tensor = 0.6\n";
  text += "reached_bandwidth = 0.8\nreached_attention = 0.5\nhost_forward = 2e-5\nhost_compiled = 3e-5\n";
  EXPECT_THAT(error_of(text), HasSubstr("paper.toml: processors is given without reached_source; give all of "));
  text += "reached_source = \"me\"\neager_figures = 12\neager_error = 0.05\neager_low = 0.9\neager_high = 1.2\n";
  const DataSheet machine = parse_machine(text, "paper.toml");
  EXPECT_TRUE(machine.has_reached_rates());
  EXPECT_EQ(machine.processors, 10);
  EXPECT_EQ(machine.cache, int64_t{4} << 20);
  EXPECT_EQ(machine.host_compiled, 3e-5);
  EXPECT_EQ(machine.eager.figures, 12);
  EXPECT_EQ(machine.eager.high, 1.2);
  EXPECT_EQ(machine.compile.figures, 0);
  EXPECT_THAT(error_of(text + "reached_float64 = 1\n"), HasSubstr("unknown key 'reached_float64'"));
  text.replace(text.find("0.9"), 3, "1.9");
  EXPECT_THAT(error_of(text), HasSubstr("1.9 (fraction of the data sheet's figure) is impossible"));
}

TEST(DataSheet, LinkFieldsMustBeCompleteOrAbsent) {
  EXPECT_EQ(parse_machine(kPaper, "paper.toml").link_devices, 0);
  std::string text = std::string(kPaper) + "link_bandwidth = 300e9\nlink_devices = 8\nnetwork_bandwidth = 200e9\n";
  EXPECT_THAT(error_of(text), HasSubstr("link_bandwidth is given without link_latency; give all of "));
  text += "link_latency = 2e-5\nreached_link = 0.8\nlink_source = \"me\"\n";
  const DataSheet machine = parse_machine(text, "paper.toml");
  EXPECT_EQ(machine.link_devices, 8);
  EXPECT_EQ(machine.network_bandwidth, 200e9);
}

TEST(DataSheet, RejectsIncompleteOrInvalidErrorRanges) {
  for (const std::string mode : {"eager", "compile", "parallel"}) {
    const std::string start = fmt::format("{0}{1}_figures = 12\n{1}_error = 0.05\n", kPaper, mode);
    const auto range = [&](const std::string& low, const std::string& high) {
      return fmt::format("{0}{1}_low = {2}\n{1}_high = {3}\n", start, mode, low, high);
    };
    EXPECT_EQ(error_of(range("0.9", "1.2")), "");
    EXPECT_EQ(error_of(range("0.9", "0.9")), "");
    EXPECT_THAT(error_of(start),
                HasSubstr(fmt::format("paper.toml: {0}_figures is given without {0}_low; give all of ", mode)));
    EXPECT_THAT(error_of(range("0", "1.2")),
                HasSubstr(fmt::format("{0}_low = 0 and {0}_high = 1.2 are not a range", mode)));
    EXPECT_THAT(error_of(range("1.2", "0.9")), HasSubstr("are not a range; give ratios above 0"));
  }
}

TEST(DataSheet, MissingFileErrorPointsToDeviceList) {
  EXPECT_THAT(test::error_of([] { find_machine("no/such.toml"); }),
              AllOf(HasSubstr("machine file 'no/such.toml' does not exist; laptime list devices "),
                    HasSubstr("docs/adding_a_machine.md")));
}

TEST(DataSheet, MatchesDriverDeviceNames) {
  const DataSheet* const card = machine_of_driver("NVIDIA H200");
  ASSERT_NE(card, nullptr);
  EXPECT_EQ(card->name, "h200");
  EXPECT_EQ(machine_of_driver("NVIDIA H200 NVL"), nullptr);  // a different card
  EXPECT_EQ(machine_of_driver(""), nullptr);
}

TEST(DataSheet, ErrorNamesTheLine) {
  const std::string paper(kPaper);
  const auto with = [&](const std::string& line) { return paper + line + "\n"; };
  EXPECT_THAT(error_of(with("bandwith = 1e9")),
              HasSubstr("paper.toml:8: unknown key 'bandwith'; did you mean 'bandwidth'"));
  EXPECT_THAT(error_of(with("tf32 = -1")),
              HasSubstr("paper.toml:8: tf32: -1 (FLOP/s) is impossible; give a number such as"));
  EXPECT_THAT(error_of(with("tf32 = \"35.6 TFLOPS\"")),
              HasSubstr("paper.toml:8: tf32: give a number without quotes, such as 35.6e12 (FLOP/s)"));
  for (const char* line : {"processors = 1.5", "link_devices = 8.5", "eager_figures = 101.7"})
    EXPECT_THAT(error_of(with(line)), HasSubstr("(count) is impossible")) << line;
  EXPECT_THAT(error_of(with("processors = 132.0")), HasSubstr("processors is given without"));
  EXPECT_THAT(error_of(with("tf32 = true")), HasSubstr("paper.toml:8: tf32: give a number"));
  EXPECT_THAT(error_of(with("measured_bandwidth = 936")), HasSubstr("936 (bytes/s) is impossible"));
  EXPECT_THAT(error_of("launch = 8\n"), HasSubstr("paper.toml:1: launch: 8 (seconds) is impossible"));
  EXPECT_THAT(error_of("memory = 24\n"), HasSubstr("give a size in quotes, such as \"24GiB\""));
  EXPECT_THAT(error_of(with("kind = \"tpu\"")), HasSubstr("paper.toml:8: kind: unknown kind of machine 'tpu'"));
  EXPECT_THAT(error_of(with("kind = 1")), HasSubstr("paper.toml:8: kind: give non-empty text in quotes"));
  EXPECT_THAT(error_of(with("power = 350")), HasSubstr("(keys: title, source, memory"));
  EXPECT_THAT(error_of(with("tf32 = inf")), HasSubstr("paper.toml:8"));
  EXPECT_THAT(error_of(with("[peak]")), HasSubstr("paper.toml:8"));
  EXPECT_THAT(error_of(with("measured_float32 = 1e11")), HasSubstr("without measured_source"));
  EXPECT_THAT(error_of(with("measured_float32 = 2e12\nmeasured_source = \"me\"")), HasSubstr("is above float32"));
  EXPECT_THAT(error_of(paper.substr(0, paper.find("float32"))),
              HasSubstr("the key 'float32' is missing; write a line such as float32 = 35.6e12"));
  EXPECT_THAT(error_of(paper.substr(paper.find("source"))), HasSubstr("the key 'title' is missing"));
  EXPECT_THAT(error_of("memory = \"8 apples\"\n"), HasSubstr("paper.toml:1: memory"));
  EXPECT_THAT(error_of(std::string(kMaxMachineFileBytes + 1, '#')), HasSubstr("larger than"));
}

TEST(DataSheet, ShippedMachinesAreValid) {
  std::set<std::string> names;
  for (const DataSheet& machine : known_machines()) {
    EXPECT_TRUE(names.insert(machine.name).second);
    EXPECT_GT(machine.memory, int64_t{1} << 30) << machine.name;
    EXPECT_GT(machine.bandwidth, 1e10) << machine.name;
    EXPECT_LT(machine.bandwidth, 1e13) << machine.name;
    EXPECT_GE(machine.float32, 1e12) << machine.name;
    EXPECT_TRUE(machine.bfloat16 == 0 || machine.bfloat16 >= machine.float32) << machine.name;
    EXPECT_EQ(find_machine(machine.name).title, machine.title);
  }
  for (const char* const name : {"a100", "a100-40", "h100", "h100-pcie", "h100-nvl", "h200", "b200", "rtx4090",
                                 "rtx-pro-6000", "l4", "l40s", "rtx3070", "m4", "epyc-9554"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST(DataSheet, RatesOfNarrowTypesExcludeSparsity) {
  const DataSheet machine = find_machine("rtx-pro-6000");
  EXPECT_EQ(machine.float8, 2 * machine.bfloat16);
  EXPECT_EQ(machine.float4, 4 * machine.bfloat16);
}

TEST(DataSheet, ReadsUserFileByPath) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "own_machine.toml";
  std::ofstream(path) << kPaper;
  EXPECT_EQ(find_machine(path.string()).name, "own_machine");
  std::filesystem::remove(path);
  EXPECT_THROW(find_machine("/nowhere/own.toml"), Error);
  EXPECT_THROW(find_machine("h10"), Error);
}

}  // namespace
}  // namespace laptime
