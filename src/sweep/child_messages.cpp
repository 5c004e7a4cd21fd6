// Writes and parses messages: {"progress": {...}}, {"planned": {...}} or {"record": {...}, "learned": {...}, "trace":
// {...}}.
#include "sweep/child_messages.h"

#include <unistd.h>

#include "base/error.h"
#include "base/host_clock.h"
#include "base/json.h"
#include "base/words.h"
#include "config/fields_json.h"
#include "sweep/pipe.h"

namespace laptime {
namespace {

constexpr const char* kProgress = "progress";
constexpr const char* kPlanned = "planned";
constexpr const char* kRecord = "record";
constexpr const char* kLearned = "learned";
constexpr const char* kTrace = "trace";

constexpr Seconds kProgressInterval{0.1};

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
  if (!result.trace) return message_line(message);
  message[kTrace] = to_json(*result.trace);
  std::string line = message_line(message);
  if (line.size() <= kMaxDocumentBytes) return line;
  PointResult kept{result.record, result.learned, {}};
  kept.record.verdict.reasons.emplace_back("the trace is too large to keep; use fewer --traced-steps");
  return message_text(kept);
}

ChildMessage parse_message(std::string_view line) {
  try {
    return message_of(Json::parse(line));
  } catch (const JsonError&) {
    throw Error::format("not a message from a point: {}", quote(line));
  }
}

void send_text(int descriptor, std::string_view text) {
  if (!write_all(descriptor, text)) _exit(1);
}

PointHooks hooks_to(int descriptor) {
  PointHooks hooks;
  hooks.planned = [descriptor](const Record& planned) { send_text(descriptor, message_text(planned)); };
  hooks.progress = [descriptor, stage = std::string(), sent = Seconds()](const PointProgress& progress) mutable {
    const Seconds now = host_now();
    if (progress.stage == stage && progress.done > 1 && now - sent < kProgressInterval) return;
    stage = progress.stage;
    sent = now;
    send_text(descriptor, message_text(progress));
  };
  return hooks;
}

}  // namespace laptime
