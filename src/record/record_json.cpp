// Records to JSON and back, from the one statement of fields that each struct makes.
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <type_traits>

#include "base/error.h"
#include "record/record.h"

namespace laptime {
namespace {

template <class T>
concept HasFields = requires(T& value) {
  T::visit_fields(value, [](const char*, auto&) {});
};

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;
template <class T>
constexpr bool kIsVector = false;
template <class T>
constexpr bool kIsVector<std::vector<T>> = true;
template <class T>
constexpr bool kIsMap = false;
template <class T>
constexpr bool kIsMap<std::map<std::string, T>> = true;

// --- writing ---

template <class T>
Json write(const T& field) {
  if constexpr (HasFields<T>) {
    Json object = Json::object();
    T::visit_fields(field, [&](const char* name, const auto& inner) { object[name] = write(inner); });
    return object;
  } else if constexpr (kIsOptional<T>) {
    return field ? write(*field) : Json(nullptr);
  } else if constexpr (kIsVector<T>) {
    Json array = Json::array();
    for (const auto& element : field) array.push_back(write(element));
    return array;
  } else if constexpr (kIsMap<T>) {
    Json object = Json::object();
    for (const auto& [key, value] : field) object[key] = write(value);
    return object;
  } else if constexpr (std::is_same_v<T, JsonObject>) {
    return field.json();
  } else if constexpr (std::is_same_v<T, Status>) {
    return std::string(name_of(field));
  } else if constexpr (std::is_same_v<T, std::string>) {
    return field.empty() ? Json(nullptr) : Json(field);
  } else if constexpr (std::is_same_v<T, double>) {
    return std::isfinite(field) ? Json(field) : Json(nullptr);
  } else {
    static_assert(std::is_same_v<T, int64_t>);
    return field;
  }
}

// --- reading ---

[[noreturn]] void reject(const std::string& path, const char* expected, const Json& found) {
  std::string text =
      found.is_structured() ? found.type_name() : found.dump(-1, ' ', true, Json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  throw Error::format("record: '{}' must be {}, found {}; docs/record_schema.md describes every key", path, expected,
                      text);
}

std::string join(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

// Null and missing keys keep the default; only what nothing can be said without is asked for (see check_required).
template <class T>
void read(const Json& json, T& field, const std::string& path) {
  if constexpr (std::is_same_v<T, double>) {
    // Null is what JSON has for a number that is not finite.
    if (json.is_null()) {
      field = std::numeric_limits<double>::quiet_NaN();
      return;
    }
    if (!json.is_number()) reject(path, "a number", json);
    field = json.get<double>();
  } else if constexpr (std::is_same_v<T, int64_t>) {
    const bool fits =
        !json.is_number_unsigned() || json.get<uint64_t>() <= uint64_t{std::numeric_limits<int64_t>::max()};
    if (!json.is_number_integer() || !fits) reject(path, "an integer of at most 63 bits", json);
    field = json.get<int64_t>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (json.is_null()) return;
    if (!json.is_string()) reject(path, "text", json);
    field = json.get<std::string>();
  } else if constexpr (std::is_same_v<T, Status>) {
    const auto status = json.is_string() ? parse_status(json.get<std::string>()) : std::nullopt;
    if (!status) reject(path, "one of ok, out_of_memory, unsupported, timeout, failed, interrupted", json);
    field = *status;
  } else if constexpr (std::is_same_v<T, JsonObject>) {
    if (!json.is_object() && !json.is_null()) reject(path, "an object", json);
    field = JsonObject(json);
  } else if constexpr (kIsOptional<T>) {
    if (json.is_null()) return;
    read(json, field.emplace(), path);
  } else if constexpr (kIsVector<T>) {
    if (json.is_null()) return;
    if (!json.is_array()) reject(path, "a list", json);
    field.clear();
    field.reserve(json.size());
    for (size_t i = 0; i < json.size(); ++i) read(json[i], field.emplace_back(), fmt::format("{}[{}]", path, i));
  } else if constexpr (kIsMap<T>) {
    if (json.is_null()) return;
    if (!json.is_object()) reject(path, "an object", json);
    for (const auto& [key, value] : json.items()) read(value, field[key], join(path, key));
  } else {
    if (json.is_null()) return;
    if (!json.is_object()) reject(path, "an object", json);
    T::visit_fields(field, [&](const char* name, auto& inner) {
      const auto found = json.find(name);
      if (found != json.end()) return read(*found, inner, join(path, name));
      // A number with no "unknown" in its type is one that every writer can state.
      using Inner = std::decay_t<decltype(inner)>;
      if constexpr (std::is_same_v<Inner, double> || std::is_same_v<Inner, int64_t> || std::is_same_v<Inner, Status>) {
        throw Error::format("record: '{}' is missing; docs/record_schema.md describes every key", join(path, name));
      }
    });
  }
}

void check_meaning(const Record& record) {
  if (record.name.empty()) throw Error("record: 'name' is missing or empty; docs/record_schema.md describes every key");
  for (const auto& [pass, time] : record.time) {
    if (time.unit != "s") throw Error::format("record: 'time.{}.unit' must be \"s\", found \"{}\"", pass, time.unit);
    if (time.count < 0 || static_cast<uint64_t>(time.count) != time.samples.size()) {
      throw Error::format("record: 'time.{}.count' is {}, but there are {} samples", pass, time.count,
                          time.samples.size());
    }
  }
}

// --- the keys themselves ---

template <class T>
std::string type_name() {
  if constexpr (kIsOptional<T>) {
    return type_name<typename T::value_type>();
  } else if constexpr (kIsVector<T>) {
    return "list of " + type_name<typename T::value_type>();
  } else if constexpr (std::is_same_v<T, double>) {
    return "number";
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return "integer";
  } else if constexpr (std::is_same_v<T, std::string> || std::is_same_v<T, Status>) {
    return "text";
  } else {
    return "object";
  }
}

template <class T>
void add_keys(std::vector<SchemaKey>& keys, const std::string& path) {
  if (!path.empty() && !path.ends_with("[]")) keys.push_back({path, type_name<T>()});
  if constexpr (HasFields<T>) {
    T value;
    T::visit_fields(
        value, [&](const char* name, auto& inner) { add_keys<std::decay_t<decltype(inner)>>(keys, join(path, name)); });
  } else if constexpr (kIsVector<T>) {
    if constexpr (HasFields<typename T::value_type>) add_keys<typename T::value_type>(keys, path + "[]");
  } else if constexpr (kIsMap<T>) {
    add_keys<typename T::mapped_type>(keys, path + ".*");
  }
}

}  // namespace

std::vector<SchemaKey> schema_keys() {
  std::vector<SchemaKey> keys;
  add_keys<Record>(keys, "");
  return keys;
}

Json to_json(const Record& record) { return write(record); }

Record record_from_json(const Json& json) {
  if (!json.is_object()) throw Error::format("record: expected a JSON object, found {}", json.type_name());
  const auto version = json.find("schema_version");
  if (version == json.end() || !version->is_number_integer()) {
    throw Error("record: 'schema_version' is missing or not an integer; this is not a laptime record");
  }
  if (*version < 1 || *version > Record::kSchemaVersion) {
    throw Error::format("record: schema version {}, but this laptime reads 1 to {}; use a newer laptime",
                        version->dump(), Record::kSchemaVersion);
  }
  Record record;
  read(json, record, "");
  check_meaning(record);
  return record;
}

std::string to_text(const Record& record) {
  return write(record).dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

Record parse_record(std::string_view text) {
  if (text.size() > kMaxRecordBytes) {
    throw Error::format("record: {} bytes, more than the limit of {} for one record", text.size(), kMaxRecordBytes);
  }
  int keys = 0;
  const auto within_limits = [&](int depth, Json::parse_event_t event, Json&) {
    if (depth > kMaxRecordDepth) throw Error::format("record: nested deeper than the limit of {}", kMaxRecordDepth);
    if (event == Json::parse_event_t::key && ++keys > kMaxRecordKeys) {
      throw Error::format("record: more than the limit of {} keys", kMaxRecordKeys);
    }
    return true;
  };
  try {
    return record_from_json(Json::parse(text, within_limits));
  } catch (const nlohmann::json::exception& error) {
    const std::string what(error.what());
    throw Error::format("record: not JSON: {}", what.size() > 200 ? what.substr(0, 200) + "..." : what);
  }
}

}  // namespace laptime
