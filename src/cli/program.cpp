// Parses command lines with the option tables, and runs commands: standard streams, limits, error messages.
#include "cli/command.h"

#include <sys/resource.h>

#include <filesystem>
#include <new>
#include <utility>

#include "base/build_id.h"
#include "base/error.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/destination.h"
#include "cli/help.h"
#include "config/run_config.h"
#include "sweep/stop_signals.h"

namespace laptime {
namespace {

constexpr std::string_view kHelp = "help";

// The hint for an option of bench that `command` does not take: it suggests a filter if `command` selects records,
// otherwise laptime bench. Empty for any other flag.
std::string hint_of_bench(const Command& command, std::string_view flag) {
  const std::optional<Option> option = find_option<RunConfig>(meant_flag(flag));
  if (!option) return "";
  if (command.filter_columns == nullptr) return "; it is an option of laptime bench";
  const std::string_view format = command.arguments.starts_with("FORMAT") ? " FORMAT" : "";
  return fmt::format("; a filter selects records: laptime {}{} \"{} = VALUE\"", command.name, format, option->key);
}

std::string unknown_option(const Command& command, const std::vector<OptionRow>& rows, std::string_view name) {
  const auto flags = mapped(rows, [](const OptionRow& row) { return fmt::format("--{}", row.option.flag); });
  const std::string_view flag = name.starts_with("--") ? name.substr(2) : name;
  std::string hint = hint_for(fmt::format("laptime {}", command.name), flag);
  if (hint.empty()) hint = hint_for("", flag);
  if (hint.empty()) hint = hint_of_bench(command, flag);
  if (hint.empty()) hint = did_you_mean(name, {flags.begin(), flags.end()});
  return fmt::format("laptime {}: unknown option {}{} (laptime {} --help)", command.name, quote(name), hint,
                     command.name);
}

// Whether the word starts with "-" and is not a number; a number may be part of a filter.
bool looks_like_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word.find_first_of("0123456789.", 1) != 1;
}

// Whether the command takes options only.
bool takes_options_alone(const Command& command) {
  return command.arguments.empty() || command.arguments == "[OPTIONS]";
}

// Whether `word` is the value of the switch before it. If the command takes only options, any word that is not an
// option is the value. Otherwise the value must be empty or begin with true or false.
bool is_value_of_switch(const Command& command, std::string_view word) {
  if (takes_options_alone(command)) return word != "--" && !looks_like_option(word);
  return word.empty() || word.starts_with("true") || word.starts_with("false");
}

// Throws Error for an option that is given twice, and for a value of an option that this command does not support.
void check_options(const Command& command, const CommandWords& words) {
  const std::vector<OptionRow> rows = command.options();
  for (const GivenFlag& given : words.flags) {
    const OptionRow& row = *find_row(rows, given.flag);
    std::vector<std::string> texts;
    for (const GivenFlag& other : words.flags) {
      if (other.flag == given.flag) texts.push_back(other.text);
    }
    if (texts.size() > 1) {
      throw Error::format(
          "--{} is given {} times; give it once{}", given.flag, texts.size(),
          row.option.axis ? fmt::format(", its values joined by commas: --{} {}", given.flag, joined(texts, ",")) : "");
    }
    const std::string meant = meant_value(given.flag, given.text);
    if (row.is_narrowed && !is_among(meant, row.choices)) {
      throw Error::format("laptime {}: --{}: {} is not supported here; use {}", command.name, given.flag,
                          quote(given.text), joined(row.choices, ", "));
    }
  }
}

// Throws Error if the stack limit of this process is too low for its threads, because a stack overflow cannot be
// reported.
void require_stack() {
  constexpr rlim_t kNeeded = rlim_t{512} << 10U;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kNeeded) return;
  throw Error::format("the stack limit of {} is too low for laptime; raise it, for example with `ulimit -s 8192`",
                      format_bytes(static_cast<int64_t>(limit.rlim_cur)));
}

std::string version_text() {
  std::string text = fmt::format("laptime {} ({}{}, {}, {})\n", version(), git_commit(),
                                 git_dirty() ? ", modified" : "", build_type(), compiler());
  for (const LibraryVersion& library : library_versions())
    text += fmt::format("{} {}\n", library.name, library.version);
  return text;
}

}  // namespace

CommandWords split_words(const Command& command, const std::vector<std::string>& words) {
  const std::vector<OptionRow> rows = command.options();
  CommandWords found{.command = command.name};
  const auto report = [&](std::string problem) {
    if (found.problem.empty()) found.problem = std::move(problem);
  };
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      found.options_ended = true;
      found.positionals.insert(found.positionals.end(), words.begin() + static_cast<ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (word == "-h" || word == "--help") {
      found.help = true;
      continue;
    }
    if (!looks_like_option(word)) {
      found.positionals.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const OptionRow* const row = name.starts_with("--") ? find_row(rows, name.substr(2)) : nullptr;
    if (row == nullptr) {
      report(unknown_option(command, rows, name));
      continue;
    }
    const bool is_switch = row->kind == ValueKind::kSwitch;
    std::string text = "true";
    if (equals != std::string::npos) {
      text = word.substr(equals + 1);
      if (text.empty()) report(fmt::format("laptime {}: {} has no value; give one", command.name, quote(word)));
    } else if (i + 1 < words.size() && (!is_switch || is_value_of_switch(command, words[i + 1]))) {
      text = words[++i];
      if (text.empty())  // `--store ""`, as an unset shell variable produces
        report(fmt::format("{}: the value is empty; give one, or leave the option out to use its default", word));
    } else if (!is_switch) {
      found.unfinished = *row;
      report(fmt::format("laptime {}: --{} has no value; give one", command.name, row->option.flag));
      break;
    }
    found.flags.push_back({std::string(row->option.flag), text});
  }
  return found;
}

Request parse_request(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || (words[0] == kHelp && words.size() == 1)) {
    return {.text = program_help(help_width())};
  }
  if (words[0] == "--version" || words[0] == "-V") return {.text = version_text()};
  const bool asks_help = words[0] == kHelp;
  const std::string& name = words[asks_help ? 1 : 0];
  std::vector<std::string_view> names{kHelp};
  for (const Command* const command : commands()) {
    names.push_back(command->name);
    if (command->name != name) continue;
    if (asks_help) return {.text = command_help(*command, help_width())};
    CommandWords own_words = split_words(*command, {words.begin() + 1, words.end()});
    if (!own_words.problem.empty()) throw Error(own_words.problem);
    check_options(*command, own_words);
    if (own_words.help) return {.text = command_help(*command, help_width())};
    if (takes_options_alone(*command)) reject_positionals(own_words);
    return {.command = command, .words = std::move(own_words)};
  }
  if (looks_like_option(name)) {
    throw Error::format(
        "laptime: {} comes before the command; write the command first, as in laptime bench --model small",
        quote(name));
  }
  reject_word("laptime", "command", name, names);
}

CommandAction parse_arguments(const std::vector<std::string>& words) {
  Request request = parse_request(words);
  return request.command != nullptr ? request.command->parse(request.words) : printing(std::move(request.text));
}

namespace {

// Runs a command and prints its error, if there is one.
ExitCode run_words(const std::vector<std::string>& words, RankPipes& ranks) {
  try {
    require_stack();
    if (const std::optional<ExitCode> code = run_as_rank(words, ranks)) return *code;
    return parse_arguments(words)(ranks);
  } catch (const ReaderGone&) {
    return StopSignals::requested() ? ExitCode::kInterrupted : ExitCode::kOk;
  } catch (const OutputLost& error) {
    print_message(error.what());
    return StopSignals::requested() ? ExitCode::kInterrupted : ExitCode::kFailed;
  } catch (const Error& error) {
    print_message(error.what());
    return ExitCode::kBadInput;
  } catch (const std::filesystem::filesystem_error& error) {
    const std::string path = error.path1().empty() ? "a file" : quote(error.path1().string());
    print_message(fmt::format("{}: {}", path, error.code().message()));
    return ExitCode::kBadInput;
  } catch (const std::bad_alloc&) {
    print_message("laptime itself ran out of memory; raise the limit (ulimit -v, ulimit -d)");
    return ExitCode::kFailed;
  }
}

}  // namespace

ExitCode run_program(const std::vector<std::string>& words) {
  set_up_signals();
  RankPipes ranks;
  const ExitCode code = run_words(words, ranks);
  end_ranks(ranks);  // even after an error: an mpirun whose ranks vanish while they start may never end
  return code;
}

}  // namespace laptime
