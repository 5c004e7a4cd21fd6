// The demonstrations by name, printed as --output asks.
#include "cli/commands.h"

#include "base/error.h"
#include "base/words.h"
#include "cli/answer_output.h"
#include "config/output_config.h"
#include "demo/demo.h"

namespace laptime {
namespace {

std::vector<std::string_view> demo_names() {
  std::vector<std::string_view> names;
  for (const Demo& demo : demos()) names.push_back(demo.name);
  return names;
}

std::vector<OptionRow> demo_options() {
  std::vector<OptionRow> rows = option_rows<OutputConfig>();
  std::erase_if(rows,
                [](const OptionRow& row) { return row.option.flag != "output" && row.option.flag != "output-file"; });
  keep_options_of_answers(rows);
  return rows;
}

const Demo& demo_of(const CommandWords& words) {
  if (words.positionals.empty())
    throw Error::format("laptime demo: nothing to demonstrate; give one of: {}", joined(demo_names(), ", "));
  reject_positionals(words, 1);
  for (const Demo& demo : demos()) {
    if (demo.name == words.positionals.front()) return demo;
  }
  reject_word("laptime demo", "demonstration", words.positionals.front(), demo_names());
}

ExitCode run(const Demo& demo, const OutputConfig& config) {
  AnswerOutput output(config);
  output.add(demo.run());
  output.finish();
  return ExitCode::kOk;
}

CommandAction demo_action(const CommandWords& words) {
  OutputConfig config;
  for (const GivenFlag& given : words.flags) assign_given(config, given);
  return [&demo = demo_of(words), config] { return run(demo, config); };
}

std::vector<WordHelp> demo_choices() {
  std::vector<WordHelp> choices;
  for (const Demo& demo : demos()) choices.push_back({std::string(demo.name), std::string(demo.summary)});
  return choices;
}

}  // namespace

constinit const Command kDemo{
    .name = "demo",
    .arguments = "accumulate|autocast|layernorm [OPTIONS]",
    .summary = "what float16 and bfloat16 do: sums, autocast, layer norm",
    .details = "Runs small graphs by the engine's own ops and prints what came out, beside float64.",
    .options = demo_options,
    .parse = demo_action,
    .choices = demo_choices,
};

}  // namespace laptime
