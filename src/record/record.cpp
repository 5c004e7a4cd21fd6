// What a record says about itself: the time that was asked for, hashes and dates.
#include "record/record.h"

#include <fmt/format.h>

#include <chrono>

#include "base/random.h"

namespace laptime {

Record::Record() = default;
Record::Record(const Record&) = default;
Record::Record(Record&&) noexcept = default;
Record& Record::operator=(const Record&) = default;
Record& Record::operator=(Record&&) noexcept = default;
Record::~Record() = default;

const TimeStats* Record::main_time() const {
  const auto found = time.find(config.text("pass"));
  if (found != time.end()) return &found->second;
  return time.size() == 1 ? &time.begin()->second : nullptr;
}

std::string config_hash(std::string_view canonical_text) { return fmt::format("{:016x}", fnv1a64(canonical_text)); }

std::string format_utc(int64_t seconds_since_epoch) {
  const std::chrono::sys_seconds time{std::chrono::seconds(seconds_since_epoch)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

}  // namespace laptime
