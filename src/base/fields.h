// A struct lists its fields once, in visit_fields(); its text and hash are derived from this list.
//
//   struct Scale {
//     double factor = 1;
//     template <class Self, class Visit>
//     static void visit_fields(Self& self, Visit&& visit) { visit("factor", self.factor); }
//   };
//   print_fields(Scale{2})  ->  "factor=2"
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <type_traits>

#include "base/random.h"

namespace laptime {

// Returns "name=value name=value", in the order of visit_fields().
template <class T>
std::string print_fields(const T& value) {
  std::string text;
  T::visit_fields(value, [&](const char* name, const auto& field) {
    if (!text.empty()) text += ' ';
    if constexpr (requires { name_of(field); }) {
      text += fmt::format("{}={}", name, name_of(field));
    } else if constexpr (std::is_enum_v<std::decay_t<decltype(field)>>) {
      text += fmt::format("{}={}", name, static_cast<int>(field));
    } else {
      text += fmt::format("{}={}", name, field);
    }
  });
  return text;
}

// Mixes `value` into the hash `seed`.
constexpr uint64_t hash_combine(uint64_t seed, uint64_t value) { return splitmix64(seed + value); }

template <class T>
uint64_t hash_fields(const T& value) {
  uint64_t hash = 0;
  T::visit_fields(value, [&](const char*, const auto& field) {
    using Field = std::decay_t<decltype(field)>;
    if constexpr (requires {
                    field.size();
                    field.begin();
                  }) {
      for (const auto& element : field)
        hash = hash_combine(hash, std::hash<std::decay_t<decltype(element)>>{}(element));
      hash = hash_combine(hash, field.size());
    } else {
      hash = hash_combine(hash, std::hash<Field>{}(field));
    }
  });
  return hash;
}

}  // namespace laptime
