// laptime list: shows what can be chosen.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "cli/command.h"

namespace laptime {

// Something to list; the table of topics stands in list.cpp.
struct ListTopic {
  std::string_view name;
  std::string_view help;                        // what it lists
  std::string (*text)(size_t width) = nullptr;  // of a terminal; 0: lines are not broken
};
std::span<const ListTopic> list_topics();

ListTopic parse_list(const CommandWords& words);

}  // namespace laptime
