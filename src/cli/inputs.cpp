// Reads the options of a sweep, finds and reads stores, and compares the paths of files that may not exist yet.
#include "cli/inputs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "cli/destination.h"
#include "cli/output.h"
#include "config/model_presets.h"
#include "config/ready_sweeps.h"
#include "report/columns.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;

// The directory named by an environment variable; the XDG specification says to ignore relative paths.
std::optional<fs::path> directory(const char* name) {
  const std::string value = variable(name);
  return value.starts_with('/') ? std::optional(fs::path(value)) : std::nullopt;
}

// Whether both paths refer to one regular file, or will refer to one when it is created.
bool same_file(const fs::path& a, const fs::path& b) {
  std::error_code error;
  const bool exists = fs::exists(a, error);
  if (exists != fs::exists(b, error)) return false;
  return exists ? fs::is_regular_file(a, error) && fs::equivalent(a, b, error) : followed(a) == followed(b);
}

constexpr std::string_view kSweepColumn = "sweep";

// Whether a filter selects runs or sweeps by name, in which case records of `laptime calibrate` may match too.
bool names_runs(const Filter& filter) {
  const std::vector<std::string> columns = filter.columns();
  return std::ranges::any_of(columns,
                             [](const std::string& column) { return column == kSweepColumn || column == "run"; });
}

// The newest run of the store; empty if there is none. Runs of `laptime calibrate` count only if `any` is true or the
// store has no other runs.
std::string newest_run(const Store& store, bool any) {
  const Extent extent = std::max(ColumnValue("run").extent(), ColumnValue(kSweepColumn).extent());
  const Store::Problem ignored = [](const std::string&) {};
  std::string newest;  // newest run of any command
  std::string asked;
  std::pair<std::string, int64_t> asked_at;  // date and id of the newest record of `asked`
  const auto look = [&](int64_t id, const Record& record) {
    if (newest.empty()) newest = record.run;
    if (record.run.empty() || (!any && record.sweep == kCalibrationSweep)) return true;
    asked = record.run;
    asked_at = {record.created, id};
    return true;
  };
  const std::vector<int64_t> ids = store.ids(ignored);
  for (size_t i = ids.size(); i-- > 0 && asked.empty();) store.each_of(std::span(&ids[i], 1), extent, look, ignored);
  // A command that took every point from the store has no records of its own, only a note in the store.
  if (const auto resumed = store.newest_resumed();
      resumed && std::pair(resumed->created, resumed->newest_id) >= asked_at) {
    bool is_calibration = false;
    const auto look_at_taken = [&](int64_t, const Record& record) {
      is_calibration = record.sweep == kCalibrationSweep;
      return true;
    };
    if (!any) store.each_of(std::span(&resumed->taken_id, 1), extent, look_at_taken, ignored);
    if (!is_calibration) return resumed->run;
  }
  return asked.empty() ? newest : asked;
}

Store store_to_read(std::string_view command, const std::string& option, const OutputFile& output) {
  const std::optional<fs::path> path = store_path(option);
  if (!path) throw Error::format("laptime {}: there is no store to read; name the file with --store", command);
  reject_overwriting(output, files_of_store(path));
  return Store::open(*path, Store::Access::kRead);
}

Filter filter_of(const StoreWords& words, const Store& store, std::span<const std::string_view> left_out) {
  Filter filter(words.filter);
  const bool names_any = names_runs(filter);
  const std::string run = words.selection.last ? newest_run(store, names_any) : words.selection.run;
  if (!run.empty()) {
    // A complete name selects exactly one run: import adds a suffix to a run of the same name from another machine.
    const bool is_whole = words.selection.last || store.has_run(run);
    std::vector<int64_t> resumed = store.resumed_by(run, is_whole);
    if (is_whole) {
      filter.require_command(run, std::move(resumed));
    } else {
      filter.require("run", "~", run, std::move(resumed));
    }
  }
  if (names_any || words.selection.last || !words.selection.run.empty()) return filter;
  for (const std::string_view sweep : left_out) filter.require(std::string(kSweepColumn), "!=", std::string(sweep));
  return filter;
}

}  // namespace

std::vector<OptionRow> sweep_options(std::vector<OptionRow> of_points) {
  return together(std::move(of_points), option_rows<SweepSource>(), option_rows<OutputConfig>());
}

std::vector<OptionRow> with_defaults(std::vector<OptionRow> rows, const Sweep& defaults) {
  for (OptionRow& row : rows) {
    if (row.option.flag == "columns") row.fallback = defaults.output.columns;
    for (const Axis& axis : defaults.axes) {
      if (axis.flag == row.option.flag) row.fallback = joined(axis.values, ",");
    }
  }
  return rows;
}

void set_given(Sweep& sweep, const CommandWords& words) {
  for (const GivenFlag& given : words.flags) {
    if (!is_among(given.flag, sweep_flags())) continue;
    const std::optional<Option> option = find_option<RunConfig>(given.flag);
    const bool is_list = option && option->axis;
    set_option(sweep, given.flag, fmt::format("--{}", given.flag),
               is_list ? split_list(given.text) : std::vector{given.text});
  }
}

Sweep given_sweep(const CommandWords& words, const Sweep& otherwise) {
  const auto source = given_options<SweepSource>(words);
  Sweep sweep = source.config.empty() ? otherwise : read_sweep("--config", source.config);
  set_given(sweep, words);
  return sweep;
}

Sweep given_attention_sweep(const CommandWords& words) {
  Sweep sweep = given_sweep(words, attention_sweep());
  // The column set `attention` is a table for people: its rows do not state their status or all options.
  const bool names_columns = std::ranges::any_of(
      words.flags, [](const GivenFlag& given) { return given.flag == "columns" || given.flag == "config"; });
  if (!names_columns && !is_table(sweep.output.output)) sweep.output.columns = OutputConfig().columns;
  for (const Axis& axis : sweep.axes) {
    if (axis.flag != "model" || axis.values == std::vector<std::string>{std::string(kAttentionModel)}) continue;
    throw Error::format("laptime attention: the --config file is a sweep of model {}; run it with laptime bench",
                        joined(axis.values, ", "));
  }
  set_option(sweep, "model", words.command, {std::string(kAttentionModel)});
  return sweep;
}

std::optional<fs::path> store_path(const std::string& option) {
  if (option == "none") return std::nullopt;
  if (option == ":memory:")
    throw Error("--store :memory: would keep nothing; give --store none, or ./:memory: for a file with this name");
  if (!option.empty()) return fs::path(option);
  std::optional<fs::path> data = directory("XDG_DATA_HOME");
  if (const auto home = directory("HOME"); home && !data) data = *home / ".local/share";
  return data ? std::optional(*data / "laptime" / "records.sqlite") : std::nullopt;
}

bool is_store(const std::string& file) {
  try {
    return store_schema::kind_of_file(file) == store_schema::FileKind::kStore;
  } catch (const Error&) {  // not a store; the record reader reports what is wrong with the file
    return false;
  }
}

KnowledgeOf stored_knowledge(const std::string& option) { return knowledge_in(store_path(option)); }

KnowledgeOf knowledge_in(const std::optional<fs::path>& store) {
  KnowledgeOf nothing = [](const std::string&) { return MachineKnowledge{}; };
  const auto say_unused = [](const Error& why) {
    print_message(fmt::format("no stored measurement is used: {}", why.what()));
  };
  std::error_code error;
  if (!store || !fs::exists(*store, error)) return nothing;
  try {
    Store::open(*store, Store::Access::kRead);
  } catch (const StoreUnavailable& unavailable) {
    say_unused(unavailable);
    return nothing;
  }
  const auto read = std::make_shared<std::map<std::string, MachineKnowledge>>();  // keyed by device; shared by copies
  return [path = *store, read, say_unused](const std::string& device) {
    const auto known = read->find(device);
    if (known != read->end()) return known->second;
    MachineKnowledge knowledge;
    try {
      knowledge = knowledge_of(Store::open(path, Store::Access::kRead), device);
    } catch (const StoreDamaged& damaged) {
      say_unused(damaged);
    }
    return read->emplace(device, std::move(knowledge)).first->second;
  };
}

std::vector<UsedFile> files_of_store(const std::optional<fs::path>& store) {
  if (!store) return {};
  const std::string file = followed(*store).string();  // SQLite names its other files after the link's target
  return {{"the store", *store},
          {"the journal of the store", file + "-journal"},
          {"the log of the store", file + "-wal"},
          {"the shared-memory file of the store", file + "-shm"}};
}

void reject_overwriting(const OutputFile& output, const std::vector<UsedFile>& used) {
  for (const UsedFile& file : used) {
    const bool is_output = same_file("/proc/self/fd/1", file.path);
    const bool is_error = same_file("/proc/self/fd/2", file.path);
    // Keeps the error message itself out of the file.
    if (is_error) dup2(is_output ? STDIN_FILENO : STDOUT_FILENO, STDERR_FILENO);
    if (is_error || is_output) {
      throw Error::format("standard {} is redirected to {}, {}; redirect it to another file",
                          is_error ? "error" : "output", file.what, quote(file.path.string()));
    }
    if (!is_standard_output(output.path) && same_file(output.path, file.path))
      throw Error::format("{} {}: this is {}; name another file", output.flag, quote(output.path), file.what);
  }
}

std::vector<ResolvedPoint> checked_points(const Sweep& sweep, std::vector<SweepPoint> points,
                                          const std::optional<OutputFile>& output, RunsOn where) {
  const std::optional<fs::path> store = store_path(sweep.output.store);
  std::vector<UsedFile> used = input_files(sweep, points);
  const std::vector<UsedFile> of_store = files_of_store(store);
  for (const UsedFile& file : of_store) {
    for (const UsedFile& input : used) {
      if (!same_file(file.path, input.path)) continue;
      throw Error::format("--store {}: {} would overwrite {}; name another file", quote(store->string()), file.what,
                          input.what);
    }
  }
  used.insert(used.end(), of_store.begin(), of_store.end());
  reject_overwriting(output.value_or(OutputFile{"--output-file", sweep.output.output_file}), used);
  return check_inputs(std::move(points), where);
}

std::vector<ResolvedPoint> checked_points(const Sweep& sweep, const std::optional<OutputFile>& output) {
  return checked_points(sweep, points_of(sweep), output);
}

void check_budget(const TrainingBudget& budget, std::span<const ResolvedPoint> points) {
  const bool has_step =
      std::ranges::any_of(points, [](const ResolvedPoint& point) { return point.config.pass == Pass::kStep; });
  if (budget.is_asked() && !has_step && !points.empty())
    throw Error::format(
        "--{} predicts the time of a training run, which needs whole steps, but --pass is {}; use --pass step",
        budget.tokens ? "tokens" : "epochs", name_of(points.front().config.pass));
  for (const ResolvedPoint& point : points) {
    if (budget.epochs && point.config.data.empty())
      throw Error(
          "--epochs needs --data FILE, because an epoch reads its tokens once; give --data, or --tokens instead");
  }
}

void StoreProblems::add(const std::string& problem) {
  if (++count_ <= kShown) print_message(problem);
}

ExitCode StoreProblems::end() const {
  if (count_ > kShown) print_message(fmt::format("... and {} more", count_ - kShown));
  return count_ > 0 ? ExitCode::kFailed : ExitCode::kOk;
}

SelectedRecords::SelectedRecords(std::string_view command, const StoreWords& words, const OutputFile& output,
                                 std::span<const std::string_view> left_out)
    : store(store_to_read(command, words.output.store, output)),
      filter(filter_of(words, store, left_out)),
      records(store, filter, [this](const std::string& problem) { problems.add(problem); }) {}

void SelectedRecords::reject_none(std::string_view where, const std::string& reason) const {
  const std::string empty = records.why_none(Filter(""));
  throw Error::format("{}: {}", where, empty.empty() ? reason : empty);
}

ShowOptions given_selection(const CommandWords& words) {
  auto options = given_options<ShowOptions>(words);
  if (options.last && !options.run.empty())
    throw Error::format("laptime {}: give --last or --run, not both", words.command);
  return options;
}

}  // namespace laptime
