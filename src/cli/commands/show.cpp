// Stored records, filtered, in any format.
#include "cli/commands/show.h"

#include "base/error.h"
#include "base/words.h"
#include "cli/column_words.h"
#include "cli/commands.h"
#include "cli/destination.h"
#include "cli/record_output.h"
#include "cli/sweep_words.h"
#include "cli/terminal.h"
#include "cli/user_store.h"
#include "record/store.h"
#include "report/filter.h"

namespace laptime {
namespace {

std::vector<OptionRow> show_options() {
  std::vector<OptionRow> rows = option_rows<ShowOptions>();
  for (OptionRow& row : option_rows<OutputConfig>()) {
    if (row.option.group == kOutput) rows.push_back(std::move(row));
  }
  return rows;
}

ExitCode run(const ShowCommand& command) {
  const std::filesystem::path path =
      store_to_read("show", command.output.store, {{"--output-file", command.output.output_file}});
  Filter filter(command.filter);
  const Store store = Store::open(path, Store::Access::kRead);
  narrow_to_run(filter, store, command.options);
  StoreProblems problems;
  StoredRecords records(store, filter, [&](const std::string& problem) { problems.add(problem); });
  if (!command.output.sort.empty()) records.sort(command.output.sort);
  write_records(command.output, records, /*tells_runs=*/!command.options.last);
  if (const std::string none = records.why_none(filter); !none.empty()) print_message(none);
  return problems.end();
}

}  // namespace

ShowCommand parse_show(const CommandWords& words) {
  ShowCommand show{.filter = joined(words.positionals, " "), .options = {}, .output = {}};
  for (const GivenFlag& given : words.flags) {
    if (!assign_given(show.options, given)) assign_given(show.output, given);
  }
  reject_last_and_run("show", show.options);
  return show;
}

constinit const Command kShow{
    .name = "show",
    .arguments = "[FILTER] [OPTIONS]",
    .summary = "stored records as a table again",
    .details =
        "FILTER is 'column OP value', joined by 'and' and 'or': laptime show \"model = small and ctx >= 256\". OP is "
        "one of = != < <= > >= or ~, which looks for text anywhere in the value (name ~ compile). 'column in (a, b)' "
        "matches each of the values, 'not' before a comparison or '(' what does not match. "
        "With --verbose the reasons of verdicts, set-up and first steps stand below each row.",
    .options = show_options,
    .parse = action_of<parse_show, run>,
    .filter_columns = named_columns,
};

}  // namespace laptime
