// Checked access to JSON values.
#include "base/json_field.h"

#include "base/error.h"
#include "base/json.h"
#include "base/json_size.h"
#include "base/words.h"

namespace laptime {

Json parse_json(std::string_view text, const std::string& where, int max_depth) {
  if (json_size(text).depth > static_cast<size_t>(max_depth)) {
    throw Error::format("{}: more than {} levels deep; correct the file", where, max_depth);
  }
  try {
    return Json::parse(text);
  } catch (const JsonError& error) {
    throw Error::format("{}: {}; correct the file", where, error.what());
  }
}

void JsonField::fail(std::string_view expected) const {
  const bool is_one_value = !value_->is_object() && !value_->is_array();
  throw Error::format("{} is {}, but should be {}; correct the file", where_,
                      is_one_value ? brief() : value_->type_name(), expected);
}

bool JsonField::has(std::string_view key) const {
  if (!value_->is_object()) return false;
  const auto found = value_->find(key);
  return found != nullptr && !found->is_null();
}

bool JsonField::holds(std::string_view key) const { return value_->is_object() && value_->find(key) != nullptr; }

bool JsonField::is_neutral() const {
  if (value_->is_null()) return true;
  if (value_->is_boolean()) return !value_->get<bool>();
  if (value_->is_number()) return value_->get<double>() == 0;
  if (value_->is_string()) return value_->text().empty();
  return value_->empty();
}

std::string JsonField::brief() const {
  constexpr size_t kLongest = 60;
  std::string text = value_->dump();
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "...";
  return text;
}

JsonField JsonField::at(std::string_view key) const {
  if (!value_->is_object()) fail("an object");
  const auto found = value_->find(key);
  if (found == nullptr) throw Error::format("{} has no {}; correct the file", where_, quote(key));
  return {*found, fmt::format("{}, {}", where_, quote(key))};
}

std::vector<JsonField> JsonField::elements() const {
  if (!value_->is_array()) fail("an array");
  std::vector<JsonField> all;
  all.reserve(value_->size());
  for (const auto& element : *value_) all.emplace_back(element, fmt::format("{}[{}]", where_, all.size()));
  return all;
}

std::vector<std::pair<std::string, JsonField>> JsonField::members() const {
  if (!value_->is_object()) fail("an object");
  std::vector<std::pair<std::string, JsonField>> all;
  all.reserve(value_->size());
  for (const auto& [key, value] : value_->items()) {
    all.emplace_back(key, JsonField(value, fmt::format("{}, {}", where_, quote(key))));
  }
  return all;
}

std::string JsonField::text() const {
  if (!value_->is_string()) fail("a string");
  return value_->get<std::string>();
}

bool JsonField::truth() const {
  if (!value_->is_boolean()) fail("true or false");
  return value_->get<bool>();
}

double JsonField::number() const {
  if (!value_->is_number()) fail("a number");
  return value_->get<double>();
}

int64_t JsonField::integer(int64_t min, int64_t max) const {
  const bool integral = value_->is_number_integer();
  const bool fits = integral && !(value_->is_number_unsigned() && value_->get<uint64_t>() > INT64_MAX);
  const int64_t value = fits ? value_->get<int64_t>() : 0;
  if (!fits || value < min || value > max) fail(fmt::format("an integer from {} to {}", min, max));
  return value;
}

}  // namespace laptime
