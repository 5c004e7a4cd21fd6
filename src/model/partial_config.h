// PartialConfig: a configuration in which some options are given and the others are being filled in.
#pragma once

#include <optional>
#include <set>
#include <string>

#include "config/run_config.h"
#include "model/named_model.h"

namespace laptime {

class PartialConfig {
 public:
  RunConfig config;
  std::optional<NamedModel> named{};  // set if the model's name describes a whole model
  std::string invalid;                // why the point is invalid; empty if no reason has been found so far

  // Marks a field of `config` as given, so that fill() does not change it.
  template <class T>
  void mark_given(const T& field) {
    given_.insert(&field);
  }
  template <class T>
  bool is_given(const T& field) const {
    return given_.contains(&field);
  }
  // Sets the default of a field, unless the field was given.
  template <class T, class Value>
  void fill(T& field, const Value& value) {
    if (!is_given(field)) field = value;
  }
  // Makes the point invalid. If called again, keeps the first reason.
  void reject(std::string reason) {
    if (invalid.empty()) invalid = std::move(reason);
  }

  PartialConfig() = default;
  PartialConfig(const PartialConfig&) = delete;  // `given_` contains addresses of fields
  PartialConfig& operator=(const PartialConfig&) = delete;

 private:
  std::set<const void*> given_;  // addresses of fields of `config`
};

}  // namespace laptime
