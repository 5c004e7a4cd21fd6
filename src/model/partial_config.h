// PartialConfig: a configuration of which some options were given and the others still take their defaults.
#pragma once

#include <set>
#include <string>

#include "config/run_config.h"

namespace laptime {

class PartialConfig {
 public:
  RunConfig config;
  std::string invalid;  // why such a point cannot exist; empty: it can, as far as is known

  // The field of `config` was given; it keeps its value.
  template <class T>
  void mark_given(const T& field) {
    given_.insert(&field);
  }
  template <class T>
  bool is_given(const T& field) const {
    return given_.contains(&field);
  }
  // The default of a field that was not given.
  template <class T, class Value>
  void fill(T& field, const Value& value) {
    if (!is_given(field)) field = value;
  }
  // Only the first reason is kept.
  void reject(std::string reason) {
    if (invalid.empty()) invalid = std::move(reason);
  }

  PartialConfig() = default;
  PartialConfig(const PartialConfig&) = delete;  // fields are known by their addresses
  PartialConfig& operator=(const PartialConfig&) = delete;

 private:
  std::set<const void*> given_;  // addresses of fields of `config`
};

}  // namespace laptime
