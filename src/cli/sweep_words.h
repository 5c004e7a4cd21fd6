// The sweep of a command: its options, its points, and the files that its output must not go to.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "config/run_config.h"
#include "config/sweep.h"
#include "prepare/resolved_point.h"

namespace laptime {

// The file that a sweep starts from.
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

// Every option of a sweep: `of_points`, those of its file, and those of what becomes of its records.
std::vector<OptionRow> sweep_options(std::vector<OptionRow> of_points = option_rows<RunConfig>());

// Shows the values of `defaults` as the defaults of its options.
void show_defaults(std::vector<OptionRow>& rows, const Sweep& defaults);

// Whether a sweep has an option with this flag.
bool is_of_sweep(std::string_view flag);

// Options given on the command line replace those of the sweep.
void set_given(Sweep& sweep, const CommandWords& words);

// The sweep that the words of a command ask for: that of the file of --config, or `otherwise` where none is given, and
// the options given beside it.
Sweep given_sweep(const CommandWords& words, const Sweep& otherwise = {});

// The sweep that the words of laptime attention ask for. Error for a sweep file of another model.
Sweep given_attention_sweep(const CommandWords& words);

// Whether the sweep has values for this option, from its file or the command line.
bool is_swept(const Sweep& sweep, std::string_view flag);

// Gives every point this warm-up and number of steps, unless the sweep has values for either.
void set_steps_unless_given(Sweep& sweep, std::string_view command, int64_t warmup, int64_t steps);

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

struct UsedFile {
  std::string what;  // for messages: "the store"
  std::filesystem::path path;
};

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

// The points of a sweep, whose devices and files were checked (sweep/sweep_points.h). Error if `output`, or else the
// file of --output-file, is a file that the sweep uses, and if its store is an input.
std::vector<ResolvedPoint> checked_points(const Sweep& sweep, const std::optional<OutputFile>& output = {});

// The checks of these files alone.
void reject_overwriting(const Sweep& sweep, const std::vector<SweepPoint>& points,
                        const std::optional<OutputFile>& output = {});

}  // namespace laptime
