// The inputs of a command: the sweep that it runs, its store, the records that it selects there, and the files that its
// output must not overwrite.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"
#include "cli/command.h"
#include "config/output_config.h"
#include "config/run_config.h"
#include "config/sweep.h"
#include "config/training_options.h"
#include "prepare/knowledge.h"
#include "prepare/resolved_point.h"
#include "record/store.h"
#include "report/filter.h"
#include "sweep/sweep_points.h"

namespace laptime {

struct SweepSource {
  std::string config;

  static void visit_fields(auto& self, auto&& visit) {
    const auto own = own_options("Sweep", visit);
    own("config",
        "a built-in sweep by name (laptime list sweeps), or your own TOML file with the same "
        "keys; options on the command line override it",
        self.config, {.otherwise = "none", .value = "NAME|FILE"});
  }
};

// Every option of a sweep: `of_points`, --config, and the output options.
std::vector<OptionRow> sweep_options(std::vector<OptionRow> of_points = option_rows<RunConfig>());
// Shows the values of `defaults` as the options' defaults.
std::vector<OptionRow> with_defaults(std::vector<OptionRow> rows, const Sweep& defaults);

// Sets the options given on the command line; their values replace the sweep's.
void set_given(Sweep& sweep, const CommandWords& words);

// The sweep given by --config, or `otherwise` without one, with the command-line options applied.
Sweep given_sweep(const CommandWords& words, const Sweep& otherwise = {});

// The sweep for laptime attention. Throws Error for a sweep file of another model.
Sweep given_attention_sweep(const CommandWords& words);

// A command that runs or plans a sweep, with its own options.
template <class Options>
struct SweepCommand {
  Sweep sweep;
  Options options;
};

template <class Options>
SweepCommand<Options> given_command(const CommandWords& words) {
  return {given_sweep(words), given_options<Options>(words)};
}

// Resolves the value of --store: a path, "none", or empty for the user's data directory,
// $XDG_DATA_HOME/laptime/records.sqlite or ~/.local/share/laptime/records.sqlite. Returns none for "none", and if
// neither XDG_DATA_HOME nor HOME is an absolute path. A path is never taken as a URI. Throws Error for ":memory:".
std::optional<std::filesystem::path> store_path(const std::string& option);

// Whether a file with records is a store.
bool is_store(const std::string& file);

// Both return a function that reads what a store knows about a device, once per device. `option` is the value of
// --store; `store` is a file. Knowledge is empty if there is no store yet. It is also empty, after a message, if the
// store is not accessible or has damaged rows. Both throw Error at once for a file that is not a store; the returned
// function throws Error if the file cannot be read.
KnowledgeOf stored_knowledge(const std::string& option);
KnowledgeOf knowledge_in(const std::optional<std::filesystem::path>& store);

// The store, and the files that SQLite creates next to it.
std::vector<UsedFile> files_of_store(const std::optional<std::filesystem::path>& store);

// An output file and the option that names it; the path may be empty.
struct OutputFile {
  std::string_view flag;
  std::string path;
};

// Throws Error if the output, standard output or standard error is one of the `used` files under any name (links are
// followed, inodes compared), or if the output will be one of them when it is created.
void reject_overwriting(const OutputFile& output, const std::vector<UsedFile>& used);

// Some or all points of a sweep, with devices and files checked (sweep/sweep_points.h). Throws Error if `output` (by
// default the file of --output-file) is a file that the sweep uses, or if the store is an input.
std::vector<ResolvedPoint> checked_points(const Sweep& sweep, const std::optional<OutputFile>& output = {});
std::vector<ResolvedPoint> checked_points(const Sweep& sweep, std::vector<SweepPoint> points,
                                          const std::optional<OutputFile>& output = {},
                                          RunsOn where = RunsOn::kThisMachine);

// Throws Error if a training run is requested and no point is a whole step, or if a number of epochs is requested and a
// point has no data.
void check_budget(const TrainingBudget& budget, std::span<const ResolvedPoint> points);

// Prints messages about unreadable records: the first few, and how many more there are.
class StoreProblems {
 public:
  void add(const std::string& problem);
  ExitCode end() const;

 private:
  static constexpr size_t kShown = 20;
  size_t count_ = 0;
};

// The options that select the records of a run.
struct ShowOptions {
  std::string run;    // a run's name, or part of one; empty: every run
  bool last = false;  // only records of the most recent run

  static void visit_fields(auto& self, auto&& visit) {
    const auto own = own_options("Records", visit);
    own("run",
        "only records of the run with this name or, if there is none, of runs whose name contains this text; "
        "--columns name,run shows the names",
        self.run, {.otherwise = "every run", .value = "TEXT"});
    own("last", "only records of the last run, ignoring runs of laptime calibrate", self.last);
  }
};

ShowOptions given_selection(const CommandWords& words);  // throws Error if both options are given

// The stored records that a command reads, and its output.
struct StoreWords {
  std::string filter;  // empty: select every record
  ShowOptions selection{};
  OutputConfig output{};
};

// A command that reads stored records, with its own options.
template <class Options>
struct StoreCommand : StoreWords {
  Options options{};
};

// The words from index kFirst on form the filter.
template <class Options, size_t kFirst = 0>
StoreCommand<Options> given_store_command(const CommandWords& words) {
  StoreCommand<Options> command{{joined(std::span(words.positionals).subspan(kFirst), " "), given_selection(words)}};
  read_options(words, command.options, command.output);
  return command;
}

// The selected records of a store. A run includes records that it took from the store with --resume. --last ignores
// runs of `laptime calibrate` unless the store has no others or the filter names sweeps or runs.
struct SelectedRecords {
  // Throws Error if there is no store to read, if the output is one of the store's files, and for an unknown column.
  // Records of the sweeps in `left_out` are left out unless runs or sweeps are selected by name.
  SelectedRecords(std::string_view command, const StoreWords& words, const OutputFile& output,
                  std::span<const std::string_view> left_out = {});
  SelectedRecords(const SelectedRecords&) = delete;
  SelectedRecords& operator=(const SelectedRecords&) = delete;

  // The reason why no record is selected; empty if a record is selected, or if no record can be read.
  std::string why_none() const { return records.why_none(filter); }
  // Throws Error for a command that needs a record. The message says that the store is empty, or else `reason`.
  [[noreturn]] void reject_none(std::string_view where, const std::string& reason) const;

  Store store;
  Filter filter;
  StoreProblems problems{};
  StoredRecords records;
};

}  // namespace laptime
