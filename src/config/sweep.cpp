// Setting the options of a sweep.
#include "config/sweep.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/words.h"
#include "config/option_table.h"
#include "config/run_config.h"

namespace laptime {
namespace {

// The texts that an option of the run keeps for those that were given.
std::vector<std::string> canonical_values(const Option& option, std::string_view where,
                                          const std::vector<std::string>& values) {
  std::vector<std::string> kept;
  std::set<std::string> seen;
  RunConfig scratch;
  for (const std::string& text : values) {
    assign(scratch, option.flag, where, text);
    kept.push_back(option_text(scratch, option.flag).value());
    if (!seen.insert(kept.back()).second) {
      throw Error::format("{}: {} is listed twice; a sweep has each point once", where, quote(text));
    }
  }
  return kept;
}

}  // namespace

void set_option(Sweep& sweep, std::string_view flag, std::string_view where, const std::vector<std::string>& values) {
  if (values.empty()) throw Error::format("{}: the list is empty; give at least one value", where);
  const std::optional<Option> of_run = find_option<RunConfig>(flag);
  const std::optional<Option> of_output = find_option<OutputConfig>(flag);
  if (!of_run && !of_output) {
    throw Error::format("{}: unknown option {}{} (laptime list options)", where, quote(flag),
                        did_you_mean(flag, sweep_flags()));
  }
  const bool takes_list = of_run && of_run->axis;
  if (!takes_list && values.size() != 1) {
    throw Error::format("{}: takes one value, not a list of {}", where, values.size());
  }
  if (values.size() > kMaxPoints) throw Error::format("{}: more than {} values", where, kMaxPoints);
  if (of_output) {
    assign(sweep.output, flag, where, values.front());
    return;
  }
  Axis axis{std::string(flag), canonical_values(*of_run, where, values)};
  const auto same =
      std::find_if(sweep.axes.begin(), sweep.axes.end(), [&](const Axis& one) { return one.flag == flag; });
  if (same == sweep.axes.end()) {
    sweep.axes.push_back(std::move(axis));
  } else {
    *same = std::move(axis);
  }
}

std::vector<std::string_view> sweep_flags() {
  std::vector<std::string_view> flags;
  for (const OptionRow& row : option_rows<RunConfig>()) flags.push_back(row.option.flag);
  for (const OptionRow& row : option_rows<OutputConfig>()) flags.push_back(row.option.flag);
  return flags;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> values;
  while (true) {
    const size_t comma = text.find(',');
    values.emplace_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace laptime
