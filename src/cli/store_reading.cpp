// Messages on a damaged store, and its last run.
#include "cli/store_reading.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/message.h"
#include "report/row.h"

namespace laptime {

void StoreProblems::add(const std::string& problem) {
  constexpr size_t kShown = 20;
  if (++count_ <= kShown) print_message(problem);
  shown_ = std::min(count_, kShown);
}

ExitCode StoreProblems::end() const {
  if (count_ > shown_) print_message(fmt::format("... and {} more", count_ - shown_));
  return count_ > 0 ? ExitCode::kFailed : ExitCode::kOk;
}

std::string last_run(const Store& store) {
  std::string run;
  const auto keep = [&](int64_t, const Record& record) {
    if (!record.run.empty()) run = record.run;
    return true;
  };
  store.each(extent_of_column("run"), keep, [](const std::string&) {});
  return run;
}

}  // namespace laptime
