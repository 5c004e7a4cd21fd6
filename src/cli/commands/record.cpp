// Steps of another program over a pipe: a line for each, an answer to each, and the record of them all.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "config/option_table.h"
#include "config/sweep.h"
#include "config/system_config.h"
#include "measure/describe.h"
#include "measure/recorded_steps.h"
#include "report/record_files.h"
#include "report/record_table.h"
#include "sweep/stop_signals.h"
#include "sweep/sweep_store.h"

namespace laptime {
namespace {

// Standard input line by line, until it ends or a signal asks to stop.
class LineInput {
 public:
  struct Line {
    std::string text;         // without its break
    bool is_complete = true;  // false: the input ended before the break
  };

  // A line of more than `most_bytes` is cut there, which its reader can see by its length.
  LineInput(int descriptor, StopSignals& signals, size_t most_bytes)
      : descriptor_(descriptor), signals_(signals), most_bytes_(most_bytes) {}

  // Waits for the next line. None when the input has ended or a signal has arrived.
  std::optional<Line> next() {
    for (;;) {
      const size_t end = unread_.find('\n');
      if (end != std::string::npos) {
        Line line{unread_.substr(0, end)};
        unread_.erase(0, end + 1);
        return line;
      }
      if (unread_.size() > most_bytes_) return Line{std::exchange(unread_, {}).substr(0, most_bytes_ + 1)};
      if (read_more()) continue;
      if (is_stopped_ || unread_.empty()) return std::nullopt;
      return Line{std::exchange(unread_, {}), false};
    }
  }
  bool is_stopped() const { return is_stopped_; }  // by a signal

 private:
  // Waits until there is input or a signal. False when no more is to come.
  bool read_more() {
    std::array<pollfd, 2> ready{pollfd{descriptor_, POLLIN, 0}, pollfd{signals_.descriptor(), POLLIN, 0}};
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR) has_ended_ = true;
    if (signals_.count() > 0) is_stopped_ = true;
    if (is_stopped_ || has_ended_) return false;
    if (ready[0].revents == 0) return true;
    std::array<char, 1 << 12> bytes{};
    const ssize_t count = read(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) return true;
    has_ended_ = count <= 0;
    if (count > 0) unread_.append(bytes.data(), static_cast<size_t>(count));
    return !has_ended_;
  }

  int descriptor_;
  StopSignals& signals_;
  size_t most_bytes_;
  std::string unread_;
  bool has_ended_ = false;
  bool is_stopped_ = false;
};

struct RecordCommand {
  RecordedPoint point;
  OutputConfig output;  // columns and store
};

// Adapts an option of bench: it takes no list, because all steps are those of one point, and has no default value.
OptionRow as_described(OptionRow row) {
  row.option.axis = false;
  if (row.option.flag == "mode" || row.option.flag == "threads") row.fallback = "not stated";
  if (row.option.flag == "dtype") row.fallback += " where the model is named";
  if (row.option.flag == "model") row.fallback = "none: a model that is not known";
  if (row.option.flag == "context" || row.option.flag == "batch") row.fallback = "none; needed beside --model";
  if (row.option.flag == "device") {
    row.option.help = "what the steps run on; their rate is held against the measured peak of the CPU alone";
    row.option.value = "auto|cpu|cuda";
  }
  return row;
}

std::vector<OptionRow> record_options() {
  std::vector<OptionRow> of_point;
  for (OptionRow& row : option_rows<RunConfig>()) {
    if (describes_recorded_steps(row.option.flag)) of_point.push_back(as_described(std::move(row)));
  }
  return together({option_rows<SystemConfig>(), std::move(of_point), output_options({"columns", "store"})});
}

RecordCommand parse_record_command(const CommandWords& words) {
  RecordCommand command;
  SystemConfig system;
  read_options(words, system, command.output);
  Sweep values;  // in their canonical words
  for (const GivenFlag& given : words.flags) {
    if (describes_recorded_steps(given.flag))
      set_option(values, given.flag, fmt::format("--{}", given.flag), {given.text});
  }
  std::vector<GivenOption> given;
  for (const Axis& axis : values.axes) given.push_back({axis.flag, axis.values.front()});
  command.point = recorded_point(given, system);
  return command;
}

// Tells the other program what to do next.
void answer(std::string_view next, std::string_view reason) {
  write_output(Json{{"next", next}, {"reason", reason}}.dump() + "\n");
}

// Why the lines ended before the rule was satisfied.
struct EarlyEnd {
  std::string by{};  // "a signal", "line 3 (unknown key 'stp')"; empty if the rule ended them
  bool is_wrong_line = false;
};

// None if the line was added. An incomplete last line is not an error: the program was ended while it wrote it.
std::optional<EarlyEnd> add_line(RecordedSteps& steps, const LineInput::Line& line, int64_t number) {
  try {
    steps.add(parse_step_line(line.text));
    return std::nullopt;
  } catch (const Error& error) {
    if (!line.is_complete) return EarlyEnd{"the end of the input"};
    if (steps.count() == 0) throw Error::format("laptime record: line {}: {}; nothing is stored", number, error.what());
    return EarlyEnd{fmt::format("line {} ({})", number, error.what()), true};
  }
}

// Takes lines until the rule is satisfied.
EarlyEnd take_steps(LineInput& input, RecordedSteps& steps) {
  const auto ended = [&] { return EarlyEnd{input.is_stopped() ? "a signal" : "the end of the input"}; };
  try {
    for (int64_t number = 1; !steps.is_done(); ++number) {
      const std::optional<LineInput::Line> line = input.next();
      if (line && line->text.find_first_not_of(" \t\r") == std::string::npos && line->is_complete) continue;
      if (const std::optional<EarlyEnd> end = line ? add_line(steps, *line, number) : ended()) {
        answer("stop", end->by);
        return *end;
      }
      answer(steps.is_done() ? "stop" : "continue", steps.progress());
    }
  } catch (const ReaderGone&) {  // the program that runs the steps has closed its end of the pipe
    return steps.is_done() ? EarlyEnd{} : ended();
  }
  return {};
}

ExitCode run(const RecordCommand& command) {
  Record described = describe_recorded(command.point);
  described.run = new_run_id();
  JsonLines lines(command.output.columns, RecordList(std::span<const Record>(&described, 1)));
  SweepStore store(store_for(command.output));
  StopSignals signals;
  LineInput input(STDIN_FILENO, signals, kMaxStepLineBytes);
  RecordedSteps steps(command.point);
  const EarlyEnd end = take_steps(input, steps);
  if (steps.count() == 0 && input.is_stopped()) return ExitCode::kInterrupted;
  if (steps.count() == 0) {
    throw Error(
        "laptime record: standard input ended before the first step; write a line for each step, such as {\"step\": "
        "NANOSECONDS}");
  }
  const MachineKnowledge known =
      command.point.device ? store.known(device_key(*command.point.device)) : MachineKnowledge{};
  const PointResult result = recorded_result(command.point, std::move(described), std::move(steps), end.by, known);
  const std::optional<std::string> problem = store.keep(result);
  if (problem) print_message(*problem);
  write_output(lines.line(result.record));
  // The row of the record for people, beside the JSON for the other program.
  TableStream row(table_style(standard_error(), {}), "default", std::span(&result.record, 1));
  print_error_text(row.add(result.record));
  if (result.record.status == Status::kInterrupted) {
    print_message(fmt::format("interrupted: {}", result.record.reason));
    return end.is_wrong_line ? ExitCode::kBadInput : ExitCode::kInterrupted;
  }
  return result.record.status == Status::kOk && !problem ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace

constinit const Command kRecord{
    .name = "record",
    .arguments = "[OPTIONS]",
    .summary = "measure steps that another program runs, by the rule of bench",
    .details =
        "Reads a line of JSON from standard input for each step that has ended, {\"step\": NANOSECONDS}, and answers "
        "each with {\"next\": \"continue\"} or {\"next\": \"stop\"} and the reason. Warm-up, end, statistics and "
        "verdict are those of bench. The record is stored, and is the last line that is printed. A line may also have "
        "forward, backward and optimizer (nanoseconds within the step), begin (of the step, on one clock, by which "
        "pauses count and disturbances of this machine are noticed), loss, peak_bytes and peak_rss_bytes; every line "
        "has the same keys, null or NaN where there is no value. A line that is wrong ends the steps; those before it "
        "are kept. In Python laptime.measure(step) does all this.",
    .options = record_options,
    .parse = action_of<parse_record_command, run>,
};

}  // namespace laptime
