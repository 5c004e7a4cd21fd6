// Reads and writes the values of findings.
#include "analysis/finding.h"

#include <algorithm>
#include <utility>

namespace laptime {

Json Finding::value(std::string_view key) const {
  const Json* const found = values.json().find(key);
  return found == nullptr ? Json(nullptr) : *found;
}

double Finding::number(std::string_view key) const {
  const Json found = value(key);
  return found.is_number() ? found.get<double>() : 0;
}

int64_t Finding::integer(std::string_view key) const {
  const Json found = value(key);
  return found.is_number() ? found.get<int64_t>() : 0;
}

void add_interval(Json& values, const std::string& key, const std::optional<Interval>& interval) {
  if (!interval) return;
  values[key + "_low"] = interval->low;
  values[key + "_high"] = interval->high;
}

Json to_json(const Finding& finding) {
  Json json{{"kind", finding.kind}};
  if (!finding.subject.empty()) json["subject"] = finding.subject;
  for (const auto& [key, value] : finding.values.json().items()) json[key] = value;
  json["trust"] = name_of(finding.trust);
  return json;
}

void add(std::vector<Finding>& findings, std::string_view kind, std::string_view subject, Json values) {
  findings.push_back({.kind = std::string(kind), .subject = std::string(subject), .values = std::move(values)});
}

const Finding* find(const std::vector<Finding>& findings, std::string_view kind, std::string_view subject) {
  const auto found = std::ranges::find_if(
      findings, [&](const Finding& one) { return one.kind == kind && (subject.empty() || one.subject == subject); });
  return found == findings.end() ? nullptr : &*found;
}

}  // namespace laptime
