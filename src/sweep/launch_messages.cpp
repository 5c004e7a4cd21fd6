// Writes and parses the messages of launched points.
#include "sweep/launch_messages.h"

#include <limits>
#include <type_traits>

#include "base/error.h"
#include "base/json.h"
#include "base/words.h"
#include "config/fields_json.h"
#include "model/validate.h"
#include "sweep/child_messages.h"

namespace laptime {
namespace {

constexpr const char* kPoint = "point";
constexpr const char* kProbe = "probe";
constexpr const char* kHello = "hello";
constexpr const char* kKnown = "known";
constexpr const char* kStop = "stop";

Json parse_line(std::string_view line) {
  try {
    return Json::parse(line);
  } catch (const JsonError&) {
    throw Error::format("not a message from a sweep: {}", quote(line));
  }
}

}  // namespace

PointRequest request_of(const SweepPoint& point) {
  PointRequest request{.options = {}, .name = point.name, .label = point.label};
  RunConfig::visit_fields(point.config, [&](const Option& option, const auto& field) {
    request.options.emplace(option.key, text_of(option, field));
  });
  return request;
}

SweepPoint point_of(const PointRequest& request) {
  SweepPoint point{{}, request.name, request.label, {}};
  RunConfig::visit_fields(point.config, [&](const Option& option, auto& field) {
    const auto found = request.options.find(std::string(option.key));
    if (found == request.options.end()) throw Error::format("the point has no --{}", option.flag);
    if (found->second.empty()) return;  // an empty text stands for the default
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::string>) {
      if (option.flag == "model") {  // the command line does not accept the name of a model from a folder
        field = found->second;
        return;
      }
    }
    Option unbounded = option;  // the value may be out of range if the model does not use the option
    unbounded.min = std::numeric_limits<double>::lowest();
    unbounded.max = std::numeric_limits<double>::max();
    parse_value(unbounded, fmt::format("--{}", option.flag), found->second, field);
  });
  validate(point.config);
  return point;
}

std::string message_text(const PointRequest& request) { return message_line({{kPoint, to_json(request)}}); }

std::string probe_text() { return message_line({{kProbe, true}}); }

std::string message_text(const PointHello& hello) { return message_line({{kHello, to_json(hello)}}); }

std::string message_text(const MachineKnowledge& known) { return message_line({{kKnown, to_json(known)}}); }

std::string stop_text() { return message_line({{kStop, true}}); }

std::optional<PointRequest> parse_request(std::string_view line) {
  const Json json = parse_line(line);
  if (json.contains(kProbe)) return std::nullopt;
  const Json* const point = json.find(kPoint);
  if (point == nullptr) throw Error::format("expected a point of a sweep, not {}", quote(line));
  return from_json<PointRequest>(*point, kPoint);
}

std::optional<PointHello> parse_hello(std::string_view line) {
  if (line.find(kHello) == std::string_view::npos) return std::nullopt;
  try {
    const Json json = Json::parse(line);
    if (const Json* const hello = json.find(kHello)) return from_json<PointHello>(*hello, kHello);
  } catch (const Error&) {  // a line that another program printed
  }
  return std::nullopt;
}

MachineKnowledge parse_known(std::string_view line) {
  const Json json = parse_line(line);
  const Json* const known = json.find(kKnown);
  if (known == nullptr) throw Error::format("expected stored measurements, not {}", quote(line));
  return from_json<MachineKnowledge>(*known, kKnown);
}

}  // namespace laptime
