// SystemConfig: the program that ran the steps of a record, where it is not laptime.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/option.h"

namespace laptime {

// Returns the word unchanged; Error unless it can stand in the name of a point. The system is not laptime itself.
std::string canonical_name_part(std::string_view where, std::string_view word);
std::string canonical_system(std::string_view where, std::string_view word);

struct SystemConfig {
  std::string system;             // "pytorch"; empty: not given
  std::string version;            // "2.15.0"; may be empty
  std::string name;               // what tells the step from others of the system; may be empty
  std::optional<int64_t> tokens;  // of a step whose model is not known
  bool operator==(const SystemConfig&) const = default;

  // clang-format off
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "System";
    visit(Option{.flag = "system", .key = "system", .tag = "system", .group = kGroup,
                 .help = "what ran the steps: pytorch, jax, ...", .otherwise = "none; it must be given", .axis = false,
                 .canonical = canonical_system}, self.system);
    visit(Option{.flag = "system-version", .key = "system_version", .group = kGroup, .help = "its version",
                 .otherwise = "not stated", .axis = false, .canonical = canonical_name_part}, self.version);
    visit(Option{.flag = "name", .key = "implementation", .tag = "implementation", .group = kGroup,
                 .help = "what tells these steps from others of the system", .otherwise = "none", .axis = false,
                 .canonical = canonical_name_part}, self.name);
    visit(Option{.flag = "tokens", .key = "tokens", .tag = "tokens", .group = kGroup, .unit = "tokens",
                 .help = "tokens of a step, where the model is not named", .empty = "none", .min = 1, .max = 1e15,
                 .axis = false}, self.tokens);
  }
  // clang-format on
};

}  // namespace laptime
