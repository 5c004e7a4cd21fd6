// Finds and reads the store of a command.
#include "cli/user_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <span>
#include <system_error>
#include <vector>

#include "base/error.h"
#include "cli/destination.h"
#include "config/ready_sweeps.h"
#include "report/columns.h"

namespace laptime {

namespace {

// The directory that an environment variable names; the XDG specification says to ignore a relative path.
std::optional<std::filesystem::path> directory(const char* variable) {
  const char* const value = std::getenv(variable);
  if (value == nullptr || *value != '/') return std::nullopt;
  return std::filesystem::path(value);
}

}  // namespace

std::optional<std::filesystem::path> store_path(const std::string& option) {
  if (option == "none") return std::nullopt;
  if (option == ":memory:")
    throw Error("--store :memory: would keep nothing; give --store none, or ./:memory: for a file of this name");
  if (!option.empty()) return std::filesystem::path(option);
  std::optional<std::filesystem::path> data = directory("XDG_DATA_HOME");
  if (!data) {
    data = directory("HOME");
    if (data) *data /= ".local/share";
  }
  if (!data) return std::nullopt;
  return *data / "laptime" / "records.sqlite";
}

KnowledgeOf stored_knowledge(const std::string& option) { return knowledge_in(store_path(option)); }

KnowledgeOf knowledge_in(const std::optional<std::filesystem::path>& store) {
  const auto read = std::make_shared<std::map<std::string, MachineKnowledge>>();  // by device; shared by copies
  return [path = store, read](const std::string& device) -> MachineKnowledge {
    std::error_code error;
    if (!path || !std::filesystem::exists(*path, error)) return {};
    const auto known = read->find(device);
    if (known != read->end()) return known->second;
    return read->emplace(device, knowledge_of(Store::open(*path, Store::Access::kRead), device)).first->second;
  };
}

namespace {

constexpr std::string_view kSweepColumn = "sweep";

// Whether a filter selects runs or sweeps by name, so that it can select those of `laptime calibrate` too.
bool names_runs(const Filter& filter) {
  const std::vector<std::string> columns = filter.columns();
  return std::any_of(columns.begin(), columns.end(),
                     [](const std::string& column) { return column == kSweepColumn || column == "run"; });
}

// The newest run of the store; one of `laptime calibrate` only if `any` or where there is no other. Empty for none.
std::string newest_run(const Store& store, bool any) {
  const Extent extent = std::max(ColumnValue("run").extent(), ColumnValue(kSweepColumn).extent());
  const Store::Problem ignored = [](const std::string&) {};
  std::string newest;  // of any kind
  std::string asked;
  int64_t asked_id = 0;
  const auto look = [&](int64_t id, const Record& record) {
    if (newest.empty()) newest = record.run;
    if (record.run.empty() || (!any && record.sweep == kCalibrationSweep)) return true;
    asked = record.run;
    asked_id = id;
    return true;
  };
  const std::vector<int64_t> ids = store.ids(ignored);
  for (size_t i = ids.size(); i-- > 0 && asked.empty();) store.each_of(std::span(&ids[i], 1), extent, look, ignored);
  // A command that took every point from the store is newer than the records that were there.
  if (const auto resumed = store.newest_resumed(); resumed && resumed->newest_id >= asked_id) return resumed->run;
  return asked.empty() ? newest : asked;
}

}  // namespace

std::filesystem::path store_to_read(std::string_view command, const std::string& option, const OutputFile& output) {
  const std::optional<std::filesystem::path> path = store_path(option);
  if (!path) throw Error::format("laptime {}: there is no store to read; name the file with --store", command);
  reject_overwriting(output, files_of_store(path));
  return *path;
}

void StoreProblems::add(const std::string& problem) {
  if (++count_ <= kShown) print_message(problem);
}

ExitCode StoreProblems::end() const {
  if (count_ > kShown) print_message(fmt::format("... and {} more", count_ - kShown));
  return count_ > 0 ? ExitCode::kFailed : ExitCode::kOk;
}

void narrow_to_run(Filter& filter, const Store& store, const ShowOptions& options) {
  const std::string run = options.last ? newest_run(store, names_runs(filter)) : options.run;
  if (!run.empty()) filter.narrow("run", run, store.resumed_by(run));
}

void narrow_to_measurements(Filter& filter, const Store& store, const ShowOptions& options) {
  const bool names_any = names_runs(filter);
  narrow_to_run(filter, store, options);
  if (!names_any && !options.last && options.run.empty())
    filter.leave_out(std::string(kSweepColumn), std::string(kCalibrationSweep));
}

void reject_last_and_run(std::string_view command, const ShowOptions& options) {
  if (options.last && !options.run.empty()) throw Error::format("laptime {}: give --last or --run, not both", command);
}

}  // namespace laptime
