// compare_command: the command line that measures two stored points in turn.
#pragma once

#include <string>
#include <string_view>

#include "record/json_object.h"

namespace laptime {

// What of a stored point its command line is made from.
struct NamedPoint {
  std::string_view name;  // Record::name
  const JsonObject& config;
};

// "laptime compare --pass step --model small --context 256 --mode eager,compile": options that differ have the value of
// `a` first. Warm-up and steps are left to the comparison. Empty for a name that this program did not make.
std::string compare_command(const NamedPoint& a, const NamedPoint& b);

// " --store FILE" to type after a command of this program, for the value of --store that a command got; empty where it
// got none.
std::string store_words(std::string_view store);

}  // namespace laptime
