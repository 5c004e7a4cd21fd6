// Exports stored records, filtered, in other tools' formats.
#include <unistd.h>

#include <algorithm>
#include <span>

#include "analysis/launch_sums.h"
#include "base/error.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/help.h"
#include "cli/inputs.h"
#include "config/label.h"
#include "config/ready_sweeps.h"
#include "export/formats.h"
#include "report/filter.h"

namespace laptime {
namespace {

struct ExportWords {
  ExportOptions written;
  bool newest = false;

  static void visit_fields(auto& self, auto&& visit) {
    const auto own = own_options("Export", visit);
    own("newest", "take only the last matching record, preferring measured ones over predictions", self.newest);
    own("steps", "traced steps to write: the one with the median time, or all", self.written.steps);
    own("report", "nsys table to write: time by kernel, or by range", self.written.report);
  }
};

struct ExportCommand : StoreCommand<ExportWords> {
  const ExportFormat* format = nullptr;
};

std::vector<WordHelp> format_choices() {
  return words_of(export_formats(), &ExportFormat::name, [](const ExportFormat& format) {
    return fmt::format("{} (input: {})", format.help, name_of(format.needs));
  });
}

// The prefix of every message: "laptime export trace".
std::string where(const ExportCommand& command) { return fmt::format("laptime export {}", command.format->name); }

// A filter that selects only this one of `records`: by its date or its run if that is enough. `is_selection`: the
// command excluded some stored records, and these may have the same date or run.
std::string filter_of(const Record& record, const std::vector<TracedRecord>& records, bool is_selection) {
  const auto is_enough = [&](std::string Record::*field) {
    return !is_selection &&
           std::ranges::count(records, record.*field, [&](const TracedRecord& t) { return t.record.*field; }) == 1;
  };
  if (is_enough(&Record::created)) return fmt::format("created = '{}'", record.created);
  if (is_enough(&Record::run)) return fmt::format("run = '{}'", record.run);
  return fmt::format("run = '{}' and name = '{}'", record.run, record.name);
}

// "created = '2026-11-23T13:02:11Z', ...": filters for the last records, newest first.
std::string filters_of_last(const std::vector<TracedRecord>& records, bool is_selection) {
  std::vector<std::string> filters;
  constexpr size_t kMost = 3;
  for (size_t i = records.size(); i > 0 && filters.size() < kMost; --i)
    filters.push_back(fmt::format("\"{}\"", filter_of(records[i - 1].record, records, is_selection)));
  return joined(filters, ", ");
}

// Rejects a filter that names a column of launches: it was meant for laptime profile.
void reject_launch_columns(const ExportCommand& command) {
  const std::vector<std::string_view> of_launches = launch_columns();
  for (const std::string& column : Filter(command.filter).columns()) {
    if (!is_among(column, of_launches)) continue;
    throw Error::format(
        "{}: {} is a column of launches, but the filter of export selects records, as in laptime show; laptime profile "
        "\"{}\" selects launches",
        where(command), quote(column), command.filter);
  }
}

// The records to write. Throws Error if there are none, or too many for the format.
std::vector<TracedRecord> chosen_records(const SelectedRecords& selected, const ExportCommand& command) {
  const bool is_timed = command.format->needs == ExportNeeds::kTimedTrace;
  const bool is_of_one = is_timed || command.format->needs == ExportNeeds::kTrace;
  const bool has_traces = is_of_one || command.format->needs == ExportNeeds::kRecordsAndTraces;
  std::vector<TracedRecord> records;
  selected.records.each_id(Extent::kWhole, [&](int64_t id, const Record& record) {
    records.push_back({record, has_traces ? selected.store.trace_at(id) : std::nullopt});
    return true;
  });
  const size_t count = records.size();
  if (count == 0) {
    selected.reject_none(where(command),
                         fmt::format("no stored record matches{}; laptime show lists the records. Records made by "
                                     "laptime calibrate match only if the filter names their sweep or run",
                                     command.filter.empty() ? "" : " " + quote(command.filter)));
  }
  if (command.format->needs == ExportNeeds::kTimedRecords) {
    const size_t untimed = std::erase_if(records, [](const TracedRecord& traced) { return !has_time(traced.record); });
    if (records.empty()) {
      throw Error::format("{}: none of {} has a time; laptime show states the reasons", where(command),
                          counted(count, "matching record"));
    }
    if (untimed > 0) {
      print_message(fmt::format("{}: left out {} without a time; laptime show states the reasons", where(command),
                                counted(untimed, "record")));
    }
  }
  if (is_of_one) {
    std::erase_if(records, [&](const TracedRecord& traced) {
      return !traced.trace || (is_timed && (traced.trace->steps.empty() || traced.trace->launch_count() == 0));
    });
  }
  if (records.empty()) {
    throw Error::format("{}: none of {} has a trace{}; make one with laptime profile{}", where(command),
                        counted(count, "matching record"), is_timed ? " with times" : "",
                        is_timed ? "" : " or laptime memory --run");
  }
  if (command.options.newest) {
    // Takes a predicted record only if the filter selects no measured record.
    const auto measured = std::find_if(records.rbegin(), records.rend(),
                                       [](const TracedRecord& traced) { return !is_predicted(traced.record); });
    if (measured != records.rend()) records.erase(measured.base(), records.end());
    records.erase(records.begin(), records.end() - 1);
  }
  if (is_of_one && records.size() > 1) {
    const bool is_selection = !command.filter.empty() || command.selection.last || !command.selection.run.empty();
    throw Error::format(
        "{}: the format takes one record, but {} match; the last is {}. Take it with --newest, {}or select one with "
        "a filter: {}",
        where(command), records.size(), spoken_name(records.back().record.name),
        command.selection.last ? "" : "use --last for the last run, ", filters_of_last(records, is_selection));
  }
  return records;
}

SelectedRecords selected_by(const ExportCommand& command) {
  try {
    return {"export", command, {"--output-file", command.output.output_file}, std::span(&kCalibrationSweep, 1)};
  } catch (const Error&) {
    reject_launch_columns(command);
    throw;
  }
}

ExitCode run_export(const ExportCommand& command) {
  SelectedRecords selected = selected_by(command);
  const Destination destination(command.output.output_file);
  if (!destination.is_file() && !command.format->is_text && isatty(STDOUT_FILENO) == 1) {
    throw Error::format("{}: the format is binary and would garble the terminal; name a file with --output-file",
                        where(command));
  }
  const std::vector<TracedRecord> records = chosen_records(selected, command);
  const std::string text = command.format->write(records, command.options.written);
  destination.write(text);
  print_message(fmt::format("{}: {} of {} written to {}", where(command), format_bytes(std::ssize(text)),
                            counted(records.size(), "record"), destination.text()));
  return selected.problems.end();
}

ExportCommand parse_export(const CommandWords& words) {
  const ExportFormat& format = export_formats()[chosen(words, "format", format_choices())];
  return {given_store_command<ExportWords, 1>(words), &format};
}

}  // namespace

constinit const Command kExport{
    .name = "export",
    .arguments = "FORMAT [FILTER] [OPTIONS]",
    .summary = "write stored records and traces in other tools' formats",
    .details =
        "FILTER selects records as in laptime show. A trace format takes one record, stored by laptime profile or "
        "laptime memory.",
    .options =
        [] {
          return together(option_rows<ExportWords>(), option_rows<ShowOptions>(), output_options("output-file store"));
        },
    .parse = action_of<parse_export, run_export>,
    .choices = format_choices,
    .filter_columns = named_columns,
};

}  // namespace laptime
