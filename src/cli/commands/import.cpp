// Adds the records of files to the store.
#include "cli/commands.h"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "cli/destination.h"
#include "cli/sweep_words.h"
#include "cli/terminal.h"
#include "cli/user_store.h"
#include "config/output_config.h"
#include "record/store.h"

namespace laptime {
namespace {

std::vector<OptionRow> import_options() {
  std::vector<OptionRow> rows;
  for (OptionRow& row : option_rows<OutputConfig>()) {
    if (row.option.flag == "store") rows.push_back(std::move(row));
  }
  return rows;
}

bool is_store(const std::string& file) {
  try {
    return store_schema::kind_of_file(file) == store_schema::FileKind::kStore;
  } catch (const Error&) {  // not a store: the reader of records says what is wrong with it
    return false;
  }
}

ExitCode run(const std::vector<std::string>& files, const std::string& option) {
  const std::optional<std::filesystem::path> path = store_path(option);
  if (!path) throw Error("laptime import: there is no store to import into; name the file with --store");
  for (const std::string& file : files) {
    reject_overwriting({{"laptime import", file}}, files_of_store(path));
    if (!is_store(file)) check_records(file);
  }
  if (option.empty()) {
    std::error_code ignored;  // opening the store says what is wrong
    std::filesystem::create_directories(path->parent_path(), ignored);
  }
  Store store = Store::open(*path);
  StoreProblems problems;
  for (const std::string& file : files) {
    const auto add_problem = [&](const std::string& problem) { problems.add(fmt::format("{}: {}", file, problem)); };
    const Imported imported = is_store(file) ? import_store(store, Store::open(file, Store::Access::kRead), add_problem)
                                             : import_records(store, file);
    write_all(STDOUT_FILENO,
              fmt::format("{}: {} and {} imported, {} known before\n", quote(file), counted(imported.added, "record"),
                          counted(imported.traces, "trace"), imported.known),
              kStandardOutput);
  }
  return problems.end();
}

CommandAction import_action(const CommandWords& words) {
  if (words.positionals.empty())
    throw Error("laptime import: no file; give stores, or files of records in JSON: laptime import other.sqlite");
  const auto output = given_options<OutputConfig>(words);
  return [files = words.positionals, store = output.store] { return run(files, store); };
}

}  // namespace

constinit const Command kImport{
    .name = "import",
    .arguments = "FILE... [OPTIONS]",
    .summary = "add the records of other files to the store",
    .details =
        "FILE is another store, perhaps of another machine, or records in JSON: one on each line, a list, or a single "
        "one, as laptime show --output json --columns all and laptime export jsonl write them. Traces are added with "
        "their records. A record that the store has is not added again. Nothing is added if a file of JSON has a line "
        "that is no record.",
    .options = import_options,
    .parse = import_action,
    .examples = "  laptime import other.sqlite records.jsonl\n",
};

}  // namespace laptime
