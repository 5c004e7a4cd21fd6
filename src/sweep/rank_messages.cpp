// Writes and parses requests: {"point", "described", "known", "traces", "traced_steps"}.
#include "sweep/rank_messages.h"

#include "base/error.h"
#include "base/json.h"
#include "base/words.h"
#include "config/fields_json.h"
#include "sweep/child_messages.h"
#include "sweep/launch_messages.h"

namespace laptime {
std::string message_text(const RankRequest& request) {
  const Json message{{"point", to_json(request_of(request.point))},
                     {"described", to_json(request.described)},
                     {"known", to_json(request.known)},
                     {"traces", request.trace.wanted},
                     {"traced_steps", request.trace.traced_steps}};
  return message_line(message);
}

RankRequest parse_rank_request(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    RankRequest request;
    request.point = point_of(from_json<PointRequest>(json.at("point"), "point"));
    request.described = record_from_json(json.at("described"));
    request.known = from_json<MachineKnowledge>(json.at("known"), "knowledge of the ranks");
    request.trace.wanted = json.at("traces").get<bool>();
    request.trace.traced_steps = json.at("traced_steps").get<int64_t>();
    return request;
  } catch (const JsonError&) {
    throw Error::format("not a request for ranks: {}", quote(line.substr(0, 100)));
  }
}

}  // namespace laptime
