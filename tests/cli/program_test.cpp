// The command line: what each command accepts, and its errors for everything else.
#include "cli/command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>

#include "base/error.h"
#include "cli/destination.h"
#include "cli/help.h"
#include "cli/inputs.h"
#include "config/option_table.h"
#include "config/ready_sweeps.h"
#include "config/synonyms.h"
#include "distribution/verdict.h"
#include "points/expand.h"
#include "support/error_of.h"
#include "table/text.h"

namespace laptime {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

CommandWords split(const std::string& line) { return parse_request(words_of(line)).words; }
Sweep sweep_of(const std::string& line) { return given_sweep(split(line)); }
Sweep attention(const std::string& line) { return given_attention_sweep(split(line)); }

// The text that `line` gives as the value of an option; empty if the option is not given.
std::string given(const std::string& line, std::string_view flag) {
  for (const GivenFlag& one : split(line).flags) {
    if (one.flag == flag) return one.text;
  }
  return "";
}

// The help or version text that `line` requests; empty if it runs a command.
std::string text(const std::string& line) { return parse_request(words_of(line)).text; }

// The text that `laptime list` prints for a topic.
std::string topic(std::string_view name) {
  for (const ListTopic& one : list_topics()) {
    if (one.name == name) return one.text(0);
  }
  return "";
}

std::string refusal_of(const std::vector<std::string>& words) {
  return test::error_of([&] { parse_arguments(words); });
}

std::string refusal(const std::string& line) { return refusal_of(words_of(line)); }

TEST(Args, SwitchDoesNotConsumeAFollowingFilter) {
  for (const char* line :
       {"show --last model = small", "show model = small --last", "show --last true model = small"}) {
    EXPECT_EQ(given(line, "last"), "true") << line;
    EXPECT_THAT(split(line).positionals, ElementsAre("model", "=", "small")) << line;
  }
  EXPECT_THAT(split("verify --verbose a.safetensors").positionals, ElementsAre("a.safetensors"));
}

TEST(Args, BenchKeepsTheOrderOfListOptions) {
  const Sweep sweep = sweep_of("bench --context 128,256 --model=small,2p7 --warmup 5 --resume");
  ASSERT_EQ(sweep.axes.size(), 3U);
  EXPECT_EQ(sweep.axes[0].flag, "context");
  EXPECT_EQ(sweep.axes[1].flag, "model");
  EXPECT_THAT(sweep.axes[1].values, ElementsAre("small", "2.7B"));
  EXPECT_TRUE(sweep.output.resume);
  EXPECT_EQ(expand(sweep).size(), 4U);
}

TEST(Args, AcceptsSynonyms) {
  const Sweep sweep =
      sweep_of("bench --seq-len 128 --batch_size=2 --layers 3 --dtype bf16,fp32 --gpu h100 --model gpt2 --output md");
  ASSERT_EQ(sweep.axes.size(), 6U);
  EXPECT_EQ(sweep.axes[0].flag, "context");
  EXPECT_EQ(sweep.axes[1].flag, "batch");
  EXPECT_EQ(sweep.axes[2].flag, "num-layers");
  EXPECT_THAT(sweep.axes[3].values, ElementsAre("bfloat16", "float32"));
  EXPECT_THAT(sweep.axes[4].values, ElementsAre("roofline:h100"));
  EXPECT_THAT(sweep.axes[5].values, ElementsAre("gpt2"));
  EXPECT_EQ(sweep.output.output, OutputFormat::kMarkdown);
  EXPECT_THAT(refusal("bench --ctx 128 --context 256"), HasSubstr("--context is given 2 times"));
}

TEST(Args, SwitchesWorkWithAndWithoutValues) {
  EXPECT_THAT(sweep_of("bench --accumulate --lr 1").axes[0].values, ElementsAre("true"));
  EXPECT_THAT(sweep_of("bench --bias true,false").axes[0].values, ElementsAre("true", "false"));
  EXPECT_FALSE(sweep_of("bench --resume=false").output.resume);
  EXPECT_THAT(refusal("bench --bias maybe"), HasSubstr("true or false"));
}

TEST(Args, CommasDoNotSplitPaths) {
  const Sweep sweep = sweep_of("bench --data a,b.txt --store [x,y] --output-file out,1.csv");
  EXPECT_THAT(sweep.axes[0].values, ElementsAre("a,b.txt"));
  EXPECT_EQ(sweep.output.store, "[x,y]");
  EXPECT_EQ(sweep.output.output_file, "out,1.csv");
}

TEST(Args, CommandLineOverridesTheFile) {
  const auto path = std::filesystem::path(testing::TempDir()) / "sweep.toml";
  std::ofstream(path) << "columns = \"2025a\"\nmodel = [\"small\", \"medium\"]\nsteps = 10\n";
  const Sweep sweep =
      sweep_of("bench --steps 3 --model large --context 128 --columns default --config " + path.string());
  ASSERT_EQ(sweep.axes.size(), 3U);
  EXPECT_EQ(sweep.axes[0].flag, "model");
  EXPECT_THAT(sweep.axes[0].values, ElementsAre("large"));
  EXPECT_THAT(sweep.axes[1].values, ElementsAre("3"));
  EXPECT_EQ(sweep.axes[2].flag, "context");
  EXPECT_EQ(sweep.output.columns, "default");
  EXPECT_THAT(refusal("bench --config /does/not/exist.toml"), HasSubstr("does not exist"));
  std::filesystem::remove(path);
}

TEST(Args, AttentionSweepsOnlyTheAttentionModel) {
  const Sweep plain = attention("attention");
  EXPECT_EQ(expand(plain).size(), 20U);
  EXPECT_EQ(plain.output.columns, "attention");
  const std::vector<SweepPoint> few =
      expand(attention("attention --d-model 48 --context 7,9 --causal false --steps auto --columns name"));
  ASSERT_EQ(few.size(), 2U);
  EXPECT_EQ(few[1].invalid, "");
  EXPECT_EQ(few[1].config.model.context_length, 9);
  EXPECT_EQ(few[1].config.model.batch_size, 8);
  EXPECT_FALSE(few[1].config.model.causal);
  EXPECT_FALSE(few[1].config.steps.has_value());
  EXPECT_EQ(few[1].name, "forward_backward/model:attention/ctx:9/dtype:float32/mode:eager/d_model:48/causal:false");
  EXPECT_THAT(refusal("attention --model small"), HasSubstr("unknown option '--model'"));
  EXPECT_THAT(refusal("attention --num-heads 2"), HasSubstr("unknown option '--num-heads'"));
  EXPECT_THAT(refusal("attention 128"), HasSubstr("unexpected '128'"));
  const auto path = std::filesystem::path(testing::TempDir()) / "other.toml";
  std::ofstream(path) << "model = [\"small\", \"attention\"]\n";
  EXPECT_THAT(refusal("attention --config " + path.string()), HasSubstr("is a sweep of model small, attention"));
  std::ofstream(path) << "context = [32, 64]\n";
  EXPECT_EQ(expand(attention("attention --config " + path.string())).at(1).config.model.name, "attention");
  std::filesystem::remove(path);
}

TEST(Args, AttentionHelpStatesItsOptionsAndDefaults) {
  const std::string help = text("attention --help");
  for (const char* word : {"--d-model", "--causal", "--projections", "--mode", "16,32,64,128", "default: 100"})
    EXPECT_THAT(help, HasSubstr(word));
  for (const char* word : {"\n  --model ", "--vocab", "--lr ", "--weights", "--recompute"})
    EXPECT_THAT(help, testing::Not(HasSubstr(word)));
}

TEST(Args, ExplainTakesTheOptionsOfBench) {
  const std::string explain = "explain --model medium --dump plan";
  EXPECT_EQ(given(explain, "dump"), "plan");
  EXPECT_THAT(sweep_of(explain).axes[0].values, ElementsAre("medium"));
  EXPECT_EQ(refusal(explain), "");
  EXPECT_THAT(refusal("explain --dump grpah"), HasSubstr("did you mean 'graph'?"));
  EXPECT_THAT(refusal("bench --dump graph"), HasSubstr("unknown option '--dump'"));
}

// A command neither lists nor accepts options that would have no effect.
TEST(Args, CommandsTakeOnlyOptionsWithAnEffect) {
  const auto has = [](const std::string& name, const std::string& flag) {
    const Command& command = **std::find_if(commands().begin(), commands().end(),
                                            [&](const Command* const one) { return one->name == name; });
    const std::vector<OptionRow> rows = command.options();
    return std::any_of(rows.begin(), rows.end(), [&](const OptionRow& row) { return row.option.flag == flag; });
  };
  for (const char* const command : {"explain", "plan", "profile", "memory", "calibrate", "demo"}) {
    for (const char* const flag : {"columns", "explain", "quiet"}) EXPECT_FALSE(has(command, flag)) << command << flag;
    EXPECT_TRUE(has(command, "output")) << command;
    EXPECT_THAT(text(std::string(command) + " --help"), testing::Not(HasSubstr("jsonl, samples"))) << command;
  }
  for (const char* const flag : {"sort", "resume", "label"}) {
    EXPECT_FALSE(has("explain", flag)) << flag;
    EXPECT_FALSE(has("plan", flag)) << flag;
    EXPECT_TRUE(has("bench", flag)) << flag;
  }
  EXPECT_TRUE(has("memory", "sort"));
  EXPECT_TRUE(has("show", "quiet"));
  EXPECT_FALSE(has("show", "explain"));
  EXPECT_FALSE(has("calibrate", "verbose"));
  EXPECT_THAT(text("explain --help"), HasSubstr("one of table, json, jsonl;"));
  EXPECT_THAT(refusal("explain --columns name"), HasSubstr("unknown option '--columns'"));
}

TEST(Args, VerifyTakesFilesAndMachineOptions) {
  const std::string verify = "verify a.safetensors --threads 2 b.safetensors";
  EXPECT_THAT(split(verify).positionals, ElementsAre("a.safetensors", "b.safetensors"));
  EXPECT_EQ(given(verify, "threads"), "2");
  EXPECT_EQ(refusal(verify), "");
  EXPECT_THAT(refusal("verify"), HasSubstr("no file"));
  EXPECT_THAT(refusal("verify a --model small"), HasSubstr("unknown option '--model'"));
  EXPECT_THAT(refusal("verify a --threads 1,2"), HasSubstr("whole number"));
  EXPECT_THAT(refusal("verify a --mode eager --mode compile"), EndsWith("--mode is given 2 times; give it once"));
  EXPECT_THAT(text("verify --help"), Not(HasSubstr(",...")));
  for (const char* const flag : {"oversubscribe", "bucket"})
    EXPECT_THAT(refusal(fmt::format("verify a --{} 1", flag)), HasSubstr("unknown option")) << flag;
}

TEST(Args, CompareRejectsOptionsThatDoNotApplyToItsInput) {
  for (const char* const option : {"--again", "--config end_to_end", "--mode eager", "--store a"})
    EXPECT_THAT(refusal(fmt::format("compare a b {}", option)), HasSubstr("when comparing two files")) << option;
  for (const char* const option : {"--anyway", "--allow-missing"}) {
    EXPECT_THAT(refusal(fmt::format("compare --again {}", option)), HasSubstr("applies to two files")) << option;
    EXPECT_EQ(refusal(fmt::format("compare a b {}", option)), "");
  }
}

TEST(Args, ShowTakesAFilter) {
  const CommandWords show = split("show model = small and loss > -1 --sort step:desc --output csv");
  EXPECT_THAT(show.positionals, ElementsAre("model", "=", "small", "and", "loss", ">", "-1"));
  const auto output = given_options<OutputConfig>(show);
  EXPECT_EQ(output.sort, "step:desc");
  EXPECT_EQ(output.output, OutputFormat::kCsv);
  EXPECT_THAT(split("show").positionals, testing::IsEmpty());
  EXPECT_THAT(split("show -- --x").positionals, ElementsAre("--x"));
  EXPECT_THAT(refusal("show --resume"), HasSubstr("unknown option '--resume'"));
}

TEST(Args, ListTakesOneTopic) {
  EXPECT_EQ(refusal("list kernels"), "");
  EXPECT_THAT(refusal("list"),
              HasSubstr("models, editions, sweeps, devices, kernels, columns, metrics, verdicts, options"));
  EXPECT_THAT(refusal("list optoins"), HasSubstr("did you mean 'options'?"));
  EXPECT_THAT(refusal("list models devices"), HasSubstr("unexpected 'devices'"));
  for (const ListTopic& topic : list_topics()) {
    EXPECT_THAT(text("list --help"), HasSubstr(fmt::format("\n  {} ", topic.name)));
    const std::string whole = topic.text(0);
    EXPECT_NE(whole, "") << topic.name;
    for (const size_t width : {80U, 120U, 200U}) {
      std::istringstream lines(topic.text(width));
      for (std::string line; std::getline(lines, line);) EXPECT_LE(display_width(line), width) << topic.name << line;
    }
  }
}

TEST(Args, ShippedSweepsAreListedAndFoundByName) {
  const std::string listed = topic("sweeps");
  for (const ReadySweep& sweep : ready_sweeps()) {
    EXPECT_THAT(listed, HasSubstr(fmt::format("\n{} ", sweep.name)));
    EXPECT_THAT(listed, HasSubstr(std::string(sweep.about)));
  }
  EXPECT_EQ(sweep_of("bench --config end_to_end --model small").name, "end_to_end");
  EXPECT_THAT(refusal("bench --config end_to_ent"), HasSubstr("did you mean 'end_to_end'? (laptime list sweeps)"));
  EXPECT_THAT(refusal("report end_to_ent --html a.html"), StartsWith("laptime report: 'end_to_ent' is neither a file"));
  EXPECT_EQ(refusal("report end_to_end --html a.html"), "");
  EXPECT_EQ(refusal("report model=small --html a.html"), "");  // filters are accepted
}

TEST(Args, ListExplainsEveryVerdict) {
  const std::string listed = topic("verdicts");
  for (const StabilityWord& word : stability_words()) {
    EXPECT_THAT(listed, HasSubstr(fmt::format("\n{} ", word.name)));
    EXPECT_THAT(listed, HasSubstr(std::string(word.meaning)));
    EXPECT_EQ(name_of(word.stability), word.name);
  }
  EXPECT_THAT(listed, HasSubstr("\npredicted "));
}

TEST(Args, PrintsHelpAndVersion) {
  const size_t width = help_width();
  EXPECT_EQ(text(""), program_help(width));
  EXPECT_EQ(text("--help"), program_help(width));
  EXPECT_EQ(text("help"), program_help(width));
  for (const Command* const command : commands()) {
    const std::string name(command->name);
    EXPECT_EQ(text(name + " --help"), command_help(*command, width));
    EXPECT_EQ(text(name + " -h"), command_help(*command, width));
    EXPECT_EQ(text("help " + name), command_help(*command, width));
    EXPECT_THAT(program_help(width), HasSubstr(name));
  }
  EXPECT_THAT(text("--version"), StartsWith("laptime "));
}

TEST(Args, HelpFitsTheTerminal) {
  for (const size_t width : {80U, 120U, 200U}) {
    std::string help = program_help(width);
    for (const Command* const command : commands()) help += command_help(*command, width);
    std::istringstream lines(help);
    size_t widest = 0;
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(line.size(), width) << line;
      widest = std::max(widest, line.size());
    }
    EXPECT_GT(widest, width - 8);  // the text fills the width
  }
}

TEST(Args, ListNamesTheKeyOfEveryOption) {
  for (const OptionRow& row : option_rows<RunConfig>())
    EXPECT_THAT(topic("options"), HasSubstr(std::string(row.option.key)));
}

TEST(Args, HelpExplainsOwnOptionsAndListsBenchOptions) {
  const std::string help = text("profile --help");
  EXPECT_THAT(help, HasSubstr("\n  --traced-steps N "));
  EXPECT_THAT(help, testing::Not(HasSubstr("\n  --model ")));
  EXPECT_LT(std::count(help.begin(), help.end(), '\n'), 68);
  for (const Command* const command : commands()) {
    const std::string of_command = text(std::string(command->name) + " --help");
    for (const OptionRow& row : command->options())
      EXPECT_THAT(of_command, HasSubstr(fmt::format("--{}", row.option.flag))) << command->name;
  }
}

// Joins the continued lines of the help text as a shell does, and expects the whole example on one line.
TEST(Args, LongExamplesAreContinuedWithBackslashes) {
  std::string help = program_help(80);
  for (size_t at = help.find(" \\\n      "); at != std::string::npos; at = help.find(" \\\n      "))
    help.replace(at, 9, " ");
  EXPECT_THAT(help, HasSubstr(std::string(program_example()) + "\n"));
  EXPECT_THAT(program_help(80), Not(HasSubstr(std::string(program_example()))));
}

TEST(Args, OptionsOfOtherProgramsHaveHints) {
  EXPECT_THAT(refusal("bench --export-json a.json"), HasSubstr("--output json --output-file FILE"));
  EXPECT_THAT(refusal("bench --output html"), HasSubstr("laptime report --last --html FILE"));
  EXPECT_THAT(refusal("plot"), HasSubstr("laptime report --last --html FILE"));
  EXPECT_THAT(refusal("export html"), HasSubstr("laptime report --last --html FILE"));
  EXPECT_THAT(refusal("bench -w 3"), HasSubstr("--warmup N"));
  for (const char* const word : {"gpus 8", "tp 2", "fsdp", "zero 3", "tensor-parallel-size 2", "world_size 4"})
    EXPECT_THAT(refusal(fmt::format("bench --{}", word)), HasSubstr("--ranks N")) << word;
  EXPECT_THAT(refusal("profile --tokens 1000"), HasSubstr("--batch N and --context N"));
  EXPECT_THAT(refusal("profile --epochs 3"), HasSubstr("--steps N"));
  for (const char* const word :
       {"global-batch-size", "micro-batch-size", "microbatch", "per_device_train_batch_size", "batch-size-per-gpu"})
    EXPECT_THAT(refusal(fmt::format("plan --{} 4", word)), HasSubstr("--micro-batches N")) << word;
  for (const char* const name : {"Llama-9-1B", "meta-llama/Llama-9", "mistral-7b", "Qwen4"})
    EXPECT_THAT(refusal(fmt::format("bench --model {}", name)), HasSubstr("--model FILE or FOLDER")) << name;
  EXPECT_THAT(refusal("--model small"), HasSubstr("write the command first"));
  EXPECT_THAT(refusal("bench --output a.json"), HasSubstr("--output FORMAT --output-file 'a.json'"));
  EXPECT_THAT(refusal("show --context 128"), HasSubstr("laptime show \"context_length = VALUE\""));
  EXPECT_THAT(refusal("export csv --model small"), HasSubstr("laptime export FORMAT \"model = VALUE\""));
  EXPECT_THAT(refusal("attention --num-heads 3"), HasSubstr("it is an option of laptime bench"));
  EXPECT_THAT(refusal("bench --context 12k"), EndsWith("'12k' is not a whole number; write 12000 or 12288"));
  EXPECT_THAT(refusal("bench --model small --model medium"), EndsWith("by commas: --model small,medium"));
}

TEST(Args, RejectsGroupingThatTheViewDoesNotSupport) {
  EXPECT_THAT(refusal("profile --view classes --by shape"),
              HasSubstr("--by shape does not apply to --view classes; use --view kernels or ops"));
  EXPECT_THAT(refusal("profile --view attention --by layer"),
              HasSubstr("use --view kernels or ops or classes or layers"));
}

TEST(Args, CommonMistakesHaveHints) {
  EXPECT_THAT(refusal("profile --view nsys"), HasSubstr("laptime export nsys"));
  EXPECT_THAT(refusal("bench --optimizer none"), HasSubstr("--pass forward_backward"));
  EXPECT_THAT(refusal("bench --optimizer sgd"), HasSubstr("--pass forward_backward"));
  for (const char* const command : {"profile", "memory", "plan"})
    EXPECT_THAT(refusal(fmt::format("{} --columns time", command)), HasSubstr("--view selects the table")) << command;
  EXPECT_THAT(refusal("explain --columns time"), Not(HasSubstr("--view")));
}

// The help text of an option lists every synonym that the option accepts.
TEST(Args, HelpListsTheSynonymsOfAnOption) {
  const std::vector<OptionRow> rows = kBench.options();
  for (const Synonym& synonym : synonyms()) {
    if (synonym.flag.empty()) continue;
    const auto row =
        std::find_if(rows.begin(), rows.end(), [&](const OptionRow& one) { return one.option.flag == synonym.flag; });
    ASSERT_NE(row, rows.end()) << synonym.flag;
    EXPECT_THAT(explanation(*row),
                AllOf(HasSubstr(std::string(synonym.word)), HasSubstr(fmt::format(" for {};", synonym.meant))));
  }
}

TEST(Args, GridExcludesOtherViews) {
  EXPECT_EQ(refusal("plan --model small,medium --pass inference,step --grid"), "");
  for (const char* const more : {"--largest", "--view layers"})
    EXPECT_THAT(refusal(fmt::format("plan --model small --grid {}", more)), HasSubstr("--grid excludes")) << more;
}

// A hint names only options and commands that exist, and is shown only for words that are not accepted.
TEST(Args, HintsNameExistingOptionsAndCommands) {
  std::set<std::string> flags{"html", "largest", "view", "newest", "last", "run", "epochs"};
  for (const std::string_view flag : sweep_flags()) flags.emplace(flag);
  std::set<std::string_view> names;
  for (const Command* const command : commands()) names.insert(command->name);
  for (const Hint& hint : hints()) {
    const std::string instead(hint.instead);
    for (size_t at = instead.find("--"); at != std::string::npos; at = instead.find("--", at + 2)) {
      const std::string flag = instead.substr(at + 2, instead.find_first_of(" ,;", at) - at - 2);
      EXPECT_TRUE(flags.contains(flag) || flag == "version") << instead;
    }
    for (size_t at = instead.find("laptime "); at != std::string::npos; at = instead.find("laptime ", at + 8)) {
      const std::string name = instead.substr(at + 8, instead.find_first_of(" ,;", at + 8) - at - 8);
      EXPECT_TRUE(names.contains(name) || name == "--version") << instead;
    }
    if (hint.of.empty()) {
      EXPECT_EQ(meant_flag(hint.word), hint.word);
    }
  }
}

TEST(Args, ExamplesParse) {
  size_t count = 0;
  for (const Command* const command : commands()) {
    std::istringstream lines{std::string(command->examples)};
    for (std::string line; std::getline(lines, line); ++count) {
      ASSERT_THAT(line, StartsWith(fmt::format("  laptime {} ", command->name)));
      EXPECT_NO_THROW(parse_arguments(words_of(line.substr(std::string("  laptime ").size())))) << line;
      EXPECT_THAT(command_help(*command, 120), HasSubstr(line));
    }
  }
  EXPECT_GT(count, 4U);
}

// An unset variable in a script expands to an empty value.
TEST(Args, RejectsAnEmptyValueForEveryOption) {
  for (const Command* const command : commands()) {
    for (const OptionRow& row : command->options()) {
      const std::string flag = fmt::format("--{}", row.option.flag);
      const std::string name(command->name);
      EXPECT_THAT(refusal_of({name, flag, ""}), AllOf(StartsWith(flag), HasSubstr("the value is empty"))) << name;
      EXPECT_THAT(refusal_of({name, flag + "="}), AllOf(HasSubstr(flag), HasSubstr("has no value"))) << name;
      EXPECT_THAT(refusal_of({name, flag + "=", "word"}), AllOf(HasSubstr(flag), HasSubstr("has no value"))) << name;
      if (row.kind == ValueKind::kSwitch) continue;
      EXPECT_THAT(refusal_of({name, flag}), AllOf(HasSubstr(flag), HasSubstr("has no value"))) << name;
    }
  }
  EXPECT_EQ(refusal_of({"show", "--", "--store", ""}), "");
}

TEST(Args, ErrorsNameTheMistake) {
  EXPECT_THAT(refusal("benhc"), AllOf(HasSubstr("unknown command 'benhc'"), HasSubstr("did you mean 'bench'?")));
  EXPECT_THAT(refusal("help me"), HasSubstr("unknown command 'me'"));
  EXPECT_THAT(refusal("bench --contxt 3"), HasSubstr("unknown option '--contxt'; did you mean '--context'?"));
  EXPECT_THAT(refusal("bench --contxt=3"), HasSubstr("unknown option '--contxt'; did you mean '--context'?"));
  EXPECT_THAT(refusal("bench -c 3"), HasSubstr("unknown option '-c'"));
  EXPECT_THAT(refusal("bench --context"), HasSubstr("--context has no value"));
  EXPECT_THAT(refusal("bench --context= --batch 3"), HasSubstr("'--context=' has no value"));
  EXPECT_THAT(refusal("bench --context 128 256"), HasSubstr("unexpected '256'"));
  EXPECT_THAT(refusal("bench small"), HasSubstr("write a value after its option, as in --model small"));
  EXPECT_THAT(refusal("bench --context 128,"), StartsWith("--context: '' is not a whole number"));
  EXPECT_THAT(refusal("bench --context 1 --context 2"), HasSubstr("--context is given 2 times"));
  EXPECT_THAT(refusal("bench --context -1"), StartsWith("--context: '-1' is out of range"));
  EXPECT_THAT(refusal("bench --model huge"), StartsWith("--model: unknown model 'huge'"));
  EXPECT_THAT(refusal_of({"bench", ""}), HasSubstr("unexpected ''"));
  EXPECT_THAT(refusal_of({"bench", "--model", ""}), StartsWith("--model: "));
  EXPECT_THAT(refusal_of({"\x1b[2J"}), HasSubstr("\\x1b"));
}

// Any sequence of words parses as a command or throws Error.
TEST(Args, SlowParsesOrRejectsRandomArguments) {
  std::vector<std::string> pool{"bench",  "explain", "verify",  "show",  "list",     "help", "--",   "-",    "--help",
                                "-h",     "=",       "--=",     "--x=y", "-1",       "1,2",  ",",    "auto", "none",
                                "true",   "small",   "{model}", "[",     "[a,b]",    "\"",   "'",    "\n",   "",
                                "@file",  "%%",      "--no-x",  "/x",    "small,xl", "1e99", "2024", "nan",  "\xff",
                                "models", "++",      "-hh",     "---x",  "--model=", "0",    "a=b",  "--h",  "-abc"};
  for (const std::string_view flag : sweep_flags()) pool.push_back("--" + std::string(flag));
  std::mt19937 random(2);
  for (int round = 0; round < 2'000; ++round) {
    std::vector<std::string> words{pool[random() % 6]};
    for (auto count = random() % 8; count > 0; --count) words.push_back(pool[random() % pool.size()]);
    try {
      const Request request = parse_request(words);
      if (request.command == nullptr) continue;
      request.command->parse(request.words);
      if (request.command == &kBench) expand(given_sweep(request.words));
    } catch (const Error& error) {
      EXPECT_STRNE(error.what(), "");
    }
  }
}

}  // namespace
}  // namespace laptime
