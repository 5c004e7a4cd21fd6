// Compares losses bit by bit.
#include "sweep/same_loss.h"

#include <fmt/format.h>

#include <algorithm>

namespace laptime {
namespace {

// Runs that read files are not comparable: the configuration has only the path, and the content may have changed.
bool reads_file(const Record& record) {
  return !record.config.text("data").empty() || !record.config.text("weights").empty();
}

bool comparable(const Record& earlier, const Record& record) {
  return earlier.status == Status::kOk && record.status == Status::kOk && earlier.config_hash == record.config_hash &&
         earlier.binary == record.binary && earlier.fingerprint == record.fingerprint &&
         earlier.kernels == record.kernels && !reads_file(record);
}

}  // namespace

void require_same_loss(const Record& earlier, Record& record) {
  if (!comparable(earlier, record)) return;
  const size_t steps = std::min(earlier.loss.values.size(), record.loss.values.size());
  for (size_t step = 0; step < steps; ++step) {
    const double before = earlier.loss.values[step];
    const double now = record.loss.values[step];
    if (before == now) continue;
    record.status = Status::kFailed;
    record.reason = fmt::format(
        "the loss of step {} is {:.9g}, but was {:.9g} in the run of {} with the same configuration, program and "
        "kernels, so no timing is reported",
        step + 1, now, before, earlier.created);
    record.time.clear();
    record.phases.clear();
    record.tokens_per_second.reset();
    return;
  }
}

}  // namespace laptime
