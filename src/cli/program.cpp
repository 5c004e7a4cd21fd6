// Splits the words of a command line by the option tables, and surrounds every command: standard streams, signals, and
// errors that become messages.
#include "cli/program.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <optional>
#include <utility>

#include "base/build_id.h"
#include "base/error.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/destination.h"
#include "cli/help.h"
#include "config/option_table.h"
#include "config/run_config.h"
#include "sweep/stop_signals.h"

namespace laptime {
namespace {

constexpr std::string_view kHelp = "help";

// The hint for an option that describes a point, given to a command that selects stored records by a filter.
std::string hint_of_bench(const Command& command, std::string_view flag) {
  const std::optional<Option> option = find_option<RunConfig>(meant_flag(flag));
  if (!option) return "";
  if (command.filter_columns == nullptr) return "; it is an option of laptime bench";
  const std::string_view format = command.arguments.starts_with("FORMAT") ? " FORMAT" : "";
  return fmt::format("; a filter selects records: laptime {}{} \"{} = VALUE\"", command.name, format, option->key);
}

[[noreturn]] void reject_unknown(const Command& command, std::string_view word) {
  std::vector<std::string> flags;
  for (const OptionRow& row : command.options()) flags.push_back(fmt::format("--{}", row.option.flag));
  const std::string_view name = word.substr(0, word.find('='));
  const std::string_view flag = name.starts_with("--") ? name.substr(2) : name;
  std::string hint = hint_for(fmt::format("laptime {}", command.name), flag);
  if (hint.empty()) hint = hint_for("", flag);
  if (hint.empty()) hint = hint_of_bench(command, flag);
  if (hint.empty()) hint = did_you_mean(name, {flags.begin(), flags.end()});
  throw Error::format("laptime {}: unknown option {}{} (laptime {} --help)", command.name, quote(name), hint,
                      command.name);
}

// Whether the word starts with "-" and is not a number; a number may be part of a filter.
bool looks_like_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word.find_first_of("0123456789.", 1) != 1;
}

// Rejects `--store ""` and `--store=`, which an unset variable of a script leaves behind.
void reject_empty_values(const Command& command, const std::vector<std::string>& words) {
  std::string_view before;
  for (const std::string& word : words) {
    if (word == "--") return;
    const bool is_option = word.size() > 2 && word.starts_with("--");
    if (is_option && word.back() == '=') {
      throw Error::format("laptime {}: {} has no value", command.name, quote(word));
    }
    if (word.empty() && !before.empty()) {
      throw Error::format("{}: the value is empty; give one, or leave the option out to use its default", before);
    }
    before = is_option && word.find('=') == std::string::npos ? std::string_view(word) : std::string_view();
  }
}

// Replaces other spellings of options by those of the command: --batch_size becomes --batch, if the command has it.
void use_own_flags(const Command& command, std::vector<std::string>& words) {
  const std::vector<OptionRow> rows = command.options();
  const auto is_own = [&](std::string_view flag) {
    return std::any_of(rows.begin(), rows.end(), [&](const OptionRow& row) { return row.option.flag == flag; });
  };
  for (std::string& word : words) {
    if (word == "--") return;
    if (!word.starts_with("--")) continue;
    const std::string given = word.substr(2, word.find('=') == std::string::npos ? word.npos : word.find('=') - 2);
    const std::string meant = meant_flag(given);
    if (!is_own(given) && is_own(meant)) word.replace(2, given.size(), meant);
  }
}

// Whether `word` is the value of the switch before it. If the command takes files or a filter, only true and false are.
bool is_value_of_switch(const Command& command, std::string_view word) {
  if (command.arguments.starts_with("[OPTIONS]")) return word != "--" && !looks_like_option(word);
  return word.starts_with("true") || word.starts_with("false");
}

// Rejects a value that the option has but this command does not take.
void reject_left_out(const Command& command, const OptionRow& row, std::string_view text) {
  const std::string meant = meant_value(row.option.flag, text);
  if (!row.is_narrowed || std::find(row.choices.begin(), row.choices.end(), meant) != row.choices.end()) return;
  throw Error::format("laptime {}: --{}: {} is none of {}", command.name, row.option.flag, quote(text),
                      joined(row.choices, ", "));
}

GivenFlag given_once(const Command& command, const SortedWords::GivenOption& given) {
  const Option& option = given.row.option;
  if (given.texts.size() != 1) {
    throw Error::format(
        "--{} is given {} times; give it once{}", option.flag, given.texts.size(),
        option.axis ? fmt::format(", its values joined by commas: --{} {}", option.flag, joined(given.texts, ","))
                    : "");
  }
  reject_left_out(command, given.row, given.texts.front());
  return {std::string(option.flag), given.texts.front()};
}

// The words of a command, each option once with its value. Error for anything else.
CommandWords checked(const Command& command, const std::vector<std::string>& words) {
  reject_empty_values(command, words);
  SortedWords sorted = sort_words(command, words);
  if (!sorted.unknown.empty()) reject_unknown(command, sorted.unknown);
  if (sorted.open) throw Error::format("laptime {}: --{} has no value", command.name, sorted.open->option.flag);
  CommandWords checked{
      .command = command.name, .flags = {}, .positionals = std::move(sorted.positionals), .help = sorted.help};
  for (const SortedWords::GivenOption& given : sorted.options) checked.flags.push_back(given_once(command, given));
  return checked;
}

// Opens closed standard streams on /dev/null, so that a file opened later does not get their descriptors. They are
// opened for reading alone, so that writing to them still fails.
void hold_standard_streams() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDONLY) < 0) return;
  }
}

// Lets all threads share one heap if the address space is limited (`ulimit -v`), because each heap reserves 64 MiB.
void share_limited_heap() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) mallopt(M_ARENA_MAX, 1);
}

// Error if the stacks of this program and its threads would be too small, because a stack overflow cannot be reported.
void require_stack() {
  constexpr rlim_t kNeeded = rlim_t{512} << 10U;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kNeeded) return;
  throw Error::format("the limit on the stack is {}, too small to run; allow more, for example with `ulimit -s 8192`",
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

SortedWords sort_words(const Command& command, std::vector<std::string> words) {
  use_own_flags(command, words);
  SortedWords sorted;
  const std::vector<OptionRow> rows = command.options();
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      sorted.options_ended = true;
      sorted.positionals.insert(sorted.positionals.end(), words.begin() + static_cast<ptrdiff_t>(i) + 1, words.end());
      break;
    }
    if (word == "-h" || word == "--help") {
      sorted.help = true;
      continue;
    }
    if (!looks_like_option(word)) {
      sorted.positionals.push_back(word);
      continue;
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const OptionRow& known) {
      return name.starts_with("--") && name.substr(2) == known.option.flag;
    });
    if (row == rows.end()) {
      if (sorted.unknown.empty()) sorted.unknown = word;
      continue;
    }
    const bool is_switch = row->kind == ValueKind::kSwitch;
    const bool has_next = i + 1 < words.size() && (!is_switch || is_value_of_switch(command, words[i + 1]));
    if (equals == std::string::npos && !has_next && !is_switch) {
      sorted.open = *row;
      break;
    }
    auto given = std::find_if(sorted.options.begin(), sorted.options.end(),
                              [&](const auto& other) { return other.row.option.flag == row->option.flag; });
    if (given == sorted.options.end()) given = sorted.options.insert(given, {*row});
    given->texts.push_back(equals != std::string::npos ? word.substr(equals + 1) : has_next ? words[++i] : "true");
  }
  return sorted;
}

Request parse_request(const std::vector<std::string>& words) {
  const auto text = [](std::string what) { return Request{.command = nullptr, .words = {}, .text = std::move(what)}; };
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || (words[0] == kHelp && words.size() == 1)) {
    return text(program_help(help_width()));
  }
  if (words[0] == "--version" || words[0] == "-V") return text(version_text());
  const bool asks_help = words[0] == kHelp;
  const std::string& name = words[asks_help ? 1 : 0];
  std::vector<std::string_view> names{kHelp};
  for (const Command* const command : commands()) {
    names.push_back(command->name);
    if (command->name != name) continue;
    if (asks_help) return text(command_help(*command, help_width()));
    CommandWords own_words = checked(*command, {words.begin() + 1, words.end()});
    if (own_words.help) return text(command_help(*command, help_width()));
    return Request{.command = command, .words = std::move(own_words), .text = {}};
  }
  if (looks_like_option(name)) {
    throw Error::format(
        "laptime: {} stands before a command; the command comes first, as in laptime bench --model small", quote(name));
  }
  reject_word("laptime", "command", name, names);
}

CommandAction parse_arguments(const std::vector<std::string>& words) {
  Request request = parse_request(words);
  return request.command != nullptr ? request.command->parse(request.words) : printing(std::move(request.text));
}

ExitCode run_program(const std::vector<std::string>& words) {
  hold_standard_streams();
  ignore_failed_writes();
  share_limited_heap();
  try {
    require_stack();
    return parse_arguments(words)();
  } catch (const ReaderGone&) {
    return StopSignals::requested() ? ExitCode::kInterrupted : ExitCode::kOk;
  } catch (const OutputLost& error) {
    print_message(error.what());
    return StopSignals::requested() ? ExitCode::kInterrupted : ExitCode::kFailed;
  } catch (const Error& error) {
    print_message(error.what());
    return ExitCode::kBadInput;
  } catch (const std::bad_alloc&) {
    print_message("out of memory before anything could run; allow the program more (ulimit -v, ulimit -d)");
    return ExitCode::kFailed;
  }
}

}  // namespace laptime
