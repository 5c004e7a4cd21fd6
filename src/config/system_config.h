// SystemConfig: the program that ran a record's steps, if it is not laptime.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/option.h"

namespace laptime {

// Returns the word unchanged; throws Error unless it can be part of a point's name: up to 64 letters, digits and
// . _ + -
std::string canonical_name_part(std::string_view where, std::string_view word);
// Like canonical_name_part; also throws Error for "laptime".
std::string canonical_system(std::string_view where, std::string_view word);

struct SystemConfig {
  std::string system;             // "pytorch"; empty: not given
  std::string version;            // "2.15.0"; may be empty
  std::string name;               // distinguishes the step from other steps of this program; may be empty
  std::optional<int64_t> tokens;  // number per step, if the model is unknown
  bool operator==(const SystemConfig&) const = default;

  // clang-format off
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "System";
    visit(Option{.flag = "system", .key = "system", .tag = "system", .group = kGroup,
                 .help = "program that ran the steps: pytorch, jax, ...", .otherwise = "none; required", .axis = false,
                 .canonical = canonical_system}, self.system);
    visit(Option{.flag = "system-version", .key = "system_version", .group = kGroup, .help = "version of the program",
                 .otherwise = "not stated", .axis = false, .canonical = canonical_name_part}, self.version);
    visit(Option{.flag = "name", .key = "implementation", .tag = "implementation", .group = kGroup,
                 .help = "name that distinguishes these steps from others of the same program", .otherwise = "none",
                 .axis = false, .canonical = canonical_name_part}, self.name);
    visit(Option{.flag = "tokens", .key = "tokens", .tag = "tokens", .group = kGroup, .unit = "tokens",
                 .help = "tokens per step, if the model is not named", .empty = "none", .min = 1, .max = 1e15,
                 .axis = false}, self.tokens);
  }
  // clang-format on
};

}  // namespace laptime
