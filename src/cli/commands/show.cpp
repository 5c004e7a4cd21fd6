// Stored records, filtered, in any format.
#include "cli/commands/show.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "cli/message.h"
#include "cli/record_output.h"
#include "cli/store_path.h"
#include "cli/used_files.h"
#include "record/store.h"
#include "report/filter.h"

namespace laptime {
namespace {

std::vector<OptionRow> show_options() {
  std::vector<OptionRow> rows = option_rows<OutputConfig>();
  std::erase_if(rows, [](const OptionRow& row) { return row.option.group != kOutput; });
  return rows;
}

ExitCode run(const ShowCommand& command) {
  const std::optional<std::filesystem::path> path = store_path(command.output.store);
  if (!path) throw Error("laptime show: there is no store to read; name the file with --store");
  reject_overwriting(command.output.output_file, files_of_store(path));
  const Filter filter(command.filter);
  std::vector<Record> stored;
  bool damaged = false;
  Store::open(*path, Store::Access::kRead)
      .each(
          Extent::kWhole, [&](int64_t, const Record& record) { stored.push_back(record); },
          [&](const std::string& problem) {
            damaged = true;
            print_message(problem);
          });
  const std::vector<Record> records = filter.apply(stored);
  RecordOutput output(command.output, records);
  for (const Record& record : records) output.add(record);
  output.finish();
  return damaged ? ExitCode::kFailed : ExitCode::kOk;
}

}  // namespace

ShowCommand parse_show(const CommandWords& words) {
  ShowCommand show{.filter = fmt::format("{}", fmt::join(words.positionals, " ")), .output = {}};
  for (const GivenFlag& given : words.flags) assign_given(show.output, given);
  return show;
}

constinit const Command kShow{
    .name = "show",
    .arguments = "[FILTER] [OPTIONS]",
    .summary = "stored records as a table again",
    .details = "FILTER is 'column OP value', joined by 'and' and 'or': laptime show \"model = small and ctx >= 256\"",
    .options = show_options,
    .parse = [](const CommandWords& words) -> CommandAction {
      return [command = parse_show(words)] { return run(command); };
    },
};

}  // namespace laptime
