// Writes a page from stored records, or from a sweep that it runs first.
#include <algorithm>

#include "base/error.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "config/ready_sweeps.h"
#include "config/sweep.h"
#include "config/training_options.h"
#include "distribution/bootstrap.h"
#include "page/page.h"

namespace laptime {
namespace {

constexpr int64_t kMostTracedSteps = 1000;
constexpr size_t kMostRecords = 2000;  // per page; a page with more would open slowly
constexpr size_t kMostTraces = 64;     // per page; the newest records keep their traces

struct ReportOptions {
  std::string html;
  int64_t traced_steps = kFewestForInterval;
  TrainingOptions training{};

  static void visit_fields(auto& self, auto&& visit) {
    const auto own = own_options("Report", visit);
    own("html", "page to write: one self-contained file", self.html, {.otherwise = "none; required", .value = "FILE"});
    own("traced-steps", "for a sweep: traced steps per point, alternating with as many untraced ones",
        self.traced_steps, {.min = 1, .max = kMostTracedSteps});
    TrainingOptions::visit_fields(self.training, visit);
  }
};

std::vector<OptionRow> report_options() {  // without the options for printing records
  return without(together(option_rows<ReportOptions>(), option_rows<ShowOptions>(), sweep_options()),
                 "config output output-file sort columns explain mfu");
}

struct ReportCommand : StoreCommand<ReportOptions> {
  std::optional<Sweep> sweep{};  // none: use stored records
};

void write_page(const Destination& destination, const PageInput& input) {
  destination.write(page_html(input));
  print_message(fmt::format("page written to {}", destination.text()));
}

ExitCode run_sweep_file(const ReportCommand& command) {
  const std::string& file = command.options.html;
  const std::vector<ResolvedPoint> points = checked_points(*command.sweep, OutputFile{"--html", file});
  const Destination html(file);
  PointOutput output;
  std::optional<RecordOutput> table;  // none if standard output is the page
  if (html.is_file()) table.emplace(command.sweep->output, planned_records(points), &output.stored_runs);
  PageInput input{.records = {}, .traces = {}, .budget = command.options.training.budget()};
  output.add = [&](const PointResult& result) {
    if (table) table->add(result.record);
    input.records.push_back(result.record);
    input.traces.push_back(result.trace);
  };
  output.finish = [&] {
    if (table) table->finish();
    if (!input.records.empty()) write_page(html, input);
  };
  return run_watched(points, *command.sweep, command.options.traced_steps, output);
}

// The matching records, oldest first, and the newest traces. Throws Error if no record matches, or too many do.
PageInput matching(const SelectedRecords& selected, const TrainingBudget& budget) {
  size_t count = 0;
  selected.records.all(Extent::kNames, [&](const Record&) { ++count; });
  if (count == 0) {
    const std::string none = selected.why_none();
    selected.reject_none("laptime report", fmt::format("{}; laptime show lists the stored records",
                                                       none.empty() ? "no stored record can be read" : none));
  }
  if (count > kMostRecords) {
    throw Error::format(
        "laptime report: {} records match, but a page takes {} at most; narrow them down with a filter, "
        "--run or --last",
        count, kMostRecords);
  }
  PageInput input{.records = {}, .traces = {}, .budget = budget};
  std::vector<int64_t> read;
  selected.records.each_id(Extent::kWhole, [&](int64_t id, const Record& record) {
    read.push_back(id);
    input.records.push_back(record);
    return true;
  });
  input.traces.resize(read.size());
  for (size_t i = read.size() - std::min(kMostTraces, read.size()); i < read.size(); ++i)
    input.traces[i] = selected.store.trace_at(read[i]);
  return input;
}

ExitCode run_stored(const ReportCommand& command) {
  SelectedRecords selected("report", command, {"--html", command.options.html}, std::span(&kCalibrationSweep, 1));
  const PageInput input = matching(selected, command.options.training.budget());
  write_page(Destination(command.options.html), input);
  return selected.problems.end();
}

// If nothing runs, rejects options that describe points to run.
void reject_options_of_a_run(const CommandWords& words) {
  for (const GivenFlag& given : words.flags) {
    if (!is_among(given.flag, sweep_flags()) || given.flag == "store") continue;
    throw Error::format(
        "laptime report: --{} applies only to a sweep that runs; name a sweep (laptime report SWEEP; laptime list "
        "sweeps shows them), or select stored records with a filter: \"{} = {}\"",
        given.flag, given.flag, given.text);
  }
}

// A filter has an operator or several words; a single word without an operator is the name of a sweep.
bool names_sweep(const std::vector<std::string>& positionals) {
  return positionals.size() == 1 && !positionals.front().empty() &&
         positionals.front().find_first_of(" \t\n()'\"=<>!~") == std::string::npos;
}

ReportCommand parse_report(const CommandWords& words) {
  ReportCommand command{given_store_command<ReportOptions>(words)};
  command.options.training.budget();  // throws Error for an invalid budget before anything runs
  if (command.options.html.empty())
    throw Error("laptime report: no page is named; name the file with --html, for example --html report.html");
  if (!names_sweep(words.positionals)) {
    reject_options_of_a_run(words);
    return command;
  }
  if (command.selection.last || !command.selection.run.empty())
    throw Error("laptime report: --last and --run select stored records, but a sweep makes new ones; leave out both");
  command.sweep = read_sweep("laptime report", words.positionals.front());
  set_given(*command.sweep, words);
  command.sweep->output.output = OutputFormat::kTable;
  command.sweep->output.output_file.clear();
  return command;
}

ExitCode run_report(const ReportCommand& command) {
  return command.sweep ? run_sweep_file(command) : run_stored(command);
}

}  // namespace

constinit const Command kReport{
    .name = "report",
    .arguments = "[FILTER|SWEEP] [OPTIONS]",
    .summary = "write a page with charts, tables and answers, from stored records or a sweep",
    .details =
        "Without a sweep the page shows stored records, selected by FILTER as in laptime show: laptime report --last "
        "--html report.html. A sweep, given by name (laptime list sweeps) or file, runs first, with its launches "
        "traced: laptime report assignment_2025 --html report.html. The options of bench modify it, and --resume takes "
        "measured points from the store. A section without data names the command that fills it.",
    .options = report_options,
    .parse = action_of<parse_report, run_report>,
    .filter_columns = named_columns,
};

}  // namespace laptime
