// Messages on a damaged store, and its last run.
#include "cli/store_reading.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "cli/calibration_records.h"
#include "cli/message.h"

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

void narrow_to_run(Filter& filter, const Store& store, const ShowOptions& options) {
  const std::string run = options.last ? newest_run(store, names_runs(filter)) : options.run;
  if (!run.empty()) filter.narrow("run", run, store.resumed_by(run));
}

void reject_last_and_run(std::string_view command, const ShowOptions& options) {
  if (options.last && !options.run.empty()) throw Error::format("laptime {}: give --last or --run, not both", command);
}

}  // namespace laptime
