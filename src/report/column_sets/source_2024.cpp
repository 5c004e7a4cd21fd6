// The table of the source document of 2024.
#include "report/column_sets/column_sets.h"
#include "report/column_sets/readers.h"

namespace laptime {

using namespace cells;

std::vector<Column> columns_2024() {
  return {setting(words("name", label_or_name, 40)),
          setting(words("computation", named("pass"), 16)),
          words("times", from_time([](const TimeStats& time) { return Json(time.samples); })),
          figure("mean_time", mean_of_time()),
          figure("median_time", from_time([](const TimeStats& time) { return Json(time.median); })),
          figure("std_dev", std_of_time()),
          figure("min_time", from_time([](const TimeStats& time) { return Json(time.min); })),
          figure("max_time", from_time([](const TimeStats& time) { return Json(time.max); })),
          figure("total_time", from_time([](const TimeStats& time) { return Json(time.total); })),
          figure("profile_steps", steps_of)};
}

}  // namespace laptime
