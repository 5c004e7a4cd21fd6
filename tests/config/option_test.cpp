// Option values read from text, and the invariants of the option tables.
#include "config/option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "config/option_table.h"
#include "config/output_config.h"
#include "config/run_config.h"
#include "config/synonyms.h"
#include "support/error_of.h"

namespace laptime {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

std::string refusal(std::string_view flag, std::string_view text) {
  RunConfig config;
  return test::error_of([&] { EXPECT_TRUE(assign(config, flag, "here", text)) << flag; });
}

TEST(Synonyms, MapToExistingOptionsAndValues) {
  for (const Synonym& synonym : synonyms()) {
    if (synonym.flag.empty()) {
      const bool is_option = find_option<RunConfig>(synonym.meant) || find_option<OutputConfig>(synonym.meant);
      EXPECT_TRUE(is_option) << synonym.word;
      EXPECT_EQ(meant_flag(synonym.word), synonym.meant);
      continue;
    }
    RunConfig run;
    OutputConfig output;
    const bool assigned = synonym.flag == "output" ? assign(output, synonym.flag, "here", synonym.word)
                                                   : assign(run, synonym.flag, "here", synonym.word);
    EXPECT_TRUE(assigned) << synonym.word;
    const auto text = synonym.flag == "output" ? option_text(output, synonym.flag) : option_text(run, synonym.flag);
    EXPECT_EQ(text, synonym.meant) << synonym.word;
  }
}

TEST(Synonyms, AcceptKeysWithHyphensOrUnderscores) {
  EXPECT_EQ(meant_flag("context_length"), "context");
  EXPECT_EQ(meant_flag("Batch-Size"), "batch");
  EXPECT_EQ(meant_flag("num_heads"), "num-heads");
  EXPECT_EQ(meant_flag("output_file"), "output-file");
  EXPECT_EQ(meant_flag("nonsense"), "nonsense");
  EXPECT_EQ(meant_value("dtype", "BF16"), "bfloat16");
  EXPECT_EQ(meant_value("moments", "BF16"), "bfloat16");
  EXPECT_EQ(meant_value("data", "BF16"), "BF16");
}

TEST(Option, RejectsMalformedOrOutOfRangeIntegers) {
  for (const char* text : {"", " 1", "1 ", "+1", "1.0", "1e3", "0x10", "one", "1_000", "-", "--1", "1;", "\x01"}) {
    EXPECT_THAT(refusal("context", text), AllOf(StartsWith("here: "), HasSubstr("whole number"))) << text;
  }
  for (const char* text : {"0", "-1", "2147483648", "9223372036854775807", "99999999999999999999999"}) {
    EXPECT_THAT(refusal("context", text), HasSubstr("out of range")) << text;
  }
  EXPECT_EQ(refusal("seed", "9223372036854775807"), "");
  EXPECT_THAT(refusal("seed", "9223372036854775808"), HasSubstr("9223372036854775807"));
  EXPECT_EQ(refusal("seed", "-1"), "here: '-1' is out of range; give at least 0");
}

TEST(Option, RejectsMalformedOrOutOfRangeNumbers) {
  for (const char* text : {"nan", "inf", "-inf", "1e999", "-1", "1e-999"}) {
    EXPECT_THAT(refusal("lr", text), HasSubstr("out of range")) << text;
  }
  for (const char* text : {"", "x", "1,5", "0x1p3", "1e", "1.0f"}) {
    EXPECT_THAT(refusal("lr", text), HasSubstr("not a number")) << text;
  }
  EXPECT_EQ(refusal("lr", "3e-4"), "");
  EXPECT_THAT(refusal("beta1", "1"), HasSubstr("out of range"));
  EXPECT_THAT(refusal("timeout", "0"), HasSubstr("out of range"));
}

TEST(Option, ReadsTimesWithTheirUnits) {
  const auto seconds = [](std::string_view text) {
    RunConfig config;
    EXPECT_TRUE(assign(config, "budget", "here", text));
    return config.budget;
  };
  EXPECT_EQ(seconds("45"), 45);
  EXPECT_EQ(seconds("0.5s"), 0.5);
  EXPECT_EQ(seconds("5m"), 300);
  EXPECT_EQ(seconds("1.5h"), 5400);
  EXPECT_THAT(refusal("budget", "1e7h"), HasSubstr("out of range"));
}

TEST(Option, ErrorsShowAValidExample) {
  EXPECT_EQ(refusal("timeout", "soon"),
            "here: 'soon' is not a time; give 0.001 to 100000000 seconds, or a time such as 30s, 5m or 1h");
  EXPECT_EQ(refusal("timeout", "5q"),
            "here: '5q' is not a time; give 0.001 to 100000000 seconds, or a time such as 30s, 5m or 1h");
  EXPECT_EQ(refusal("threads", "8x"), "here: '8x' is not a whole number; give 1 to 4096");
  EXPECT_EQ(refusal("num-layers", "0.5"), "here: '0.5' is not a whole number; give 1 to 4096");
  EXPECT_EQ(refusal("weight-tie", "yes"), "here: 'yes' is not allowed; write true or false");
}

TEST(Option, AcceptsTextValuesOrExplainsTheError) {
  EXPECT_THAT(refusal("dtype", "bfloat"), AllOf(HasSubstr("did you mean 'bfloat16'?"), HasSubstr("float32, tf32")));
  EXPECT_THAT(refusal("mode", "compilde"),
              HasSubstr("unknown mode 'compilde'; did you mean 'compile'? (one of: eager, compile)"));
  EXPECT_EQ(refusal("pass", "train_step"), "");
  EXPECT_EQ(refusal("recompute", "every=3"), "");
  EXPECT_THAT(refusal("recompute", "every=0"), HasSubstr("out of range"));
  EXPECT_THAT(refusal("recompute", "blocks"), HasSubstr("did you mean 'block'?"));
  EXPECT_EQ(refusal("memory-limit", "1.5GB"), "");
  EXPECT_EQ(refusal("memory-limit", "8 GiB"), "");
  EXPECT_THAT(refusal("memory-limit", "8 giraffes"), HasSubstr("is not a size"));
  EXPECT_THAT(refusal("memory-limit", "GiB"), HasSubstr("is not a size"));
  EXPECT_EQ(refusal("memory-limit", "2000000"), "");
  EXPECT_EQ(refusal("memory-limit", "8B"), "");
  EXPECT_THAT(refusal("memory-limit", "8"), HasSubstr("'8' has no unit; did you mean 8GiB?"));
  EXPECT_THAT(refusal("memory-limit", "4096"), HasSubstr("'4096' has no unit; did you mean 4096MiB?"));
  EXPECT_THAT(refusal("model", "smal"), HasSubstr("did you mean 'small'?"));
  EXPECT_THAT(refusal("model", "gpt2-125M"), HasSubstr("did you mean 'gpt2-124M'?"));
  for (const char* const path : {"./gpt2", "../gpt2", "/nowhere/gpt2", "runs/last/gpt2"})
    EXPECT_THAT(refusal("model", path), HasSubstr("no file or folder")) << path;
  for (const char* const scaling : {"llama3:inf:1:4:8192", "llama3:8:1:inf:8192", "llama3:8:1:4", "llama3:8:4:1:8192"})
    EXPECT_THAT(refusal("rope-scaling", scaling), HasSubstr("is not a RoPE scaling")) << scaling;
  EXPECT_THAT(refusal("data", ""), HasSubstr("empty"));
  EXPECT_THAT(refusal("data", std::string_view("a\0b", 3)), HasSubstr("control character"));
  EXPECT_THAT(refusal("data", std::string(5000, 'a')), HasSubstr("5000 bytes long"));
  for (const char* device : {"auto", "cpu", "cuda", "roofline:h200"}) {
    EXPECT_EQ(refusal("device", device), "") << device;
  }
  for (const char* device : {"AUTO", "CPU", "H100", "roofline:H100", "ROOFLINE:h100", "h100_nvl", "GPU"}) {
    EXPECT_EQ(refusal("device", device), "") << device;
  }
  EXPECT_EQ(meant_value("device", "H100"), "roofline:h100");
  EXPECT_EQ(meant_value("device", "Roofline:RTX-Pro-6000"), "roofline:rtx-pro-6000");
  EXPECT_EQ(meant_value("device", "CPU"), "cpu");
  EXPECT_EQ(meant_value("device", "My.toml"), "roofline:My.toml");  // file names are case-sensitive
  EXPECT_THAT(
      refusal("device", "a100-80"),
      HasSubstr("did you mean roofline:a100-40 (NVIDIA A100 SXM 40 GB) or roofline:a100 (NVIDIA A100 SXM 80 GB)?"));
  EXPECT_THAT(refusal("device", "a100-80"), HasSubstr("laptime list devices"));
  EXPECT_THAT(refusal("device", "H20O"), HasSubstr("roofline:h200 "));
  EXPECT_THAT(refusal("device", "tpu"), HasSubstr("one of: auto, cpu"));
  for (const char* machine : {"roofline:NAME", "roofline:A100-80GB", "roofline:h1000"})
    EXPECT_THAT(refusal("device", machine), HasSubstr(fmt::format("here: unknown machine '{}'", machine)));
  for (const char* device : {"gpus", "roofline", "roofline:", "roofline:a/b", "cpu "}) {
    EXPECT_THAT(refusal("device", device), HasSubstr("unknown device")) << device;
  }
}

TEST(Option, NoneResetsOptionalValues) {
  RunConfig config;
  ASSERT_TRUE(assign(config, "clip-norm", "here", "0.5"));
  EXPECT_EQ(config.clip_norm, 0.5);
  ASSERT_TRUE(assign(config, "clip_norm", "here", "none"));
  EXPECT_FALSE(config.clip_norm.has_value());
  EXPECT_THAT(refusal("clip-norm", "auto"), HasSubstr("not a number"));
}

TEST(OptionTable, ValuesRoundTripThroughText) {
  RunConfig config;
  config.model.edition = Edition::kGpt2;
  config.lr = 0.1 + 0.2;
  config.clip_norm = 1.0 / 3;
  config.steps = 3;
  config.data = "a b,c.txt";
  config.weights = "w";
  config.seed = INT64_MAX;
  RunConfig copy;
  for (const OptionRow& row : option_rows<RunConfig>()) {
    const std::optional<std::string> text = option_text(config, row.option.flag);
    ASSERT_TRUE(text.has_value());
    EXPECT_TRUE(assign(copy, row.option.key, "here", *text)) << row.option.key;
  }
  EXPECT_EQ(copy, config);
}

TEST(OptionTable, NamesAreUniqueAndEveryOptionHasHelp) {
  std::set<std::string_view> flags;
  std::set<std::string_view> keys;
  std::set<std::string_view> tags;
  const auto check = [&](const OptionRow& row) {
    EXPECT_TRUE(flags.insert(row.option.flag).second) << row.option.flag;
    EXPECT_TRUE(keys.insert(row.option.key).second) << row.option.key;
    if (row.option.axis) {
      EXPECT_TRUE(tags.insert(row.option.tag).second) << row.option.tag;
      EXPECT_FALSE(row.option.tag.empty()) << row.option.flag;
    }
    EXPECT_FALSE(row.option.group.empty()) << row.option.flag;
    EXPECT_FALSE(row.option.help.empty()) << row.option.flag;
    EXPECT_FALSE(row.fallback.empty()) << row.option.flag;
  };
  for (const OptionRow& row : option_rows<RunConfig>()) check(row);
  for (const OptionRow& row : option_rows<OutputConfig>()) check(row);
}

TEST(OptionTable, HasEveryKeyThatRecordsUse) {
  const RunConfig config;
  for (const char* key :
       {"model", "edition", "d_model", "d_ff", "num_layers", "num_heads", "vocab_size", "context_length", "batch_size",
        "dtype", "mode", "pass", "device", "threads", "warmup", "steps", "seed", "optimizer"}) {
    EXPECT_TRUE(option_text(config, key).has_value()) << key;
  }
  EXPECT_FALSE(option_text(config, "nothing").has_value());
}

}  // namespace
}  // namespace laptime
