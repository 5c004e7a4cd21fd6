// Sweep files: order of options, value types, errors with line numbers, hostile input, and the files in sweeps/.
#include "config/sweep_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "base/error.h"
#include "config/ready_sweeps.h"
#include "points/expand.h"
#include "support/error_of.h"

namespace laptime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string refusal(const std::string& text) {
  return test::error_of([&] { parse_sweep(text, "a.toml"); });
}

TEST(SweepFile, KeepsTheOrderOfTheFile) {
  const Sweep sweep = parse_sweep("warmup = [0, 1]\nmodel = \"small\"\ncontext = [128, 256]\n", "a.toml");
  ASSERT_EQ(sweep.axes.size(), 3U);
  EXPECT_EQ(sweep.axes[0].flag, "warmup");
  EXPECT_EQ(sweep.axes[1].flag, "model");
  EXPECT_EQ(sweep.axes[2].flag, "context");
  EXPECT_THAT(sweep.axes[2].values, ElementsAre("128", "256"));
}

TEST(SweepFile, ReadsTimesWithTheirUnits) {
  EXPECT_THAT(parse_sweep("budget = [\"5m\", 30]\n", "a.toml").axes[0].values, ElementsAre("300", "30"));
  EXPECT_THAT(refusal("budget = true"), HasSubstr("give seconds or a time such as \"5m\", or an array of them"));
}

TEST(SweepFile, JoinsListOfColumns) {
  EXPECT_EQ(parse_sweep("columns = [\"mean\", \"std\"]\n", "a.toml").output.columns, "mean,std");
}

TEST(SweepFile, AcceptsSynonyms) {
  const Sweep sweep = parse_sweep("seq_len = [128]\nbatch-size = 2\ndtype = \"bf16\"\nformat = \"md\"\n", "a.toml");
  ASSERT_EQ(sweep.axes.size(), 3U);
  EXPECT_EQ(sweep.axes[0].flag, "context");
  EXPECT_EQ(sweep.axes[1].flag, "batch");
  EXPECT_THAT(sweep.axes[2].values, ElementsAre("bfloat16"));
  EXPECT_EQ(sweep.output.output, OutputFormat::kMarkdown);
}

TEST(SweepFile, ErrorSuggestsQuotes) {
  EXPECT_THAT(refusal("model = small\n"), testing::EndsWith("; a word needs quotes: key = \"value\""));
}

TEST(SweepFile, ReadsEveryType) {
  const Sweep sweep = parse_sweep(R"(
edition = 2024
optimizer = ["2025", "torch"]
lr = [1e-3, 1]
clip-norm = [0.5, "none"]
steps = 5
accumulate = true
timeout = 60
columns = 2024
label = "{model}"
resume = false
output = "csv"
)",
                                  "a.toml");
  EXPECT_EQ(sweep.output.columns, "2024");
  EXPECT_EQ(sweep.output.output, OutputFormat::kCsv);
  const std::vector<SweepPoint> points = expand(sweep);
  ASSERT_EQ(points.size(), 8U);
  EXPECT_EQ(points[0].label, "small");
  EXPECT_TRUE(points[0].config.accumulate);
  EXPECT_EQ(points[0].config.model.edition, Edition::k2024);
  EXPECT_EQ(points[0].config.clip_norm, 0.5);
  EXPECT_FALSE(points[1].config.clip_norm.has_value());
  EXPECT_EQ(points[2].config.lr, 1.0);
}

TEST(SweepFile, ErrorNamesTheLine) {
  EXPECT_THAT(refusal("model = \"small\"\ncontxt = 3\n"),
              AllOf(StartsWith("a.toml:2: unknown key 'contxt'"), HasSubstr("did you mean 'context'?")));
  EXPECT_THAT(refusal("\n\ncontext = \"128\"\n"),
              AllOf(StartsWith("a.toml:3: context: wrong type string"), HasSubstr("a whole number")));
  EXPECT_THAT(refusal("context = [128, 2.5]"), StartsWith("a.toml:1: context: wrong type floating-point"));
  EXPECT_THAT(refusal("context = [[128]]"), StartsWith("a.toml:1: context: wrong type array"));
  EXPECT_THAT(refusal("context = {a = 1}"), StartsWith("a.toml:1: a brace outside a string"));
  EXPECT_THAT(refusal("[bench]\ncontext = 1"), StartsWith("a.toml:1: not of the form 'key = value'"));
  EXPECT_THAT(refusal("context = [\n 1,\n]\nmodel"), StartsWith("a.toml:4: not of the form 'key = value'"));
  EXPECT_THAT(refusal("accumulate = 1"), HasSubstr("wrong type integer; give true or false"));
  EXPECT_THAT(refusal("seed = 1979-05-27"), HasSubstr("wrong type date"));
  EXPECT_THAT(refusal("context = []"), HasSubstr("empty"));
  EXPECT_THAT(refusal("context = 0"), AllOf(StartsWith("a.toml:1: context: '0' is out of range")));
  EXPECT_THAT(refusal("lr = nan"), HasSubstr("out of range"));
  EXPECT_THAT(refusal("timeout = [1, 2]"), HasSubstr("takes one value"));
  EXPECT_THAT(refusal("model = \"a\\u0000b\""), HasSubstr("control character"));
  EXPECT_THAT(refusal("config = \"other.toml\""), HasSubstr("unknown key 'config'"));
}

TEST(SweepFile, RejectsTwoNamesOfOneOption) {
  EXPECT_EQ(refusal("ctx = 8\n\ncontext = 16\n"),
            "a.toml:3: context sets the same option as ctx in line 1; write all of its values in one list");
  EXPECT_THAT(refusal("num_heads = 8\nnum-heads = 16\n"), StartsWith("a.toml:2: num-heads sets the same option"));
  EXPECT_EQ(refusal("format = \"md\"\noutput = \"csv\"\n"),
            "a.toml:2: output sets the same option as format in line 1; remove one of the two lines");
}

TEST(SweepFile, RejectsMalformedToml) {
  EXPECT_THAT(refusal("model = \n"), StartsWith("a.toml:1: "));
  EXPECT_THAT(refusal("a = 1\na = 2"), StartsWith("a.toml:2: "));
  EXPECT_THAT(refusal("\xff\xfe"), StartsWith("a.toml:1:"));
  EXPECT_THAT(refusal("seed = 99999999999999999999"), StartsWith("a.toml:1: "));
  EXPECT_EQ(refusal(""), "");
  EXPECT_EQ(refusal("\xef\xbb\xbfsteps = 3\r\n"), "");
}

TEST(SweepFile, ErrorNamesLookalikeCharacter) {
  EXPECT_THAT(refusal("batch = 2\nmodel\xC2\xA0= \"small\""),
              AllOf(StartsWith("a.toml:2:6: a no-break space (U+00A0)"), HasSubstr("write a space")));
  EXPECT_THAT(refusal("steps = \xE2\x88\x92"
                      "5"),
              StartsWith("a.toml:1:9: a minus sign (U+2212)"));
  EXPECT_THAT(refusal("model = \xE2\x80\x9Csmall\xE2\x80\x9D"), StartsWith("a.toml:1:9: a curved quote (U+201C)"));
  EXPECT_THAT(refusal("context = [\n 1,\xE2\x80\x8B\n]"), StartsWith("a.toml:2:4: a zero-width space"));
  EXPECT_THAT(refusal("\xC3\xA9 = 1"), StartsWith("a.toml:1:1: the byte 0xC3"));
  EXPECT_EQ(refusal("label = \"a\xC2\xA0z\"  # \xC2\xA0\n"), "");
}

TEST(SweepFile, RejectsUtf16) {
  EXPECT_THAT(refusal(std::string("\xff\xfem\0o\0", 6)),
              StartsWith("a.toml:1:1: the file is in UTF-16; save it as UTF-8"));
  EXPECT_THAT(refusal(std::string("s\0t\0e\0p\0s\0", 10)), HasSubstr("in UTF-16"));
  EXPECT_THAT(refusal(std::string("\xfe\xff\0s", 4)), HasSubstr("in UTF-16"));
}

TEST(SweepFile, ErrorSuggestsDecimalPoint) {
  EXPECT_THAT(refusal("batch = 2\nlr = 0,001"), AllOf(StartsWith("a.toml:2:"), HasSubstr("write a decimal point")));
}

TEST(SweepFile, AcceptsKeysOfOtherTrainersOrSuggestsReplacements) {
  EXPECT_THAT(refusal("global_batch_size = 8"), AllOf(StartsWith("a.toml:1:"), HasSubstr("--micro-batches")));
  EXPECT_THAT(refusal("micro_batch_size = 4\ngradient_accumulation_steps = 4"),
              AllOf(StartsWith("a.toml:1:"), HasSubstr("the sequences of one step on all ranks")));
  EXPECT_EQ(refusal("data = [\"a.bin\", \"b.bin\"]\nmax_seq_length = 64"), "");
  EXPECT_EQ(refusal("\"max_seq_length\" = 64"), "");
}

TEST(SweepFile, RejectsSectionsBracesAndMultiLineStrings) {
  for (const char* text :
       {"[$]", "[[a]]", "a.b = 1", "'a'.b = 1", "'a = 1", "$", " = 1", "context", "x = [1]\n]", "\xef\xbb\xbf[$]"}) {
    EXPECT_THAT(refusal(text), HasSubstr("not of the form 'key = value'")) << text;
  }
  for (const char* text : {"context = [}", "context = [1, }", "x = \"a\\\"\" }", "x = '\\' {"}) {
    EXPECT_THAT(refusal(text), HasSubstr("a brace outside a string")) << text;
  }
  EXPECT_THAT(refusal("model = \"\"\"small\"\"\""), StartsWith("a.toml:1: a multi-line string"));
  EXPECT_THAT(refusal("model = \"small\"\ndata = \'\'\'x\'\'\'"), StartsWith("a.toml:2: a multi-line string"));
  EXPECT_EQ(refusal("# {}\nlabel = '{model}' # '}\nsort = \"}\\\"}\" "), "");
}

TEST(SweepFile, RejectsDeepNestingAndLargeFiles) {
  EXPECT_THAT(refusal("context = " + std::string(8000, '[')), StartsWith("a.toml:1: "));
  std::string dotted = "a";
  while (dotted.size() + 6 < kMaxSweepFileBytes) dotted += ".a";
  EXPECT_THAT(refusal(dotted + " = 1"), HasSubstr("not of the form"));
  EXPECT_THAT(refusal("[" + dotted + "]"), HasSubstr("not of the form"));
  EXPECT_THAT(refusal(std::string(kMaxSweepFileBytes + 1, '#')), HasSubstr("larger than 16384 bytes"));
}

TEST(SweepFile, RejectsUnreadableFiles) {
  EXPECT_THROW(read_sweep_file("/does/not/exist.toml"), Error);
  EXPECT_THROW(read_sweep_file("/"), Error);
  const auto path = std::filesystem::path(testing::TempDir()) / "large.toml";
  std::ofstream(path) << std::string(kMaxSweepFileBytes + 1, '#');
  EXPECT_THROW(read_sweep_file(path), Error);
  std::filesystem::remove(path);
}

// A file with any byte changed, removed or duplicated gives a sweep or throws Error.
TEST(SweepFile, SlowSurvivesDamagedFiles) {
  const std::string whole =
      "columns = \"2024\"\nlabel = \"{model}_{mixed}\"\nedition = 2024\nmodel = [\"small\", \"medium\"]\n"
      "warmup = [0, 1]\nlr = [1e-3, 2.5]\ndtype = ['float32', \"mixed\"]\naccumulate = true\nclip-norm = \"none\"\n";
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::string text = whole;
    for (int edits = 1 + static_cast<int>(random() % 4); edits > 0; --edits) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random() % 8); break;
        case 2: text.insert(at, text.substr(random() % text.size(), random() % 16)); break;
        default: text[at] = "[]{}\"'=.,#\n\\-0"[random() % 14]; break;
      }
      if (text.empty()) break;
    }
    try {
      expand(parse_sweep(text, "a.toml"), 1000);
    } catch (const Error& error) {
      EXPECT_STRNE(error.what(), "");
    }
  }
}

TEST(SweepFile, ShippedSweepsExpand) {
  const std::filesystem::path folder = std::filesystem::path(LAPTIME_SOURCE_DIR) / "sweeps";
  const std::vector<std::pair<std::string, size_t>> sizes{
      {"end_to_end", 10},  {"warmup", 40},    {"contexts", 20},       {"mixed_precision", 30}, {"optimizer", 10},
      {"timeit_2024", 24}, {"attention", 40}, {"attention_wide", 40}, {"attention_small", 8},  {"assignment_2025", 48}};
  for (const auto& [name, size] : sizes) {
    const std::vector<SweepPoint> points = expand(read_sweep_file(folder / (name + ".toml")));
    EXPECT_EQ(points.size(), size) << name;
    for (const SweepPoint& point : points) {
      EXPECT_EQ(point.invalid, "") << point.name;
      EXPECT_TRUE(point.config.steps.has_value()) << point.name;
    }
  }
  const SweepPoint last = expand(read_sweep_file(folder / "timeit_2024.toml")).back();
  EXPECT_EQ(last.label, "medium_forward_backward_warmup_1_mixed_true");
  EXPECT_EQ(last.config.model.batch_size, 16);
  EXPECT_TRUE(last.config.accumulate);
}

// `laptime attention` runs the grid of sweeps/attention.toml, in eager mode by default.
TEST(SweepFile, AttentionSweepMatchesTheAttentionCommand) {
  const Sweep file = read_sweep_file(std::filesystem::path(LAPTIME_SOURCE_DIR) / "sweeps/attention.toml");
  for (const Axis& axis : attention_sweep().axes) {
    const Axis* const stated = find_axis(file, axis.flag);
    ASSERT_NE(stated, nullptr) << axis.flag;
    EXPECT_EQ(stated->values, axis.values) << axis.flag;
  }
  EXPECT_EQ(expand(attention_sweep()).size(), 20U);
}

TEST(SweepFile, RejectsEmptyValues) {
  for (const std::string_view flag : sweep_flags()) {
    for (const char* const value : {"\"\"", "[]", "[\"\"]", "''"}) {
      EXPECT_THROW(parse_sweep(fmt::format("{} = {}\n", flag, value), "a.toml"), Error) << flag << " = " << value;
    }
  }
}

std::string refusal_of_name(const std::string& name) {
  return test::error_of([&] { read_sweep("--config", name); });
}

TEST(ReadySweeps, MatchTheSweepsFolder) {
  const std::filesystem::path folder = std::filesystem::path(LAPTIME_SOURCE_DIR) / "sweeps";
  std::vector<std::string> stems;
  for (const auto& file : std::filesystem::directory_iterator(folder)) stems.push_back(file.path().stem().string());
  std::vector<std::string> names;
  for (const ReadySweep& ready : ready_sweeps()) {
    names.emplace_back(ready.name);
    const Sweep by_name = read_sweep("--config", names.back());
    const Sweep by_file = read_sweep("--config", (folder / (names.back() + ".toml")).string());
    EXPECT_EQ(by_name.name, by_file.name);
    EXPECT_EQ(by_name.file, "") << ready.name;
    EXPECT_EQ(by_name.output, by_file.output) << ready.name;
    ASSERT_EQ(by_name.axes.size(), by_file.axes.size()) << ready.name;
    for (size_t i = 0; i < by_name.axes.size(); ++i) EXPECT_EQ(by_name.axes[i].values, by_file.axes[i].values);
  }
  EXPECT_THAT(names, testing::UnorderedElementsAreArray(stems));
}

// `laptime list sweeps` shows only the first comment line of each file, so the line must be a whole sentence.
TEST(ReadySweeps, HaveOneSentenceDescriptions) {
  for (const ReadySweep& ready : ready_sweeps()) {
    EXPECT_GT(ready.about.size(), 20U) << ready.name;
    EXPECT_THAT(std::string(ready.about), testing::Not(HasSubstr(". "))) << ready.name;
    const bool is_whole = ready.about.ends_with('.') || ready.about.find(": laptime ") != std::string_view::npos;
    EXPECT_TRUE(is_whole) << ready.name << ": " << ready.about;
  }
}

TEST(ReadySweeps, FileOfTheSameNameTakesPrecedence) {
  const std::filesystem::path before = std::filesystem::current_path();
  const std::filesystem::path folder = std::filesystem::path(testing::TempDir()) / "ready_sweeps";
  std::filesystem::create_directories(folder / "contexts");  // a folder is not a file
  std::ofstream(folder / "end_to_end") << "context = 32\n";
  std::filesystem::current_path(folder);
  const Sweep file = read_sweep("--config", "end_to_end");
  const Sweep ready = read_sweep("--config", "contexts");
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
  EXPECT_EQ(file.file, "end_to_end");
  EXPECT_EQ(file.axes.size(), 1U);
  EXPECT_EQ(ready.name, "contexts");
  EXPECT_EQ(ready.file, "");
}

TEST(ReadySweeps, SuggestNearestName) {
  EXPECT_EQ(refusal_of_name("end_to_ende"),
            "--config: 'end_to_ende' is neither a file nor a built-in sweep; did you mean 'end_to_end'? "
            "(laptime list sweeps)");
  EXPECT_EQ(refusal_of_name("no/such/warmup.toml"),
            "--config: 'no/such/warmup.toml' does not exist; for the built-in sweep, omit the folder and .toml: "
            "warmup");
  EXPECT_THAT(refusal_of_name("my.toml"), HasSubstr("'my.toml' does not exist"));
}

}  // namespace
}  // namespace laptime
