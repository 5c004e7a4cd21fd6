// laptime show: stored records again.
#include "base/error.h"
#include "cli/commands.h"
#include "cli/record_output.h"
#include "cli/store_path.h"
#include "record/store.h"
#include "report/filter.h"

namespace laptime {

ExitCode run_command(const ShowCommand& command) {
  const std::optional<std::filesystem::path> path = store_path(command.output.store);
  if (!path) throw Error("laptime show: there is no store to read; name the file with --store");
  const Filter filter(command.filter);
  const std::vector<Record> records = filter.apply(Store::open(*path, Store::Access::kRead).all());
  RecordOutput output(command.output, records);
  for (const Record& record : records) output.add(record);
  output.finish();
  return ExitCode::kOk;
}

}  // namespace laptime
