// Writes and parses messages: {"progress": {...}}, {"planned": {...}} or {"record": {...}, "learned": {...}}.
#include "sweep/child_messages.h"

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/words.h"
#include "record/fields_json.h"

namespace laptime {
namespace {

constexpr const char* kProgress = "progress";
constexpr const char* kPlanned = "planned";
constexpr const char* kRecord = "record";
constexpr const char* kLearned = "learned";

ChildMessage message_of(const Json& json) {
  if (const auto found = json.find(kProgress); found != json.end()) return from_json<PointProgress>(*found, kProgress);
  if (const auto found = json.find(kPlanned); found != json.end()) return record_from_json(*found);
  return PointResult{record_from_json(json.at(kRecord)), from_json<MachineKnowledge>(json.at(kLearned), kLearned)};
}

std::string line_of(const Json& json) { return ascii_text(json) + "\n"; }

}  // namespace

std::string message_text(const PointProgress& progress) { return line_of({{kProgress, to_json(progress)}}); }

std::string message_text(const Record& planned) { return line_of({{kPlanned, to_json(planned)}}); }

std::string message_text(const PointResult& result) {
  return line_of({{kRecord, to_json(result.record)}, {kLearned, to_json(result.learned)}});
}

ChildMessage parse_message(std::string_view line) {
  try {
    return message_of(Json::parse(line));
  } catch (const Json::exception&) {
    throw Error::format("not a message of a point: {}", quote(line));
  }
}

}  // namespace laptime
