// Completions of a word on the command line, and the manual page.
#include "cli/help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "config/known_models.h"
#include "config/machine.h"
#include "config/model_presets.h"
#include "export/formats.h"

namespace laptime {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;

std::vector<std::string> names_of(const Completions& completions) {
  std::vector<std::string> names;
  for (const WordHelp& one : completions.words) names.push_back(one.word);
  return names;
}

// Completions of the last word in `words`.
std::vector<std::string> candidates(const std::vector<std::string>& words) { return names_of(completions_of(words)); }

bool takes_files(const std::vector<std::string>& words) { return completions_of(words).files; }

TEST(Completion, CompletesCommands) {
  for (const Command* const command : commands()) {
    const std::string name(command->name);
    EXPECT_THAT(candidates({""}), Contains(name));
    EXPECT_THAT(candidates({"help", ""}), Contains(name));
  }
  EXPECT_THAT(candidates({"be"}), ElementsAre("bench"));
  EXPECT_THAT(candidates({"--v"}), ElementsAre("--version"));
  EXPECT_THAT(candidates({"nothing", ""}), IsEmpty());
  EXPECT_THAT(candidates({}), IsEmpty());
}

TEST(Completion, OffersEveryOptionOfEveryCommandOnce) {
  for (const Command* const command : commands()) {
    for (const OptionRow& row : command->options()) {
      const std::string flag = fmt::format("--{}", row.option.flag);
      EXPECT_THAT(candidates({std::string(command->name), "--"}), Contains(flag)) << command->name;
      EXPECT_THAT(candidates({std::string(command->name), flag + "=", "--"}), Not(Contains(flag))) << command->name;
    }
  }
  EXPECT_THAT(candidates({"bench", "--seq-len", "128", "--con"}),
              ElementsAre("--config"));  // not --context, because its synonym --seq-len is given
  EXPECT_THAT(candidates({"bench", "--resume", "--mod"}), ElementsAre("--model", "--mode"));
}

TEST(Completion, OffersEveryChoiceOfEveryOption) {
  for (const Command* const command : commands()) {
    for (const OptionRow& row : command->options()) {
      for (const std::string_view choice : row.choices) {
        const std::string name(command->name);
        const std::string flag = fmt::format("--{}", row.option.flag);
        EXPECT_THAT(candidates({name, flag, ""}), Contains(std::string(choice))) << name << flag;
        EXPECT_THAT(candidates({name, flag + "="}), Contains(fmt::format("{}={}", flag, choice))) << name << flag;
      }
    }
  }
}

TEST(Completion, OffersNamesOfModelsEditionsMachinesColumnsAndComposites) {
  for (const ModelPreset& model : model_presets())
    EXPECT_THAT(candidates({"bench", "--model", ""}), Contains(std::string(model.name)));
  for (const KnownModel& model : known_models())
    EXPECT_THAT(candidates({"bench", "--model", ""}), Contains(std::string(model.name)));
  for (const DataSheet& machine : known_machines()) {
    EXPECT_THAT(candidates({"plan", "--device", ""}),
                IsSupersetOf({machine.name, std::string(kMachinePrefix) + machine.name}));
  }
  EXPECT_THAT(candidates({"bench", "--device=roofline:h20"}), ElementsAre("--device=roofline:h200"));
  EXPECT_THAT(candidates({"bench", "--edition", "gp"}), ElementsAre("gpt2", "gpt2_hf", "gpt_neox"));
  EXPECT_THAT(candidates({"bench", "--columns", ""}), IsSupersetOf({"default", "mfu", "context_length", "median_s"}));
  EXPECT_THAT(candidates({"show", "--sort", "median"}), IsSupersetOf({"median", "median_s"}));
  EXPECT_THAT(candidates({"bench", "--keep", "swi"}), ElementsAre("swiglu"));
}

TEST(Completion, ContinuesAListAfterItsLastValue) {
  EXPECT_THAT(candidates({"bench", "--model", "small,me"}), ElementsAre("small,medium"));
  EXPECT_THAT(candidates({"bench", "--dtype=float32,b"}), ElementsAre("--dtype=float32,bfloat16"));
  EXPECT_THAT(candidates({"bench", "--mode", "eager,"}), ElementsAre("eager,compile"));
  EXPECT_THAT(candidates({"bench", "--lower", "gelu+swi"}), ElementsAre("gelu+swiglu"));
  EXPECT_THAT(candidates({"bench", "--columns", "default,speedup_l"}), ElementsAre("default,speedup_low"));
  EXPECT_THAT(candidates({"bench", "--output", "csv,"}), IsEmpty());  // this option takes one value
}

TEST(Completion, OffersKeywordsOfOptionValues) {
  EXPECT_THAT(candidates({"bench", "--threads", ""}), ElementsAre("auto"));
  EXPECT_THAT(candidates({"bench", "--clip-norm", ""}), ElementsAre("none"));
  EXPECT_THAT(candidates({"bench", "--batch", ""}), IsEmpty());
  EXPECT_THAT(candidates({"bench", "--recompute", ""}), ElementsAre("none", "block", "every=", "auto"));
  EXPECT_THAT(candidates({"bench", "--reproducible="}), ElementsAre("--reproducible=true", "--reproducible=false"));
}

TEST(Completion, OffersFiles) {
  EXPECT_TRUE(takes_files({"bench", "--config", ""}));
  EXPECT_TRUE(takes_files({"bench", "--store="}));
  EXPECT_THAT(candidates({"bench", "--store", ""}), ElementsAre("none"));
  EXPECT_TRUE(takes_files({"bench", "--device", "my"}));
  EXPECT_TRUE(takes_files({"verify", ""}));
  EXPECT_TRUE(takes_files({"verify", "a.safetensors", "--verbose", ""}));
  EXPECT_FALSE(takes_files({"bench", ""}));
  EXPECT_FALSE(takes_files({"list", ""}));
}

TEST(Completion, CompletesPositionalArguments) {
  for (const ListTopic& topic : list_topics()) EXPECT_THAT(candidates({"list", ""}), Contains(std::string(topic.name)));
  for (const ExportFormat& format : export_formats())
    EXPECT_THAT(candidates({"export", ""}), Contains(std::string(format.name)));
  EXPECT_THAT(candidates({"list", "models", ""}), Not(Contains("models")));
  EXPECT_THAT(candidates({"completion", ""}), ElementsAre("bash", "zsh", "fish", "words"));
  EXPECT_THAT(candidates({"bench", ""}), IsSupersetOf({"--model", "--help"}));  // `bench` takes only options
}

TEST(Completion, CompletesFilters) {
  EXPECT_THAT(candidates({"show", "context_l"}), ElementsAre("context_length"));
  EXPECT_THAT(candidates({"show", "--last", "dtype", "=", "b"}), ElementsAre("bfloat16"));
  EXPECT_THAT(candidates({"show", "model", "=", "small", "and", "mf"}), Contains("mfu"));
  EXPECT_THAT(candidates({"export", "trace", "model", "=", "sm"}), ElementsAre("small"));
  EXPECT_THAT(candidates({"profile", "sig"}), ElementsAre("signature"));
  EXPECT_THAT(candidates({"report", "context_l"}), ElementsAre("context_length"));
  EXPECT_TRUE(completions_of(std::vector<std::string>{"report", "swe"}).files);
  EXPECT_THAT(candidates({"report", "assi"}), ElementsAre("assignment_2025"));
  EXPECT_THAT(candidates({"bench", "--config", "end_"}), ElementsAre("end_to_end"));
  EXPECT_THAT(candidates({"show", "assi"}), IsEmpty());
  EXPECT_FALSE(completions_of(std::vector<std::string>{"show", "swe"}).files);
}

TEST(Completion, SeparatesWordAndDescriptionWithATab) {
  EXPECT_THAT(completion_lines(completions_of(std::vector<std::string>{"bench", "--conf"})),
              AllOf(testing::StartsWith("--config\ta built-in sweep"), testing::EndsWith("\n")));
  EXPECT_EQ(completion_lines({.words = {{"none"}}, .files = true}), "none\n:files\n");
}

TEST(Placeholder, UppercaseWordsAreNotCompleted) {
  EXPECT_THAT(names_of(words_of_placeholder("FILE|none")), ElementsAre("none"));
  EXPECT_TRUE(words_of_placeholder("FILE|none").files);
  EXPECT_THAT(names_of(words_of_placeholder("none|every=K")), ElementsAre("none", "every="));
  for (const char* nothing : {"", "N", "NAME,...", "COLUMN[:desc]", "[FILTER]", "BYTES", "{NAME}"}) {
    EXPECT_THAT(names_of(words_of_placeholder(nothing)), IsEmpty()) << nothing;
    EXPECT_FALSE(words_of_placeholder(nothing).files) << nothing;
  }
}

TEST(ManPage, NamesEveryCommandAndExplainsEverySweepOption) {
  const std::string page = man_page();
  for (const Command* const command : commands())
    EXPECT_THAT(page, HasSubstr(fmt::format(".SS laptime {}", command->name)));
  for (const OptionRow& row : kBench.options()) {
    std::string flag = fmt::format("--{}", row.option.flag);
    for (size_t at = 0; (at = flag.find('-', at)) != std::string::npos; at += 2) flag.insert(at, "\\");
    EXPECT_THAT(page, HasSubstr(flag + "\\fR"));
  }
}

// Text from a table must not be read as a roff request.
TEST(ManPage, ContainsOnlyKnownRoffRequests) {
  const std::set<std::string> known{".TH", ".nh", ".ad", ".SH", ".SS", ".TP", ".PP", ".br", ".EX", ".EE"};
  const std::string page = man_page();
  for (size_t at = 0; at < page.size(); at = page.find('\n', at) + 1) {
    if (page[at] != '.' && page[at] != '\'') continue;
    EXPECT_TRUE(known.contains(page.substr(at, 3))) << page.substr(at, 40);
  }
}

}  // namespace
}  // namespace laptime
