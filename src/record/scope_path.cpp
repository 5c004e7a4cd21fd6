// Segments of dotted names.
#include "record/scope_path.h"

#include <algorithm>
#include <cctype>

namespace laptime {
namespace {

bool is_number(std::string_view segment) {
  return !segment.empty() &&
         std::all_of(segment.begin(), segment.end(), [](unsigned char c) { return std::isdigit(c); });
}

// The length of the first module of a scope.
size_t module_length(std::string_view scope) {
  const size_t dot = std::min(scope.find('.'), scope.size());
  if (dot == scope.size()) return dot;
  const size_t next = std::min(scope.find('.', dot + 1), scope.size());
  return is_number(scope.substr(dot + 1, next - dot - 1)) ? next : dot;
}

}  // namespace

std::vector<std::string_view> modules_of(std::string_view scope) {
  std::vector<std::string_view> modules;
  while (!scope.empty()) {
    const size_t length = module_length(scope);
    modules.push_back(scope.substr(0, length));
    scope.remove_prefix(std::min(scope.size(), length + 1));
  }
  return modules;
}

std::string any_layer(std::string_view name) {
  std::string text;
  while (true) {
    const size_t dot = name.find('.');
    const std::string_view segment = name.substr(0, dot);
    text += is_number(segment) ? "*" : segment;
    if (dot == std::string_view::npos) return text;
    text += '.';
    name.remove_prefix(dot + 1);
  }
}

std::string within_layer(std::string_view scope, int64_t layer) {
  if (layer < 0) return std::string(scope);
  const std::string number = std::to_string(layer);
  std::string_view rest = scope;
  while (!rest.empty()) {
    const size_t dot = rest.find('.');
    const std::string_view segment = rest.substr(0, dot);
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
    if (segment == number) return std::string(rest);
  }
  return std::string(scope);
}

}  // namespace laptime
