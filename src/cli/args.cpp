// CLI11 splits the words; the option tables say which words there are and what their values mean.
#include "cli/args.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/words.h"
#include "cli/command_options.h"
#include "cli/help.h"
#include "config/attention_sweep.h"
#include "config/option_table.h"
#include "config/sweep_file.h"

namespace laptime {
namespace {

constexpr std::string_view kHelp = "help";

struct GivenFlag {
  std::string flag;
  std::string text;
};

// One command's words, split: options in the order given, and the rest.
struct SplitWords {
  std::vector<GivenFlag> flags;
  std::vector<std::string> positionals;
  bool help = false;
};

// Words of the command that the parser did not recognise: an option that does not exist.
[[noreturn]] void reject_unknown(const CommandText& command, std::string_view word) {
  std::vector<std::string> flags;
  for (const OptionRow& row : command.options) flags.push_back(fmt::format("--{}", row.option.flag));
  const std::string_view name = word.substr(0, word.find('='));
  throw Error::format("laptime {}: unknown option {}{} (laptime {} --help)", command.name, quote(name),
                      did_you_mean(name, {flags.begin(), flags.end()}), command.name);
}

// A negative number is a word of a filter.
bool looks_like_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word.find_first_of("0123456789.", 1) != 1;
}

SplitWords split(const CommandText& command, std::vector<std::string> words) {
  CLI::App parser;
  parser.set_help_flag();
  parser.allow_extras();
  const CLI::Option* const help = parser.add_flag("-h,--help");
  std::map<const CLI::Option*, std::string> flags;
  for (const OptionRow& row : command.options) {
    CLI::Option* const option = parser.add_option(fmt::format("--{}", row.option.flag));
    option->expected(row.kind == ValueKind::kSwitch ? 0 : 1, 1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    flags[option] = row.option.flag;
  }
  for (const std::string& word : words) {  // CLI11 would take the next word for the value
    if (word.size() > 2 && word.rfind("--", 0) == 0 && word.back() == '=') {
      throw Error::format("laptime {}: {} has no value", command.name, quote(word));
    }
  }
  std::reverse(words.begin(), words.end());
  try {
    parser.parse(words);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    throw Error::format("laptime {}: {} has no value", command.name, text.substr(0, text.find(':')));
  } catch (const CLI::Error& error) {
    throw Error::format("laptime {}: {} (laptime {} --help)", command.name, error.what(), command.name);
  }
  SplitWords split;
  split.help = help->count() > 0;
  for (const CLI::Option* const option : parser.parse_order()) {
    const auto flag = flags.find(option);
    if (flag == flags.end()) continue;
    const std::vector<std::string>& texts = option->results();
    if (texts.size() != 1) {
      throw Error::format("--{} is given {} times; give it once, its values joined by commas", flag->second,
                          texts.size());
    }
    split.flags.push_back({flag->second, texts.front().empty() ? "true" : texts.front()});  // a bare switch
  }
  bool options_may_follow = true;
  for (const std::string& word : parser.remaining()) {
    const bool ends_options = options_may_follow && word == "--";
    if (options_may_follow && !ends_options && looks_like_option(word)) reject_unknown(command, word);
    if (ends_options) {
      options_may_follow = false;
    } else {
      split.positionals.push_back(word);
    }
  }
  return split;
}

template <class Config>
bool assign_given(Config& config, const GivenFlag& given) {
  return assign(config, given.flag, fmt::format("--{}", given.flag), given.text);
}

bool is_list(std::string_view flag) {
  const std::optional<Option> option = find_option<RunConfig>(flag);
  return option && option->axis;
}

// Options given on the command line in place of those that the sweep has.
void set_given(Sweep& sweep, const std::vector<GivenFlag>& flags) {
  const std::vector<std::string_view> known = sweep_flags();
  for (const GivenFlag& given : flags) {
    if (std::find(known.begin(), known.end(), given.flag) == known.end()) continue;
    const std::vector<std::string> values = is_list(given.flag) ? split_list(given.text) : std::vector{given.text};
    set_option(sweep, given.flag, fmt::format("--{}", given.flag), values);
  }
}

std::string sweep_file(const std::vector<GivenFlag>& flags) {
  SweepSource source;
  for (const GivenFlag& given : flags) assign_given(source, given);
  return source.config;
}

// The options of a sweep: the file of --config first, then what is given beside it.
Sweep make_sweep(const std::vector<GivenFlag>& flags) {
  const std::string file = sweep_file(flags);
  Sweep sweep = file.empty() ? Sweep{} : read_sweep_file(file);
  set_given(sweep, flags);
  return sweep;
}

void reject_positionals(const CommandText& command, const std::vector<std::string>& words) {
  if (words.empty()) return;
  throw Error::format("laptime {}: unexpected {}; values of one option are joined by commas without spaces",
                      command.name, quote(words.front()));
}

Command make_bench(const CommandText& command, const SplitWords& words) {
  reject_positionals(command, words.positionals);
  return BenchCommand{make_sweep(words.flags)};
}

// A file in place of the command's own grid must be one of attention alone.
Command make_attention(const CommandText& command, const SplitWords& words) {
  reject_positionals(command, words.positionals);
  const std::string file = sweep_file(words.flags);
  Sweep sweep = file.empty() ? attention_sweep() : read_sweep_file(file);
  for (const Axis& axis : sweep.axes) {
    if (axis.flag != "model" || axis.values == std::vector<std::string>{std::string(kAttentionModel)}) continue;
    throw Error::format("laptime attention: {} is a sweep of model {}; run it with laptime bench", quote(file),
                        fmt::join(axis.values, ", "));
  }
  set_option(sweep, "model", command.name, {std::string(kAttentionModel)});
  set_given(sweep, words.flags);
  return BenchCommand{std::move(sweep)};
}

Command make_explain(const CommandText& command, const SplitWords& words) {
  reject_positionals(command, words.positionals);
  ExplainOptions options;
  for (const GivenFlag& given : words.flags) assign_given(options, given);
  return ExplainCommand{make_sweep(words.flags), options.dump};
}

Command make_verify(const CommandText&, const SplitWords& words) {
  if (words.positionals.empty()) throw Error("laptime verify: no file; give one or more FILE.safetensors");
  VerifyCommand verify{words.positionals, {}};
  for (const GivenFlag& given : words.flags) assign_given(verify.machine, given);
  return verify;
}

Command make_show(const CommandText&, const SplitWords& words) {
  ShowCommand show;
  show.filter = fmt::format("{}", fmt::join(words.positionals, " "));
  for (const GivenFlag& given : words.flags) assign_given(show.output, given);
  return show;
}

Command make_list(const CommandText& command, const SplitWords& words) {
  const std::vector<std::string_view> topics = names_of_choices<ListTopic>();
  if (words.positionals.empty()) {
    throw Error::format("laptime list: of what? (one of: {})", fmt::join(topics, ", "));
  }
  reject_positionals(command, {words.positionals.begin() + 1, words.positionals.end()});
  ListCommand list;
  parse_value(Option{.flag = "topic", .key = "topic", .group = "", .help = ""}, "laptime list",
              words.positionals.front(), list.topic);
  return list;
}

}  // namespace

Command parse_arguments(const std::vector<std::string>& words) {
  using Make = Command (*)(const CommandText&, const SplitWords&);
  const std::map<std::string_view, Make> makers{{"bench", make_bench},     {"attention", make_attention},
                                                {"explain", make_explain}, {"verify", make_verify},
                                                {"show", make_show},       {"list", make_list}};
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || (words[0] == kHelp && words.size() == 1)) {
    return HelpCommand{program_help()};
  }
  if (words[0] == "--version" || words[0] == "-V") return VersionCommand{};
  const bool asks_help = words[0] == kHelp;
  const std::string& name = words[asks_help ? 1 : 0];
  std::vector<std::string_view> names{kHelp};
  for (const CommandText& command : command_texts()) {
    names.push_back(command.name);
    if (command.name != name) continue;
    if (asks_help) return HelpCommand{command_help(command)};
    const SplitWords split_words = split(command, {words.begin() + 1, words.end()});
    if (split_words.help) return HelpCommand{command_help(command)};
    return makers.at(command.name)(command, split_words);
  }
  reject_word("laptime", "command", name, names);
}

}  // namespace laptime
