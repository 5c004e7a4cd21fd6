// Puts the announcement of a sweep into words.
#include "cli/announcement.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/words.h"
#include "cli/progress.h"
#include "report/heading.h"
#include "report/phrases.h"

namespace laptime {
std::string announcement(const std::vector<SweepPoint>& points, const std::vector<ExpectedPoint>& expected) {
  Seconds whole{0};
  Seconds low{0};
  Seconds high{0};
  bool is_rough = false;
  size_t stored = 0;
  std::string oldest;  // date of the oldest of the stored
  bool is_known = !expected.empty();
  std::vector<std::string> too_large;
  for (size_t i = 0; i < expected.size(); ++i) {
    is_known = is_known && expected[i].time.has_value();
    const Seconds time = expected[i].time.value_or(Seconds{0});
    const bool is_guess = expected[i].runs() && expected[i].rough.has_value();
    whole += time;
    low += is_guess ? expected[i].rough->first : time;
    high += is_guess ? expected[i].rough->second : time;
    is_rough = is_rough || is_guess;
    if (const auto& stored_at = expected[i].stored_at) {
      ++stored;
      if (oldest.empty() || *stored_at < oldest) oldest = *stored_at;
    } else if (!expected[i].fits) {
      too_large.push_back(spoken_name(points[i].name));
    }
  }
  const bool runs = !is_known || whole.count() > 0;
  const bool says_more = points.size() > 1 || stored > 0;  // the progress line and the row of one point say the same
  if (!says_more || (!runs && too_large.empty() && stored == 0)) return "";
  std::string text = counted(points.size(), "point");
  if (stored > 0) {
    text += fmt::format(", {} from the store, measured {}{}", stored == points.size() ? "all" : std::to_string(stored),
                        minute_of(oldest), stored > 1 ? " or later" : "");
  }
  if (is_known && runs) text += fmt::format(", about {}", rough_time(whole));
  if (is_known && runs && is_rough) text += fmt::format(" ({} to {})", rough_time(low), rough_time(high));
  if (!is_known && !expected.empty()) text += ", duration unknown";
  constexpr size_t kNamed = 3;
  if (!too_large.empty()) {
    const size_t more = too_large.size() - std::min(kNamed, too_large.size());
    too_large.resize(too_large.size() - more);
    text += fmt::format("; too large for the memory: {}{}", joined(too_large, ", "),
                        more > 0 ? fmt::format(" and {} more", more) : "");
  }
  return text;
}

}  // namespace laptime
