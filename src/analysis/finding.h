// Finding: one result from records or traces, as values without prose. report/words.h turns it into a sentence.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "config/option.h"
#include "distribution/bootstrap.h"

namespace laptime {

// How reliable the values of a finding are.
enum class FindingTrust : uint8_t { kMeasured, kRough, kPredicted };
constexpr auto choices_of(FindingTrust) { return choices<FindingTrust>("measured", "rough", "predicted"); }

struct Finding {
  std::string kind;       // "class_share"; report/words.cpp lists them all
  std::string subject{};  // "matmul": distinguishes findings of one kind; may be empty
  JsonObject values;      // keyed in snake_case, ending in the unit: "total_s", "share", "peak_bytes"
  FindingTrust trust = FindingTrust::kMeasured;

  Json value(std::string_view key) const;  // null if missing
  bool has(std::string_view key) const { return !value(key).is_null(); }
  double number(std::string_view key) const;  // 0 if missing
  int64_t integer(std::string_view key) const;
  std::string text(std::string_view key) const { return values.text(key); }
};

// The value, or null if there is none.
template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

// Adds the ends of the interval, such as "ratio_low" and "ratio_high" for the key "ratio"; adds nothing if there is no
// interval.
void add_interval(Json& values, const std::string& key, const std::optional<Interval>& interval);

// {"kind": ..., "subject": ..., values..., "trust": ...}
Json to_json(const Finding& finding);

void add(std::vector<Finding>& findings, std::string_view kind, std::string_view subject, Json values);

// The first finding of a kind (and of a subject, unless `subject` is empty); null if there is none.
const Finding* find(const std::vector<Finding>& findings, std::string_view kind, std::string_view subject = {});

}  // namespace laptime
