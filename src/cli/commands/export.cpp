// Exports stored records, filtered, in other tools' formats.
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "analysis/launch_sums.h"
#include "base/error.h"
#include "base/units.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/destination.h"
#include "cli/help.h"
#include "cli/inputs.h"
#include "config/output_config.h"
#include "export/formats.h"
#include "record/metrics.h"
#include "record/store.h"
#include "report/columns.h"
#include "report/filter.h"
#include "report/names.h"
#include "report/words.h"

namespace laptime {
namespace {

struct ExportWords {
  ExportedSteps steps = ExportedSteps::kOne;
  NsysReport report = NsysReport::kKernels;
  bool newest = false;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Export";
    visit(own_option(kGroup, "newest", "take only the last matching record, preferring measured ones over predictions"),
          self.newest);
    visit(own_option(kGroup, "steps", "traced steps to write: the one with the median time, or all"), self.steps);
    visit(own_option(kGroup, "report", "nsys table to write: time by kernel, or by range"), self.report);
  }
};

struct ExportCommand : StoreCommand<ExportWords> {
  const ExportFormat* format = nullptr;
};

std::vector<WordHelp> format_choices() {
  return words_of(export_formats(), &ExportFormat::name, [](const ExportFormat& format) {
    return fmt::format("{} (made from a {})", format.help, name_of(format.needs));
  });
}

// The prefix of every message: "laptime export trace".
std::string where(const ExportCommand& command) { return fmt::format("laptime export {}", command.format->name); }

// "created = '2026-11-23T13:02:11Z', ...": filters for the last records, newest first.
std::string filters_by_date(const std::vector<TracedRecord>& records) {
  std::vector<std::string> filters;
  constexpr size_t kMost = 3;
  for (size_t i = records.size(); i > 0 && filters.size() < kMost; --i)
    filters.push_back(fmt::format("\"created = '{}'\"", records[i - 1].record.created));
  return joined(filters, ", ");
}

// Rejects a filter that names a column of launches: it was meant for laptime profile.
void reject_launch_columns(const Filter& filter, const ExportCommand& command) {
  const std::vector<std::string_view> of_launches = launch_columns();
  for (const std::string& column : filter.columns()) {
    if (std::ranges::find(of_launches, column) == of_launches.end()) continue;
    throw Error::format(
        "{}: {} is a column of launches, but the filter of export selects records, as in laptime show; laptime profile "
        "\"{}\" selects launches",
        where(command), quote(column), command.filter);
  }
}

// The matching records and, if the format needs them, their traces.
std::vector<TracedRecord> matching(const Store& store, const ExportCommand& command, StoreProblems& problems) {
  Filter filter(command.filter);
  narrow_to_measurements(filter, store, command.selection);
  std::vector<TracedRecord> records;
  const auto add = [&](int64_t id, const Record& record) {
    const bool has_trace = command.format->needs != ExportNeeds::kRecords;
    records.push_back({record, has_trace ? store.trace_at(id) : std::nullopt});
    return true;
  };
  try {
    StoredRecords(store, filter, [&](const std::string& problem) {
      problems.add(problem);
    }).each_id(Extent::kWhole, add);
  } catch (const Error&) {
    if (records.empty()) reject_launch_columns(filter, command);
    throw;
  }
  return records;
}

// The records to write. Throws Error if there are none, or too many for the format.
std::vector<TracedRecord> chosen_records(const Store& store, const ExportCommand& command, StoreProblems& problems) {
  const bool is_timed = command.format->needs == ExportNeeds::kTimedTrace;
  const bool is_of_one = is_timed || command.format->needs == ExportNeeds::kTrace;
  std::vector<TracedRecord> records = matching(store, command, problems);
  const size_t count = records.size();
  if (count == 0) {
    throw Error::format(
        "{}: no stored record matches{}; laptime show lists the records (those of laptime calibrate match only if the "
        "filter names their sweep or run)",
        where(command), command.filter.empty() ? "" : " " + quote(command.filter));
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
    // A predicted record counts only if none was measured, because a filter may select only predictions.
    const auto measured = std::find_if(records.rbegin(), records.rend(),
                                       [](const TracedRecord& traced) { return !is_predicted(traced.record); });
    if (measured != records.rend()) records.erase(measured.base(), records.end());
    records.erase(records.begin(), records.end() - 1);
  }
  if (is_of_one && records.size() > 1) {
    throw Error::format(
        "{}: the format takes one record, but {} match; the last is {}. Take it with --newest, {}or select one by its "
        "date: {}",
        where(command), records.size(), spoken_name(records.back().record.name),
        command.selection.last ? "" : "use --last for the last run, ", filters_by_date(records));
  }
  return records;
}

ExitCode run(const ExportCommand& command) {
  const std::string file = command.output.output_file == "-" ? "" : command.output.output_file;
  const std::filesystem::path path = store_to_read("export", command.output.store, {"--output-file", file});
  if (file.empty() && !command.format->is_text && isatty(STDOUT_FILENO) == 1) {
    throw Error::format("{}: the format is binary and would garble the terminal; name a file with --output-file",
                        where(command));
  }
  StoreProblems problems;
  const std::vector<TracedRecord> records = chosen_records(Store::open(path, Store::Access::kRead), command, problems);
  const Destination destination(file);
  const std::string text =
      command.format->write(records, {.steps = command.options.steps, .report = command.options.report});
  destination.write(text);
  print_message(fmt::format("{}: {} of {} written to {}", where(command), format_bytes(std::ssize(text)),
                            counted(records.size(), "record"), file.empty() ? "standard output" : quote(file)));
  return problems.end();
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
          return together(
              {option_rows<ExportWords>(), option_rows<ShowOptions>(), output_options({"output-file", "store"})});
        },
    .parse = action_of<parse_export, run>,
    .choices = format_choices,
    .filter_columns = named_columns,
};

}  // namespace laptime
