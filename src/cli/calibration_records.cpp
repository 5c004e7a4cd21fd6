// Runs of `laptime calibrate` by the name of their sweep.
#include "cli/calibration_records.h"

#include <algorithm>
#include <span>
#include <vector>

#include "config/ready_sweeps.h"
#include "report/row.h"

namespace laptime {
namespace {

constexpr std::string_view kSweepColumn = "sweep";

}  // namespace

bool names_runs(const Filter& filter) {
  const std::vector<std::string> columns = filter.columns();
  return std::any_of(columns.begin(), columns.end(),
                     [](const std::string& column) { return column == kSweepColumn || column == "run"; });
}

void leave_out_calibration(Filter& filter) {
  if (!names_runs(filter)) filter.leave_out(std::string(kSweepColumn), std::string(kCalibrationSweep));
}

// Read from the end of the store, ever more at a time.
std::string newest_run(const Store& store, bool any) {
  std::string newest;  // of any kind
  std::string asked;
  int64_t asked_id = 0;
  const std::vector<int64_t> ids = store.ids([](const std::string&) {});
  std::span<const int64_t> rest = ids;
  for (size_t count = 1; asked.empty() && !rest.empty(); count *= 8) {
    const std::span<const int64_t> part = rest.last(std::min(count, rest.size()));
    std::string newest_of_part;
    const auto keep = [&](int64_t id, const Record& record) {
      if (record.run.empty()) return true;
      newest_of_part = record.run;
      if (!any && record.sweep == kCalibrationSweep) return true;
      asked = record.run;
      asked_id = id;
      return true;
    };
    const Extent extent = std::max(extent_of_column("run"), extent_of_column(kSweepColumn));
    store.each_of(part, extent, keep, [](const std::string&) {});
    if (newest.empty()) newest = newest_of_part;
    rest = rest.first(rest.size() - part.size());
  }
  // A command that took every point from the store is newer than the records that were there.
  if (const auto resumed = store.newest_resumed(); resumed && resumed->newest_id >= asked_id) return resumed->run;
  return asked.empty() ? newest : asked;
}

}  // namespace laptime
