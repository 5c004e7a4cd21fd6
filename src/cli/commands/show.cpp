// Commands that use the store: laptime show prints its records, history follows a metric, import adds records.
#include <array>
#include <filesystem>
#include <map>
#include <string>

#include "base/error.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/help.h"
#include "cli/inputs.h"
#include "cli/output.h"
#include "config/ready_sweeps.h"
#include "config/training_options.h"
#include "record/metrics.h"
#include "record/store.h"
#include "report/history.h"

namespace laptime {
namespace {

using ShowCommand = StoreCommand<TrainingOptions>;

ExitCode run_show(const ShowCommand& command) {
  const TrainingBudget budget = command.options.budget();
  SelectedRecords selected("show", command, {"--output-file", command.output.output_file});
  if (!command.output.sort.empty()) selected.records.sort(command.output.sort);
  write_records(command.output, selected.records, /*tells_runs=*/!command.selection.last);
  if (budget.is_asked()) {
    TrainingLines training(command.output, budget);
    selected.records.all(Extent::kWhole, [&](const Record& record) { training.add(record); });
    training.print();
  }
  if (const std::string none = selected.why_none(); !none.empty()) print_message(none);
  return selected.problems.end();
}

// Returns the word unchanged; throws Error unless it names a metric.
std::string canonical_metric(std::string_view where, std::string_view word) {
  if (find_metric(word) != nullptr) return std::string(word);
  reject_word(where, "metric", word, mapped(metrics(), &Metric::tag));
}

struct HistoryWords {
  std::string metric = "median";
  std::string within = "1%";
  bool each_record = false;

  static void visit_fields(auto& self, auto&& visit) {
    const auto own = own_options("History", visit);
    own("metric", "metric to track (laptime list metrics)", self.metric,
        {.value = "NAME", .canonical = canonical_metric});
    own("within", "ignore level changes smaller than this", self.within,
        {.value = "PERCENT", .canonical = unchanged<parse_percent>});
    own("each-record", "show every record instead of the median of each build", self.each_record);
  }
};

using HistoryCommand = StoreCommand<HistoryWords>;

ExitCode run_history(const HistoryCommand& command) {
  constexpr std::array kLeftOut{kCalibrationSweep, kCompareSweep, kSelfcheckSweep};
  SelectedRecords selected("history", command, {"--output-file", command.output.output_file}, kLeftOut);
  AnswerOutput output(command.output);
  size_t single = 0;
  const std::vector<PointAnswer> answers = history_answers(selected.records,
                                                           {.metric = find_metric(command.options.metric),
                                                            .least = parse_percent("--within", command.options.within),
                                                            .by_commit = !command.options.each_record},
                                                           &single);
  for (const PointAnswer& answer : answers) output.add(answer);
  output.finish();
  if (const std::string none = selected.why_none(); !none.empty()) {
    print_message(none);
  } else if (answers.empty()) {
    print_message(fmt::format("{} with {} only; a history needs {}", counted(single, "point"),
                              command.options.each_record ? "one record" : "records of one build",
                              command.options.each_record ? "two" : "two builds, or --each-record"));
  }
  return selected.problems.end();
}

ExitCode run_import(const std::vector<std::string>& files, const std::string& option) {
  const std::optional<std::filesystem::path> path = store_path(option);
  if (!path) throw Error("laptime import: no store to import into; name one with --store");
  std::map<std::string, MachinesByRun> machines;  // keyed by file; stores have no entry
  for (const std::string& file : files) {
    reject_overwriting({"laptime import", file}, files_of_store(path));
    if (!is_store(file)) machines[file] = checked_records(file);
  }
  if (option.empty()) {
    std::error_code ignored;  // opening the store reports what is wrong
    std::filesystem::create_directories(path->parent_path(), ignored);
  }
  Store store = Store::open(*path);
  StoreProblems problems;
  for (const std::string& file : files) {
    const auto add_problem = [&](const std::string& problem) { problems.add(fmt::format("{}: {}", file, problem)); };
    const Imported imported = is_store(file) ? import_store(store, Store::open(file, Store::Access::kRead), add_problem)
                                             : import_records(store, file, machines[file]);
    until_reader_goes([&] {
      write_output(fmt::format("{}: {} and {} imported, {} already stored\n", quote(file),
                               counted(imported.added, "record"), counted(imported.traces, "trace"), imported.known));
    });
  }
  return problems.end();
}

CommandAction parse_import(const CommandWords& words) {
  if (words.positionals.empty())
    throw Error("laptime import: no file given; name stores or JSON record files: laptime import other.sqlite");
  return [files = words.positionals, store = given_options<OutputConfig>(words).store](const RankPipes&) {
    return run_import(files, store);
  };
}

}  // namespace

constinit const Command kShow{
    .name = "show",
    .arguments = "[FILTER] [OPTIONS]",
    .summary = "show stored records as a table",
    .details =
        "FILTER is one or more comparisons 'column OP value', joined by 'and' or 'or': laptime show \"model = small "
        "and ctx >= 256\". OP is "
        "one of = != < <= > >= or ~, which looks for text anywhere in the value (name ~ compile). 'column in (a, b)' "
        "matches any of the values, and 'not' before a comparison or '(' inverts it. "
        "With --verbose, set-up, first steps and the reasons for the verdict are printed below each row.",
    .options =
        [] {
          std::vector<OptionRow> of_output = option_rows<OutputConfig>();
          std::erase_if(of_output, [](const OptionRow& row) { return row.option.group != kOutput; });
          return without(together(option_rows<ShowOptions>(), option_rows<TrainingOptions>(), of_output), "explain");
        },
    .parse = action_of<given_store_command<TrainingOptions>, run_show>,
    .filter_columns = named_columns,
};

constinit const Command kHistory{
    .name = "history",
    .arguments = "[FILTER] [OPTIONS]",
    .summary = "track a metric across builds and mark changes",
    .details =
        "Follows a metric of stored records, point by point and machine by machine: laptime history \"model = small\" "
        "--metric forward_time. A level has at least three values. It changes where the values before and after "
        "differ more than in 99 of 100 random orders of all values. FILTER selects records as in laptime show; those "
        "of laptime calibrate, compare and selfcheck are left out unless FILTER names their sweep or run.",
    .options =
        [] { return with_formats(together(option_rows<HistoryWords>(), output_options("output output-file store"))); },
    .parse = action_of<given_store_command<HistoryWords>, run_history>,
    .filter_columns = named_columns,
};

constinit const Command kImport{
    .name = "import",
    .arguments = "FILE... [OPTIONS]",
    .summary = "add records from other files to the store",
    .details =
        "FILE is another store, perhaps from another machine, or JSON records: one per line, a list, or a single "
        "record, as laptime show --output json --columns all and laptime export jsonl write them. Traces are added "
        "with their records. A record that the store already has is not added again. Nothing is added if a JSON file "
        "has a line that is not a record.",
    .options = [] { return output_options("store"); },
    .parse = parse_import,
    .examples = "  laptime import other.sqlite records.jsonl\n",
};

}  // namespace laptime
