// Messages on a damaged store, and its last run.
#include "cli/store_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <vector>

#include "base/error.h"
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

namespace {

// The run that stored the newest record: read from the end of the store, ever more at a time where records have none.
std::string last_run(const Store& store) {
  std::string run;
  const auto keep = [&](int64_t, const Record& record) {
    if (!record.run.empty()) run = record.run;
    return true;
  };
  const std::vector<int64_t> ids = store.ids();
  std::span<const int64_t> rest = ids;
  for (size_t count = 1; run.empty() && !rest.empty(); count *= 8) {
    const std::span<const int64_t> newest = rest.last(std::min(count, rest.size()));
    store.each_of(newest, extent_of_column("run"), keep, [](const std::string&) {});
    rest = rest.first(rest.size() - newest.size());
  }
  return run;
}

}  // namespace

void narrow_to_run(Filter& filter, const Store& store, const ShowOptions& options) {
  const std::string run = options.last ? last_run(store) : options.run;
  if (!run.empty()) filter.narrow("run", run);
}

void reject_last_and_run(std::string_view command, const ShowOptions& options) {
  if (options.last && !options.run.empty()) throw Error::format("laptime {}: give --last or --run, not both", command);
}

}  // namespace laptime
