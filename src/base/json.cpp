// JSON values and their text; nlohmann's library parses and prints it.
#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace laptime {
namespace {

using Library = nlohmann::ordered_json;

constexpr uint64_t kLargestInteger = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxDepth = 512;  // copying, printing and destroying a value take stack for each level

// Builds a value while the library parses text. `open_` contains the arrays and objects that are not closed yet.
class Builder : public nlohmann::json_sax<Library> {
 public:
  explicit Builder(std::string* repeated) : repeated_(repeated) {}

  bool null() override { return add(Json()); }
  bool boolean(bool truth) override { return add(Json(truth)); }
  bool number_integer(number_integer_t number) override { return add(Json(number)); }
  bool number_unsigned(number_unsigned_t number) override { return add(Json(number)); }
  bool number_float(number_float_t number, const string_t&) override { return add(Json(number)); }
  bool string(string_t& text) override { return add(Json(std::move(text))); }
  bool binary(binary_t&) override { return false; }  // JSON text has no binary values
  bool start_object(size_t) override { return open(Json::object()); }
  bool start_array(size_t) override { return open(Json::array()); }
  bool key(string_t& key) override {
    open_.back().items().push_back({std::move(key), Json()});
    return true;
  }
  bool end_array() override { return close(); }
  bool end_object() override {
    drop_repeated(open_.back().items());
    return close();
  }
  bool parse_error(size_t byte, const std::string&, const nlohmann::detail::exception& error) override {
    const bool has_byte = error.id < 200;  // other errors, such as a number out of range, have no position
    if (!has_byte) throw JsonError("contains a number that is out of range");
    throw JsonError(fmt::format("not valid JSON at byte {}", byte));  // counted from 1
  }

  Json take() { return std::move(root_); }

 private:
  bool add(Json value) {
    if (open_.empty())
      root_ = std::move(value);
    else if (open_.back().is_array())
      open_.back().elements().push_back(std::move(value));
    else
      open_.back().items().back().value = std::move(value);
    return true;
  }

  bool open(Json value) {
    if (open_.size() == kMaxDepth) throw JsonError(fmt::format("nested deeper than the limit of {}", kMaxDepth));
    open_.push_back(std::move(value));
    return true;
  }

  bool close() {
    Json value = std::move(open_.back());
    open_.pop_back();
    return add(std::move(value));
  }

  // Keeps each key once, at its first position and with its last value.
  void drop_repeated(Json::Object& members) {
    std::vector<size_t> order(members.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return members[a].key < members[b].key; });
    std::vector<bool> is_dropped(members.size());
    size_t dropped = 0;
    for (size_t first = 0; first < order.size();) {
      size_t next = first + 1;
      for (; next < order.size() && members[order[next]].key == members[order[first]].key; ++next) {
        members[order[first]].value = std::move(members[order[next]].value);
        is_dropped[order[next]] = true;
        ++dropped;
      }
      if (next > first + 1 && repeated_ != nullptr) *repeated_ = members[order[first]].key;
      first = next;
    }
    if (dropped == 0) return;
    size_t kept = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      if (is_dropped[i]) continue;
      if (kept != i) members[kept] = std::move(members[i]);
      ++kept;
    }
    members.resize(kept);
  }

  std::string* repeated_;
  std::vector<Json> open_;
  Json root_;
};

Library to_library(const Json& json) {
  if (json.is_null()) return nullptr;
  if (json.is_boolean()) return json.get<bool>();
  if (json.is_number_unsigned()) return json.get<uint64_t>();
  if (json.is_number_integer()) return json.get<int64_t>();
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) return json.text();
  if (json.is_array()) {
    Library array = Library::array();
    array.get_ref<Library::array_t&>().reserve(json.size());
    for (const Json& element : json) array.push_back(to_library(element));
    return array;
  }
  Library object = Library::object();
  // The keys are known to be distinct, so members are appended; inserting each by key would search all earlier ones.
  Library::object_t::Container& members = object.get_ref<Library::object_t&>();
  for (const auto& [key, value] : json.items()) members.emplace_back(key, to_library(value));
  return object;
}

}  // namespace

Json::Json() noexcept : value_(nullptr) {}
Json::Json(Truth truth) : value_(truth.value) {}
Json::Json(Integer number) : value_(number.value) {}
Json::Json(Natural number) {
  if (number.value > kLargestInteger)
    value_ = number.value;
  else
    value_ = static_cast<int64_t>(number.value);
}
Json::Json(Real number) : value_(number.value) {}
Json::Json(std::string text) : value_(std::move(text)) {}
Json::Json(Array elements) : value_(std::move(elements)) {}
Json::Json(std::initializer_list<Json> values) {
  const bool is_object = std::all_of(values.begin(), values.end(), [](const Json& value) {
    return value.is_array() && value.size() == 2 && value.front().is_string();
  });
  if (!is_object) {
    value_ = Array(values);
    return;
  }
  value_ = Object();
  for (const Json& value : values) (*this)[value.front().text()] = value.back();
}
Json::Json(const Json& other) = default;
Json::Json(Json&& other) noexcept = default;
Json& Json::operator=(const Json& other) = default;
Json& Json::operator=(Json&& other) noexcept = default;
Json::~Json() = default;

Json Json::object() {
  Json json;
  json.value_ = Object();
  return json;
}

Json Json::parse(std::string_view text, std::string* repeated) {
  Builder builder(repeated);
  Library::sax_parse(text, &builder);
  return builder.take();
}

std::string Json::dump(int indent) const {
  return to_library(*this).dump(indent, ' ', /*ensure_ascii=*/true, Library::error_handler_t::replace);
}

bool Json::is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
bool Json::is_boolean() const { return std::holds_alternative<bool>(value_); }
bool Json::is_number() const { return is_number_integer() || std::holds_alternative<double>(value_); }
bool Json::is_number_integer() const {
  return std::holds_alternative<int64_t>(value_) || std::holds_alternative<uint64_t>(value_);
}
bool Json::is_number_unsigned() const {
  const auto* const number = std::get_if<int64_t>(&value_);
  return number != nullptr ? *number >= 0 : std::holds_alternative<uint64_t>(value_);
}
bool Json::is_string() const { return std::holds_alternative<std::string>(value_); }
bool Json::is_array() const { return std::holds_alternative<Array>(value_); }
bool Json::is_object() const { return std::holds_alternative<Object>(value_); }

const char* Json::type_name() const {
  if (is_null()) return "null";
  if (is_boolean()) return "boolean";
  if (is_number()) return "number";
  if (is_string()) return "string";
  return is_array() ? "array" : "object";
}

void Json::reject(const char* expected) const {
  throw JsonError(fmt::format("expected {}, found {}", expected, type_name()));
}

bool Json::truth() const {
  if (!is_boolean()) reject("true or false");
  return std::get<bool>(value_);
}

int64_t Json::integer() const {
  if (const auto* const number = std::get_if<int64_t>(&value_)) return *number;
  if (const auto* const number = std::get_if<uint64_t>(&value_)) return static_cast<int64_t>(*number);
  return static_cast<int64_t>(real());
}

uint64_t Json::natural() const {
  if (const auto* const number = std::get_if<uint64_t>(&value_)) return *number;
  return static_cast<uint64_t>(integer());
}

double Json::real() const {
  if (const auto* const number = std::get_if<double>(&value_)) return *number;
  if (const auto* const number = std::get_if<int64_t>(&value_)) return static_cast<double>(*number);
  if (const auto* const number = std::get_if<uint64_t>(&value_)) return static_cast<double>(*number);
  reject("a number");
}

const std::string& Json::text() const {
  if (!is_string()) reject("a string");
  return std::get<std::string>(value_);
}
std::string& Json::text() {
  if (!is_string()) reject("a string");
  return std::get<std::string>(value_);
}

size_t Json::size() const {
  if (const auto* const elements = std::get_if<Array>(&value_)) return elements->size();
  if (const auto* const members = std::get_if<Object>(&value_)) return members->size();
  return is_null() ? 0 : 1;
}

const Json::Array& Json::elements() const {
  if (!is_array()) reject("an array");
  return std::get<Array>(value_);
}
Json::Array& Json::elements() {
  if (!is_array()) reject("an array");
  return std::get<Array>(value_);
}

const Json& Json::at(size_t index) const {
  if (index >= elements().size()) throw JsonError(fmt::format("no element {} in an array of {}", index, size()));
  return elements()[index];
}
Json& Json::at(size_t index) { return const_cast<Json&>(std::as_const(*this).at(index)); }

void Json::push_back(Json element) { emplace_back(std::move(element)); }
Json& Json::emplace_back(Json element) {
  if (is_null()) value_ = Array();
  elements().push_back(std::move(element));
  return elements().back();
}

const Json::Object& Json::items() const {
  if (!is_object()) reject("an object");
  return std::get<Object>(value_);
}
Json::Object& Json::items() {
  if (!is_object()) reject("an object");
  return std::get<Object>(value_);
}

const Json* Json::find(std::string_view key) const {
  const auto* const members = std::get_if<Object>(&value_);
  if (members == nullptr) return nullptr;
  const auto found = std::find_if(members->begin(), members->end(), [&](const Member& one) { return one.key == key; });
  return found == members->end() ? nullptr : &found->value;
}
Json* Json::find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }

const Json& Json::at(std::string_view key) const {
  const Json* const found = find(key);
  if (found == nullptr) throw JsonError(fmt::format("no key '{}' in the {}", key, type_name()));
  return *found;
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) value_ = Object();
  if (Json* const found = find(key)) return *found;
  return items().emplace_back(Member{std::string(key), Json()}).value;
}

void Json::erase(std::string_view key) {
  std::erase_if(items(), [&](const Member& one) { return one.key == key; });
}

bool operator==(const Json& a, const Json& b) {
  if (a.is_number() && b.is_number()) {
    const bool is_exact = a.is_number_integer() && b.is_number_integer();
    if (!is_exact) return a.real() == b.real();
    return a.is_number_unsigned() == b.is_number_unsigned() && a.natural() == b.natural();
  }
  if (a.is_object() && b.is_object()) {
    return a.size() == b.size() && std::all_of(a.items().begin(), a.items().end(), [&](const Json::Member& member) {
             const Json* const other = b.find(member.key);
             return other != nullptr && *other == member.value;
           });
  }
  if (a.is_array() && b.is_array()) return a.elements() == b.elements();
  if (a.is_string() && b.is_string()) return a.text() == b.text();
  if (a.is_boolean() && b.is_boolean()) return a.truth() == b.truth();
  return a.is_null() && b.is_null();
}

std::string plain_text(const Json& json) { return json.is_string() ? json.text() : json.dump(); }

JsonObject::JsonObject(Json object) : json_(object.is_null() ? Json::object() : std::move(object)) {
  if (!json_.is_object()) throw Error::format("expected a JSON object, found {}", json_.type_name());
}

std::string JsonObject::text(std::string_view key) const {
  const Json* const found = json_.find(key);
  return found == nullptr || found->is_null() ? "" : plain_text(*found);
}

}  // namespace laptime
