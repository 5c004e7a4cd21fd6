// Writes and parses messages: {"progress": {...}}, {"planned": {...}} or {"record": {...}, "learned": {...}, "trace":
// {...}}.
#include "sweep/child_messages.h"

#include "base/error.h"
#include "base/json.h"
#include "base/words.h"
#include "config/fields_json.h"

namespace laptime {
namespace {

constexpr const char* kProgress = "progress";
constexpr const char* kPlanned = "planned";
constexpr const char* kRecord = "record";
constexpr const char* kLearned = "learned";
constexpr const char* kTrace = "trace";

ChildMessage message_of(const Json& json) {
  if (const auto found = json.find(kProgress); found != nullptr) return from_json<PointProgress>(*found, kProgress);
  if (const auto found = json.find(kPlanned); found != nullptr) return record_from_json(*found);
  PointResult result{record_from_json(json.at(kRecord)), from_json<MachineKnowledge>(json.at(kLearned), kLearned), {}};
  if (const auto found = json.find(kTrace); found != nullptr) result.trace = from_json<StepTrace>(*found, kTrace);
  return result;
}

}  // namespace

std::string message_line(const Json& json) { return json.dump() + "\n"; }

std::string message_text(const PointProgress& progress) { return message_line({{kProgress, to_json(progress)}}); }

std::string message_text(const Record& planned) { return message_line({{kPlanned, to_json(planned)}}); }

std::string message_text(const PointResult& result) {
  Json message{{kRecord, to_json(result.record)}, {kLearned, to_json(result.learned)}};
  if (result.trace) message[kTrace] = to_json(*result.trace);
  return message_line(message);
}

ChildMessage parse_message(std::string_view line) {
  try {
    return message_of(Json::parse(line));
  } catch (const JsonError&) {
    throw Error::format("not a message of a point: {}", quote(line));
  }
}

}  // namespace laptime
