// Measures steps of another program over a pipe: reads one line per step, answers each line, and records all steps.
#include <unistd.h>

#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "config/sweep.h"
#include "config/system_config.h"
#include "measure/describe.h"
#include "measure/recorded_steps.h"
#include "report/record_files.h"
#include "report/record_table.h"
#include "sweep/line_input.h"
#include "sweep/stop_signals.h"
#include "sweep/sweep_store.h"

namespace laptime {
namespace {

struct RecordCommand {
  RecordedPoint point;
  OutputConfig output;  // columns and store
};

// Adapts an option of bench: it takes no list, because all steps belong to one point, and help shows another default.
OptionRow as_described(OptionRow row) {
  row.option.axis = false;
  if (row.option.flag == "mode" || row.option.flag == "threads") row.fallback = "not stated";
  if (row.option.flag == "dtype") row.fallback += " if the model is named";
  if (row.option.flag == "model") row.fallback = "none, so the model is unknown";
  if (row.option.flag == "context" || row.option.flag == "batch") row.fallback = "none; required with --model";
  if (row.option.flag == "device") {
    row.option.help = "device that runs the steps; the fraction of the peak FLOP/s is reported only for the CPU";
    row.option.value = "auto|cpu|cuda";
  }
  return row;
}

std::vector<OptionRow> record_options() {
  std::vector<OptionRow> of_point;
  for (OptionRow& row : option_rows<RunConfig>()) {
    if (describes_recorded_steps(row.option.flag)) of_point.push_back(as_described(std::move(row)));
  }
  return together(option_rows<SystemConfig>(), of_point, output_options("columns store"));
}

RecordCommand parse_record_command(const CommandWords& words) {
  RecordCommand command;
  SystemConfig system;
  read_options(words, system, command.output);
  Sweep values;  // option values in canonical spelling
  for (const GivenFlag& given : words.flags) {
    if (describes_recorded_steps(given.flag))
      set_option(values, given.flag, fmt::format("--{}", given.flag), {given.text});
  }
  std::vector<GivenOption> given;
  for (const Axis& axis : values.axes) given.push_back({axis.flag, axis.values.front()});
  command.point = recorded_point(given, system);
  return command;
}

void answer(std::string_view next, std::string_view reason) {
  write_output(Json{{"next", next}, {"reason", reason}}.dump() + "\n");
}

// Why the command stops reading steps.
struct EarlyEnd {
  std::string by{};  // "a signal", "line 3 (unknown key 'stp')"; empty if the stopping rule is satisfied
  ExitCode code = ExitCode::kInterrupted;
};

// Adds a step; returns none, or the reason why reading ends. Throws Error if the very first step is invalid. An
// incomplete last line is not an error: the program ended while it was writing.
std::optional<EarlyEnd> add_line(RecordedSteps& steps, const LineInput::Line& line, int64_t number) {
  try {
    steps.add(parse_step_line(line.text));
    return std::nullopt;
  } catch (const Error& error) {
    if (!line.is_complete) return EarlyEnd{"the end of the input"};
    if (steps.count() == 0) throw Error::format("laptime record: line {}: {}; nothing is stored", number, error.what());
    return EarlyEnd{fmt::format("line {} ({})", number, error.what()), ExitCode::kBadInput};
  }
}

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
  } catch (const OutputLost&) {  // the steps so far must be stored before this becomes an error
    return steps.is_done() ? EarlyEnd{} : EarlyEnd{"a failed write to standard output", ExitCode::kFailed};
  }
  return {};
}

ExitCode run_record(const RecordCommand& command) {
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
  const auto write_record = [&] { write_output(lines.line(result.record)); };
  if (problem) {
    print_message(*problem);
    until_reader_goes(write_record);  // even without a reader, the exit code must report the lost record
  } else {
    write_record();
  }
  // Prints a row for people, in addition to the JSON for the other program.
  TableStream row(table_style(standard_error(), {}), "default", RecordList(std::span(&result.record, 1)));
  print_error_text(row.add(result.record));
  if (result.record.status == Status::kInterrupted) {
    print_message(fmt::format("interrupted: {}", result.record.reason));
    return end.code;
  }
  return result.record.status == Status::kOk && !problem ? ExitCode::kOk : ExitCode::kFailed;
}

}  // namespace

constinit const Command kRecord{
    .name = "record",
    .summary = "measure steps that another program runs, with the stopping rule of bench",
    .details =
        "Reads one line of JSON from standard input for each finished step, {\"step\": NANOSECONDS}, and answers each "
        "with {\"next\": \"continue\"} or {\"next\": \"stop\"} and the reason. Warm-up, stopping rule, statistics and "
        "verdict are those of bench. The record is stored and printed as the last line. A line may also have forward, "
        "backward and optimizer (nanoseconds within the step), begin (time in nanoseconds at the start of the "
        "step, from the same clock in every line, to detect pauses and disturbances of this machine), loss, peak_bytes "
        "and peak_rss_bytes; every line has the same keys, with null or NaN for missing values. An invalid line ends "
        "the run; the steps before it are kept. In Python, laptime.measure(step) does all of this.",
    .options = record_options,
    .parse = action_of<parse_record_command, run_record>,
};

}  // namespace laptime
