// Sweep options from the command line and from the file of --config.
#include "cli/sweep_words.h"

#include <algorithm>
#include <utility>

#include "config/output_config.h"
#include "config/ready_sweeps.h"
#include "config/run_config.h"

namespace laptime {
namespace {

bool is_list(std::string_view flag) {
  const std::optional<Option> option = find_option<RunConfig>(flag);
  return option && option->axis;
}

}  // namespace

std::vector<OptionRow> sweep_options() { return sweep_options(option_rows<RunConfig>()); }

std::vector<OptionRow> sweep_options(std::vector<OptionRow> of_points) {
  std::vector<OptionRow> rows = std::move(of_points);
  for (OptionRow& row : option_rows<SweepSource>()) rows.push_back(std::move(row));
  for (OptionRow& row : option_rows<OutputConfig>()) rows.push_back(std::move(row));
  return rows;
}

void leave_out(std::vector<OptionRow>& rows, std::initializer_list<std::string_view> flags) {
  std::erase_if(rows, [&](const OptionRow& row) {
    return std::find(flags.begin(), flags.end(), row.option.flag) != flags.end();
  });
}

void keep_formats(std::vector<OptionRow>& rows, std::span<const OutputFormat> formats) {
  for (OptionRow& row : rows) {
    if (row.option.flag != "output") continue;
    row.option.help = "format of what is printed";
    row.choices.clear();
    row.is_narrowed = true;
    for (const OutputFormat format : formats) row.choices.push_back(name_of(format));
  }
}

Sweep starting_sweep(const CommandWords& words, const Sweep& otherwise) {
  SweepSource source;
  for (const GivenFlag& given : words.flags) assign_given(source, given);
  return source.config.empty() ? otherwise : read_sweep("--config", source.config);
}

void set_given(Sweep& sweep, const CommandWords& words) {
  const std::vector<std::string_view> known = sweep_flags();
  for (const GivenFlag& given : words.flags) {
    if (std::find(known.begin(), known.end(), given.flag) == known.end()) continue;
    const std::vector<std::string> values = is_list(given.flag) ? split_list(given.text) : std::vector{given.text};
    set_option(sweep, given.flag, fmt::format("--{}", given.flag), values);
  }
}

bool is_swept(const Sweep& sweep, std::string_view flag) {
  return std::any_of(sweep.axes.begin(), sweep.axes.end(), [&](const Axis& axis) { return axis.flag == flag; });
}

}  // namespace laptime
