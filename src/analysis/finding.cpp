// Reads and writes the values of findings.
#include "analysis/finding.h"

#include <algorithm>

namespace laptime {

std::string_view name_of(FindingTrust trust) {
  switch (trust) {
    case FindingTrust::kMeasured: return "measured";
    case FindingTrust::kRough: return "rough";
    case FindingTrust::kPredicted: return "predicted";
  }
  return "measured";
}

bool Finding::has(std::string_view key) const {
  const auto found = values.json().find(key);
  return found != nullptr && !found->is_null();
}

double Finding::number(std::string_view key) const {
  const auto found = values.json().find(key);
  return found != nullptr && found->is_number() ? found->get<double>() : 0;
}

int64_t Finding::integer(std::string_view key) const {
  const auto found = values.json().find(key);
  return found != nullptr && found->is_number() ? found->get<int64_t>() : 0;
}

Json or_null(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }
Json or_null(const std::optional<int64_t>& value) { return value ? Json(*value) : Json(nullptr); }

void add_interval(JsonObject& values, const std::string& key, const std::optional<Interval>& interval) {
  if (!interval) return;
  values.json()[key + "_low"] = interval->low;
  values.json()[key + "_high"] = interval->high;
}

Json to_json(const Finding& finding) {
  Json json{{"kind", finding.kind}};
  if (!finding.subject.empty()) json["subject"] = finding.subject;
  for (const auto& [key, value] : finding.values.json().items()) json[key] = value;
  json["trust"] = name_of(finding.trust);
  return json;
}

const Finding* find(const std::vector<Finding>& findings, std::string_view kind, std::string_view subject) {
  const auto found = std::ranges::find_if(
      findings, [&](const Finding& one) { return one.kind == kind && (subject.empty() || one.subject == subject); });
  return found == findings.end() ? nullptr : &*found;
}

}  // namespace laptime
