// Writes and parses requests: {"name", "label", "options", "described", "known", "traces",
// "traced_steps"}.
#include "sweep/rank_messages.h"

#include "base/error.h"
#include "base/json.h"
#include "base/words.h"
#include "config/fields_json.h"

namespace laptime {
namespace {

// The text of every option, by its flag.
Json options_of(const RunConfig& config) {
  Json options = Json::object();
  RunConfig::visit_fields(config, [&](const Option& option, const auto& field) {
    options[std::string(option.flag)] = text_of(option, field);
  });
  return options;
}

RunConfig config_of(const Json& options) {
  RunConfig config;
  RunConfig::visit_fields(config, [&](const Option& option, auto& field) {
    const std::string_view text = options.at(std::string(option.flag)).text();
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, std::string>) {
      field = text;  // may be empty, which is no value on a command line
    } else {
      parse_value(option, option.flag, text, field);
    }
  });
  return config;
}

}  // namespace

std::string message_text(const RankRequest& request) {
  const Json message{{"name", request.point.name},
                     {"label", request.point.label},
                     {"options", options_of(request.point.config)},
                     {"described", to_json(request.described)},
                     {"known", to_json(request.known)},
                     {"traces", request.trace.wanted},
                     {"traced_steps", request.trace.traced_steps}};
  return message.dump() + "\n";
}

RankRequest parse_rank_request(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    RankRequest request;
    request.point.name = json.at("name").text();
    request.point.label = json.at("label").text();
    request.point.config = config_of(json.at("options"));
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
