// Compares losses bit by bit.
#include "sweep/same_loss.h"

#include <fmt/format.h>

#include <algorithm>

namespace laptime {
namespace {

bool comparable(const Record& earlier, const Record& record) {
  return earlier.status == Status::kOk && record.status == Status::kOk && earlier.config_hash == record.config_hash &&
         earlier.binary == record.binary && earlier.fingerprint == record.fingerprint &&
         earlier.math_mode == record.math_mode && earlier.kernels == record.kernels;
}

}  // namespace

void clear_timing(Record& record) {
  record.time.clear();
  record.phases.clear();
  record.tokens_per_second.reset();
}

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
    clear_timing(record);
    return;
  }
}

}  // namespace laptime
