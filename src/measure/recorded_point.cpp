// Resolves the options of recorded steps, and keeps apart what they state and what nobody said.
#include "measure/recorded_point.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/json.h"
#include "config/option_table.h"
#include "record/fields_json.h"

namespace laptime {
namespace {

constexpr std::string_view kElsewhere = "cuda";  // a device that this program cannot open

bool is_of_model(std::string_view flag) { return find_option<ModelConfig>(flag).has_value(); }

bool is_in(const std::vector<GivenOption>& given, std::string_view flag) {
  return std::any_of(given.begin(), given.end(), [&](const GivenOption& option) { return option.flag == flag; });
}

void check_model_options(const std::vector<GivenOption>& given, const SystemConfig& system) {
  if (is_in(given, "model")) {
    for (const std::string_view flag : {"batch", "context"}) {
      if (!is_in(given, flag))
        throw Error::format("--model: needs --{} beside it, which says how many tokens a step has", flag);
    }
    if (system.tokens) throw Error("--tokens: the tokens of a step follow from --batch and --context; leave it out");
    return;
  }
  for (const GivenOption& option : given) {
    if (is_of_model(option.flag)) {
      throw Error::format(
          "--{}: describes a model; name it with --model (laptime list models, or custom), or give --tokens alone",
          option.flag);
    }
  }
}

// What a record's config says of an option: its value where the user or a known model states it.
bool is_stated(const Option& option, const std::vector<GivenOption>& given, bool knows_model) {
  if (!describes_recorded_steps(option.flag)) return false;
  if (is_in(given, option.flag)) return true;
  if (is_of_model(option.flag) || option.flag == "dtype") return knows_model;
  return option.flag == "pass" || option.flag == "budget";
}

JsonObject stated_config(const RecordedPoint& point, const std::vector<GivenOption>& given,
                         const SystemConfig& system) {
  Json stated = to_json(point.config);
  RunConfig::visit_fields(point.config, [&](const Option& option, const auto&) {
    if (!is_stated(option, given, point.knows_model)) stated[std::string(option.key)] = nullptr;
  });
  stated["device"] = point.device ? point.device->name : point.config.device;
  SystemConfig::visit_fields(system, [&](const Option& option, const auto& field) {
    stated[std::string(option.key)] = fields_json::value_of(field);
  });
  return stated;
}

std::string recorded_name(const RecordedPoint& point, const std::vector<GivenOption>& given,
                          const SystemConfig& system) {
  std::string first;
  std::string always;
  std::string others;
  RunConfig::visit_fields(point.config, [&](const Option& option, const auto& field) {
    const bool names_device = option.flag == "device" && !point.device;
    if (option.in_name == InName::kWhereSwept && !names_device) return;
    if (option.in_name == InName::kFirst) {
      first = text_of(option, field);
    } else if (is_stated(option, given, point.knows_model)) {
      const bool is_where_given = option.in_name != InName::kAlways;
      if (is_where_given && !is_in(given, option.flag)) return;
      (is_where_given ? others : always) += fmt::format("/{}:{}", option.tag, text_of(option, field));
    }
  });
  std::string name = first + always + others;
  SystemConfig::visit_fields(system, [&](const Option& option, const auto& field) {
    if (!option.tag.empty() && field != std::decay_t<decltype(field)>())
      name += fmt::format("/{}:{}", option.tag, text_of(option, field));
  });
  return name;
}

}  // namespace

bool describes_recorded_steps(std::string_view flag) {
  constexpr std::array<std::string_view, 8> kFlags{"dtype",   "mode",   "pass",  "device",
                                                   "threads", "warmup", "steps", "budget"};
  return is_of_model(flag) || std::find(kFlags.begin(), kFlags.end(), flag) != kFlags.end();
}

RecordedPoint recorded_point(const std::vector<GivenOption>& given, const SystemConfig& system) {
  if (system.system.empty())
    throw Error("--system: is missing; name what runs the steps, for example --system pytorch");
  check_model_options(given, system);
  ResolvedConfig resolved = resolve(given);
  if (!resolved.invalid.empty()) throw Error(resolved.invalid);
  RecordedPoint point;
  point.config = std::move(resolved.config);
  point.knows_model = is_in(given, "model");
  if (point.config.device != kElsewhere) {
    point.device = find_device(point.config);
    if (!point.device->computes) {
      throw Error::format("--device: {} is a prediction, and these steps run; give cpu or {}", point.config.device,
                          kElsewhere);
    }
  }
  point.version = system.system + (system.version.empty() ? "" : " " + system.version);
  point.name = recorded_name(point, given, system);
  point.stated = stated_config(point, given, system);
  return point;
}

}  // namespace laptime
