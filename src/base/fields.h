// A struct lists its fields once, in visit_fields(); its text is derived from this list.
//
//   struct Scale {
//     double factor = 1;
//     template <class Self, class Visit>
//     static void visit_fields(Self& self, Visit&& visit) { visit("factor", self.factor); }
//   };
//   print_fields(Scale{2})  ->  "factor=2"
#pragma once

#include <fmt/format.h>

#include <string>
#include <type_traits>

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

}  // namespace laptime
