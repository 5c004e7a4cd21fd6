// Sets the options of a sweep.
#include "config/sweep.h"

#include <fmt/format.h>

#include <set>

#include "base/error.h"
#include "base/words.h"
#include "config/option_table.h"
#include "config/run_config.h"

namespace laptime {
namespace {

// The values as text_of writes them; throws Error for an invalid or repeated value.
std::vector<std::string> canonical_values(const Option& option, std::string_view where,
                                          const std::vector<std::string>& values) {
  std::vector<std::string> canonical;
  std::set<std::string> seen;
  RunConfig scratch;
  for (const std::string& text : values) {
    assign(scratch, option.flag, where, text);
    canonical.push_back(option_text(scratch, option.flag).value());
    if (!seen.insert(canonical.back()).second) {
      throw Error::format("{}: {} is listed twice; list each value once", where, quote(text));
    }
  }
  return canonical;
}

}  // namespace

void set_option(Sweep& sweep, std::string_view name, std::string_view where, const std::vector<std::string>& values) {
  const std::string flag = meant_flag(name);
  if (values.empty()) throw Error::format("{}: the list is empty; give at least one value", where);
  const std::optional<Option> run_option = find_option<RunConfig>(flag);
  const std::optional<Option> output_option = find_option<OutputConfig>(flag);
  if (!run_option && !output_option) {
    const std::string hint = hint_for("", name);
    throw Error::format("{}: unknown option {}{} (see laptime list options)", where, quote(name),
                        hint.empty() ? did_you_mean(name, sweep_flags()) : hint);
  }
  if ((run_option ? run_option : output_option)->joins_list && values.size() > 1)
    return set_option(sweep, name, where, {joined(values, ",")});
  const bool takes_list = run_option && run_option->axis;
  if (!takes_list && values.size() != 1) {
    throw Error::format("{}: takes one value, not a list of {}; give only one", where, values.size());
  }
  if (values.size() > kMaxPoints) throw Error::format("{}: more than {} values; give fewer", where, kMaxPoints);
  if (output_option) {
    assign(sweep.output, flag, where, values.front());
    return;
  }
  Axis axis{flag, canonical_values(*run_option, where, values)};
  if (Axis* const same = find_in(sweep.axes, flag, &Axis::flag)) {
    *same = std::move(axis);
  } else {
    sweep.axes.push_back(std::move(axis));
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
