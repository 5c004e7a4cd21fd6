// The inputs of a command: the sweep that its words ask for, its store, and the files that its output must not go to.
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

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(own_option("Sweep", "config",
                     "a sweep of the program by its name (laptime list sweeps), or a file of your own (TOML, the same "
                     "words); options given beside it override it",
                     {.otherwise = "none", .value = "NAME|FILE"}),
          self.config);
  }
};

// Every option of a sweep: `of_points`, --config, and the options of its output.
std::vector<OptionRow> sweep_options(std::vector<OptionRow> of_points = option_rows<RunConfig>());
// Shows the values of `defaults` as the defaults of their options.
std::vector<OptionRow> with_defaults(std::vector<OptionRow> rows, const Sweep& defaults);
bool is_of_sweep(std::string_view flag);  // whether it is an option of a sweep

// Options given on the command line replace those of the sweep.
void set_given(Sweep& sweep, const CommandWords& words);

// The sweep of --config, or `otherwise` without one, with the options that are given beside it.
Sweep given_sweep(const CommandWords& words, const Sweep& otherwise = {});

// The sweep of laptime attention. Error for a sweep file of another model.
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

// The path that --store asks for: a path, "none", or empty for the user's data directory,
// $XDG_DATA_HOME/laptime/records.sqlite or ~/.local/share/laptime/records.sqlite. None: "none", or there is no such
// directory because HOME is not set. A path is never a URI. Error for ":memory:".
std::optional<std::filesystem::path> store_path(const std::string& option);

// Reads from the store that `option`, the value of --store, names, or from the file; each device is read once. Nothing
// is known where there is no store yet. Error if the file cannot be read.
KnowledgeOf stored_knowledge(const std::string& option);
KnowledgeOf knowledge_in(const std::optional<std::filesystem::path>& store);

// The store, and the files that SQLite makes beside it.
std::vector<UsedFile> files_of_store(const std::optional<std::filesystem::path>& store);

// An output file and the option that names it; the path may be empty.
struct OutputFile {
  std::string_view flag;
  std::string path;
};

// Error if the output, standard output or standard error is one of `used` under any name (links are followed, inodes
// compared), or would be once both exist.
void reject_overwriting(const OutputFile& output, const std::vector<UsedFile>& used);

// The points of a sweep, or some of them, whose devices and files were checked (sweep/sweep_points.h). Error if
// `output`, or else the file of --output-file, is a file that the sweep uses, and if its store is an input.
std::vector<ResolvedPoint> checked_points(const Sweep& sweep, const std::optional<OutputFile>& output = {});
std::vector<ResolvedPoint> checked_points(const Sweep& sweep, std::vector<SweepPoint> points,
                                          const std::optional<OutputFile>& output = {},
                                          RunsOn where = RunsOn::kThisMachine);

// Error if a training of so many epochs is asked for and a point has no data.
void require_data_of_epochs(const TrainingBudget& budget, std::span<const ResolvedPoint> points);

// The store that `command` reads. Error if there is none, or if the output is a file of it.
std::filesystem::path store_to_read(std::string_view command, const std::string& option, const OutputFile& output);

// Messages on records that cannot be read: the first ones, and how many more there are.
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
  std::string run;    // part of the name of a run; empty: every run
  bool last = false;  // the records of the last run alone that was asked for

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Records";
    visit(own_option(kGroup, "run", "records of the runs whose name has this text; --columns name,run shows the names",
                     {.otherwise = "every run", .value = "TEXT"}),
          self.run);
    visit(own_option(kGroup, "last", "records of the last run, apart from those of laptime calibrate"), self.last);
  }
};

ShowOptions given_selection(const CommandWords& words);  // Error if both options are given

// A command that reads stored records, with its own options.
template <class Options>
struct StoreCommand {
  std::string filter;  // empty: every record
  ShowOptions selection;
  Options options{};
  OutputConfig output{};
};

// The words from kFirst on are the filter.
template <class Options, size_t kFirst = 0>
StoreCommand<Options> given_store_command(const CommandWords& words) {
  StoreCommand<Options> command{joined(std::span(words.positionals).subspan(kFirst), " "), given_selection(words)};
  read_options(words, command.options, command.output);
  return command;
}

// Narrows a filter to the runs that the options select, if any. A run has the records that it took from the store with
// --resume too. With --last, runs of `laptime calibrate` do not count.
void narrow_to_run(Filter& filter, const Store& store, const ShowOptions& options);
// Also leaves out the records of `laptime calibrate`, unless runs or sweeps were asked for by name.
void narrow_to_measurements(Filter& filter, const Store& store, const ShowOptions& options);

}  // namespace laptime
