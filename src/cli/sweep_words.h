// The options of a sweep, of which each command that takes points has those that act there.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "config/sweep.h"

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

// Restricts the values of --output to the formats that a command writes.
void keep_formats(std::vector<OptionRow>& rows, std::span<const OutputFormat> formats);

// The sweep of the file of --config, or `otherwise` where none is given.
Sweep starting_sweep(const CommandWords& words, const Sweep& otherwise);

// Options given on the command line take the place of those that the sweep has.
void set_given(Sweep& sweep, const CommandWords& words);

// Whether the sweep has values for this option, from its file or the command line.
bool is_swept(const Sweep& sweep, std::string_view flag);

}  // namespace laptime
