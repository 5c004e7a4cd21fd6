// The table of the source document of 2024.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/words.h"
#include "report/column_sets/column_sets.h"
#include "report/column_sets/readers.h"

namespace laptime {

using namespace cells;

namespace {

Column seconds(std::string title, Read read) { return quantity(std::move(title), Unit::kSeconds, std::move(read)); }

// "812.4, 815.0 ms": the samples in the unit of their median.
std::string times_text(const Row& row, std::string_view phase, const CellContext&) {
  const TimeStats* const time = time_of(row.record(), phase);
  if (time == nullptr || time->samples.empty() || !std::isfinite(time->median)) return "-";
  const Scale scale = *scale_of(time->median, Unit::kSeconds);
  std::vector<std::string> texts;
  for (const double sample : time->samples) texts.push_back(format_in(scale, sample, time->median));
  return fmt::format("{} {}", joined(texts, ", "), scale.name);
}

Column times_column() {
  Column times = words("times", from_time([](const TimeStats& time) { return Json(time.samples); }));
  times.text_of = times_text;
  return times;
}

}  // namespace

std::vector<Column> columns_2024() {
  return {setting(words("name", label_or_name, 40)),
          setting(words("computation", named("pass"), 16)),
          times_column(),
          seconds("mean_time", mean_of_time()),
          seconds("median_time", from_time([](const TimeStats& time) { return Json(time.median); })),
          of_population(seconds("std_dev", std_of_time())),
          seconds("min_time", from_time([](const TimeStats& time) { return Json(time.min); })),
          seconds("max_time", from_time([](const TimeStats& time) { return Json(time.max); })),
          seconds("total_time", from_time([](const TimeStats& time) { return Json(time.total); })),
          figure("profile_steps", steps_of)};
}

}  // namespace laptime
