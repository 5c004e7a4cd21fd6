// The sweep of a command: its options, its points, and the files that its output must not go to.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "config/sweep.h"
#include "prepare/resolved_point.h"

namespace laptime {

// The file that a sweep starts from.
struct SweepSource {
  std::string config;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(Option{.flag = "config",
                 .key = "config",
                 .group = "Sweep",
                 .help = "a sweep of the program by its name (laptime list sweeps), or a file of your own (TOML, the "
                         "same words); options given beside it override it",
                 .otherwise = "none",
                 .axis = false,
                 .value = "NAME|FILE"},
          self.config);
  }
};

// Every option of a sweep: of its points, of its file, and of what becomes of its records.
std::vector<OptionRow> sweep_options();

// The same where those of the points are `of_points`.
std::vector<OptionRow> sweep_options(std::vector<OptionRow> of_points);

// Removes the options with these flags, which do nothing in a command, from its list of options.
void leave_out(std::vector<OptionRow>& rows, std::initializer_list<std::string_view> flags);

// States the values that `defaults` has for options as the defaults of these options.
void show_defaults(std::vector<OptionRow>& rows, const Sweep& defaults);

// Restricts the values of --output to the formats that a command writes.
void keep_formats(std::vector<OptionRow>& rows, std::span<const OutputFormat> formats);

// The sweep of the file of --config, or `otherwise` where none is given.
Sweep starting_sweep(const CommandWords& words, const Sweep& otherwise);

// Options given on the command line take the place of those that the sweep has.
void set_given(Sweep& sweep, const CommandWords& words);

// Both of these: the sweep that the words of a command ask for.
Sweep given_sweep(const CommandWords& words, const Sweep& otherwise = {});

// Whether the sweep has values for this option, from its file or the command line.
bool is_swept(const Sweep& sweep, std::string_view flag);

struct UsedFile {
  std::string what;  // for messages: "the store"
  std::filesystem::path path;
};

// The store, and the files that SQLite makes beside it.
std::vector<UsedFile> files_of_store(const std::optional<std::filesystem::path>& store);

// The sweep file, and the weights, data and kernels files of the points.
std::vector<UsedFile> input_files(const Sweep& sweep, const std::vector<SweepPoint>& points);

// An output file and the option that names it; the path may be empty.
struct OutputFile {
  std::string_view flag;
  std::string path;
};

// Error if an output, standard output or standard error is one of `used` under any name (links are followed, inodes
// compared), or would be once both exist, and if two outputs are one file.
void reject_overwriting(const std::vector<OutputFile>& outputs, const std::vector<UsedFile>& used);

// The points of a sweep, whose devices and files were checked (sweep/sweep_points.h). Error if the file of
// --output-file or one of `others` is a file that the sweep uses, and if its store is an input.
std::vector<ResolvedPoint> checked_points(const Sweep& sweep, const std::vector<OutputFile>& others = {});

// The checks of these files alone.
void reject_overwriting(const Sweep& sweep, const std::vector<SweepPoint>& points,
                        const std::optional<std::filesystem::path>& store, const std::vector<OutputFile>& others = {});

}  // namespace laptime
