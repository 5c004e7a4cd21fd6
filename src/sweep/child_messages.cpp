// {"progress": [stage, done, expected, step_seconds]}, {"planned": {...}} and {"record": {...}, "kernel_choices":
// [...], "peaks": [...]}.
#include "sweep/child_messages.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/words.h"

namespace laptime {
namespace {

constexpr const char* kProgress = "progress";
constexpr const char* kPlanned = "planned";
constexpr const char* kRecord = "record";
constexpr const char* kChoices = "kernel_choices";
constexpr const char* kPeaks = "peaks";

Json json_of(const KernelChoice& choice) {
  return {choice.device, choice.signature, choice.kernel, choice.seconds, choice.created};
}
Json json_of(const MeasuredPeak& peak) { return {peak.device, peak.name, peak.value, peak.unit, peak.created}; }

template <class Item>
Json array_of(const std::vector<Item>& items) {
  Json array = Json::array();
  for (const Item& item : items) array.push_back(json_of(item));
  return array;
}

KernelChoice choice_of(const Json& json) {
  return {json.at(0).get<std::string>(), json.at(1).get<std::string>(), json.at(2).get<std::string>(),
          json.at(3).get<double>(), json.at(4).get<std::string>()};
}
MeasuredPeak peak_of(const Json& json) {
  return {json.at(0).get<std::string>(), json.at(1).get<std::string>(), json.at(2).get<double>(),
          json.at(3).get<std::string>(), json.at(4).get<std::string>()};
}

ChildMessage message_of(const Json& json) {
  if (const auto found = json.find(kProgress); found != json.end()) {
    return PointProgress{found->at(0).get<std::string>(), found->at(1).get<int64_t>(), found->at(2).get<int64_t>(),
                         found->at(3).get<double>()};
  }
  if (const auto found = json.find(kPlanned); found != json.end()) return record_from_json(*found);
  PointResult result{record_from_json(json.at(kRecord)), {}};
  for (const Json& choice : json.at(kChoices)) result.learned.kernel_choices.push_back(choice_of(choice));
  for (const Json& peak : json.at(kPeaks)) result.learned.peaks.push_back(peak_of(peak));
  return result;
}

std::string line_of(const Json& json) { return json.dump(-1, ' ', true, Json::error_handler_t::replace) + "\n"; }

}  // namespace

std::string message_text(const PointProgress& progress) {
  return line_of({{kProgress, {progress.stage, progress.done, progress.expected, progress.step_seconds}}});
}

std::string message_text(const Record& planned) { return line_of({{kPlanned, to_json(planned)}}); }

std::string message_text(const PointResult& result) {
  return line_of({{kRecord, to_json(result.record)},
                  {kChoices, array_of(result.learned.kernel_choices)},
                  {kPeaks, array_of(result.learned.peaks)}});
}

ChildMessage parse_message(std::string_view line) {
  try {
    return message_of(Json::parse(line));
  } catch (const Json::exception&) {
    throw Error::format("not a message of a point: {}", quote(line));
  }
}

}  // namespace laptime
