// Collects column names from the tables of columns, metrics, short names and options.
#include <fmt/format.h>

#include <functional>
#include <set>
#include <string_view>

#include "base/words.h"
#include "config/option_table.h"
#include "config/run_config.h"
#include "config/synonyms.h"
#include "record/metrics.h"
#include "report/columns.h"

namespace laptime {
namespace {

// "context", "ctx", "seq-len": an option's alternative names besides its key.
std::vector<std::string> names_of(const OptionRow& row) {
  std::vector<std::string> names;
  if (row.option.flag != row.option.key) names.emplace_back(row.option.flag);
  for (const Synonym& synonym : synonyms()) {
    if (synonym.flag.empty() && synonym.meant == row.option.flag) names.emplace_back(synonym.word);
  }
  return names;
}

}  // namespace

std::vector<ColumnWord> column_words() {
  std::vector<ColumnWord> words;
  std::set<std::string, std::less<>> listed;
  const auto add = [&](std::string_view name, std::string_view unit, std::string_view help) {
    if (listed.emplace(name).second) words.push_back({std::string(name), std::string(unit), std::string(help)});
  };
  const auto add_with_unit = [&](std::string_view name, Unit unit, std::string_view help) {
    add(name, unit == Unit::kNone ? "-" : name_of(unit), help);
  };
  for (const Column& column : table_columns()) add_with_unit(column.title, column.unit, column.help);
  add_with_unit("speedup", Unit::kRatio, "baseline median divided by the row's median, with its 95 % interval");
  add_with_unit("gain", Unit::kRatio, "row median divided by the median of the step with all composites fused");
  for (const std::string_view name : comparing_columns())
    add_with_unit(name, Unit::kRatio, "an end of the column's interval");
  add_with_unit("predicted", Unit::kNone, "true if a device model predicted the times");
  for (const Metric& metric : metrics()) add_with_unit(metric.tag, metric.unit, metric.description);
  for (const ShortName& name : short_names()) {
    if (!name.help.empty()) add_with_unit(name.name, unit_of(name.name), name.help);
  }
  for (const OptionRow& row : option_rows<RunConfig>()) {
    const std::vector<std::string> names = names_of(row);
    const std::string also = names.empty() ? "" : fmt::format("; also {}", joined(names, ", "));
    add(row.option.key, row.option.unit.empty() ? "-" : row.option.unit, fmt::format("{}{}", row.option.help, also));
    listed.insert(names.begin(), names.end());
  }
  for (const ColumnSet& set : column_sets()) {
    for (const Column& column : set.columns())
      add_with_unit(column.title, column.unit, fmt::format("a header of --columns {}", set.name));
  }
  return words;
}

}  // namespace laptime
