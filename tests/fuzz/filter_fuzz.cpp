// Filters and sort orders, applied to the stored records of the report tests.
#include "report/columns.h"
#include "report/filter.h"

#include <algorithm>

#include "fuzz/fuzz_target.h"
#include "report/stored_records.h"

namespace laptime::fuzz {

std::vector<std::string> seeds() {
  return {"model = small and median < 750ms",
          "(status != ok or time.step.samples.0 > 1) and ctx >= 512",
          "name ~ 'compile' or edition = 2025",
          "peak_memory <= 2GiB and clip_norm = null",
          "median:desc,name",
          "((((model=\"2.7B\"))))"};
}

std::vector<std::string> words() {
  return {"and",
          "or",
          "(",
          ")",
          "=",
          "!=",
          "<=",
          ">=",
          "~",
          "'",
          "\"",
          "null",
          "median",
          "status",
          "ok",
          "ctx",
          "time",
          "model",
          "1s",
          "2 GiB",
          "loss.values",
          ":asc",
          "verdict.reasons"};
}

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace laptime;
  static const std::vector<Record> kRecords = [] {
    constexpr size_t kEnough = 2;  // few, because each input is compared with every record
    std::vector<Record> records = stored_records();
    records.resize(std::min(kEnough, records.size()));
    return records;
  }();
  const std::string_view text = fuzz::text_of(data, size);
  fuzz::accept_or_refuse([&] { sort_records(kRecords, text); });
  fuzz::accept_or_refuse([&] {
    const size_t matching = records_matching(Filter(text), kRecords).size();
    LAPTIME_CHECK(matching <= kRecords.size(), "{} of {} records", matching, kRecords.size());
  });
  return 0;
}
