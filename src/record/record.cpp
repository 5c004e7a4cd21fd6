// Implements record.h: records as text and the checks of their values, the list of keys, times, hashes and dates.
#include "record/record.h"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <type_traits>

#include "base/error.h"
#include "base/json.h"
#include "base/json_size.h"
#include "base/machine.h"
#include "base/machine_state.h"
#include "base/proc_text.h"
#include "base/random.h"
#include "base/ranges.h"
#include "config/fields_json.h"
#include "config/label.h"
#include "data/json_documents.h"
#include "distribution/bootstrap.h"

namespace laptime {
namespace {

constexpr std::string_view kAdvice = "docs/record_schema.md describes every key";

void check_meaning(const Record& record) {
  if (record.name.empty()) throw Error::format("record: 'name' is missing or empty; {}", kAdvice);
  for (const auto& [pass, time] : record.time) {
    if (time.unit != "s") throw Error::format("record: 'time.{}.unit' must be \"s\", found \"{}\"", pass, time.unit);
    if (time.count < 0 || static_cast<uint64_t>(time.count) != time.samples.size()) {
      throw Error::format("record: 'time.{}.count' is {}, but there are {} samples", pass, time.count,
                          time.samples.size());
    }
  }
  if (record.verdict.lost.value_or(0) > 1)
    throw Error::format("record: 'verdict.lost' is {}, but a share is at most 1", *record.verdict.lost);
}

// --- list of keys ---

template <class T>
std::string type_name() {
  if constexpr (fields_json::kIsOptional<T>) {
    return type_name<typename T::value_type>();
  } else if constexpr (fields_json::kIsVector<T>) {
    return "list of " + type_name<typename T::value_type>();
  } else if constexpr (std::is_same_v<T, double>) {
    return "number";
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return "integer";
  } else if constexpr (std::is_same_v<T, bool>) {
    return "boolean";
  } else if constexpr (std::is_same_v<T, std::string> || std::is_enum_v<T>) {
    return "text";
  } else {
    return "object";
  }
}

template <class T>
void add_keys(std::vector<SchemaKey>& keys, const std::string& path, Unit unit);

template <class T>
void add_keys_of_fields(std::vector<SchemaKey>& keys, const std::string& prefix) {
  T value;
  T::visit_fields(value, [&](const Key& key, auto& inner) {
    add_keys<std::decay_t<decltype(inner)>>(keys, prefix + key.name, key.unit);
  });
}

template <class T>
void add_keys(std::vector<SchemaKey>& keys, const std::string& path, Unit unit) {
  const std::string type = type_name<T>();
  keys.push_back({path, type, type == "object" ? Unit::kNone : unit});
  if constexpr (StatesFields<T>) {
    add_keys_of_fields<T>(keys, path + ".");
  } else if constexpr (fields_json::kIsVector<T>) {
    if constexpr (StatesFields<typename T::value_type>) add_keys_of_fields<typename T::value_type>(keys, path + "[].");
  } else if constexpr (fields_json::kIsMap<T>) {
    add_keys<typename T::mapped_type>(keys, path + ".*", unit);
  }
}

}  // namespace

const std::vector<SchemaKey>& schema_keys() {
  static const std::vector<SchemaKey> kKeys = [] {
    std::vector<SchemaKey> keys;
    add_keys_of_fields<Record>(keys, "");
    return keys;
  }();
  return kKeys;
}

const std::vector<SchemaKey>& machine_keys() {
  static const std::vector<SchemaKey> kKeys = [] {
    std::vector<SchemaKey> keys;
    add_keys_of_fields<Machine>(keys, "machine.");
    add_keys_of_fields<MachineState>(keys, "machine.during.");
    add_keys_of_fields<DeviceCard>(keys, "machine.card.");
    add_keys_of_fields<DeviceSensors>(keys, "machine.sensors.");
    return keys;
  }();
  return kKeys;
}

Record record_from_json(const Json& json) {
  if (!json.is_object()) throw Error::format("record: expected a JSON object, found {}", json.type_name());
  const auto version = json.find("schema_version");
  if (version == nullptr || !version->is_number_integer()) {
    throw Error("record: 'schema_version' is missing or not an integer; this is not a laptime record");
  }
  if (version->get<int64_t>() < 1 || version->get<int64_t>() > Record::kSchemaVersion) {
    throw Error::format("record: schema version {}, but this laptime reads 1 to {}; use a newer laptime",
                        version->dump(), Record::kSchemaVersion);
  }
  Record record = from_json<Record>(json, "record", kAdvice);
  check_meaning(record);
  return record;
}

std::vector<Record> read_records(const DocumentFile& file) {
  std::vector<Record> records;
  each_document(file, [&](const Json& document, const std::string& where) {
    try {
      records.push_back(record_from_json(document));
    } catch (const Error& error) {
      throw Error::format("{}: {}; {}", where, error.what(), file.advice);
    }
  });
  return records;
}

std::string to_text(const Record& record) { return to_json(record).dump(); }

Record parse_record(std::string_view text) {
  if (text.size() > kMaxDocumentBytes) {
    throw Error::format("record: {} bytes exceed the limit of {} for one record", text.size(), kMaxDocumentBytes);
  }
  const JsonSize size = json_size(text);
  if (size.depth > size_t{kMaxDocumentDepth})
    throw Error::format("record: nested deeper than the limit of {}", kMaxDocumentDepth);
  if (size.keys > size_t{kMaxRecordKeys}) throw Error::format("record: more keys than the limit of {}", kMaxRecordKeys);
  try {
    return record_from_json(Json::parse(text));
  } catch (const JsonError& error) {
    throw Error::format("record: {}", error.what());
  }
}

Record::Record() = default;
Record::Record(const Record&) = default;
Record::Record(Record&&) noexcept = default;
Record& Record::operator=(const Record&) = default;
Record& Record::operator=(Record&&) noexcept = default;
Record::~Record() = default;

const TimeStats* Record::main_time() const {
  if (const TimeStats* const of_pass = at_key(time, config.text("pass"))) return of_pass;
  return time.size() == 1 ? &time.begin()->second : nullptr;
}

TimeStats make_time_stats(std::span<const double> samples) {
  return {summarize(samples), "s", {samples.begin(), samples.end()}};
}

const TimeStats* time_of(const Record& record, std::string_view phase) {
  const TimeStats* const time = phase.empty() ? record.main_time() : at_key(record.time, std::string(phase));
  return time == nullptr || time->count == 0 ? nullptr : time;
}

std::optional<double> known_within(const Summary& time) {
  if (!time.ci_low || !time.ci_high) return std::nullopt;
  return relative_half_width({*time.ci_low, *time.ci_high}, time.median);
}

bool is_predicted(const Record& record) {
  return record.verdict.rating == kPredicted || record.config.text("device").starts_with("roofline:");
}

bool has_default_key_heads(const Record& record) {
  const auto number = [&](const char* key) { return parse_double(record.config.text(key)).value_or(0); };
  const double heads = number("num_heads");
  const double kv_heads = number("num_kv_heads");
  const double width = number("head_dim");
  return (kv_heads == 0 || kv_heads == heads) && (width == 0 || width * heads == number("d_model"));
}

std::string system_of(const Record& record) {
  const std::string system = record.config.text("system");
  return system.empty() ? std::string(tagged(record.name, "system")) : system;
}

std::string config_hash(std::string_view canonical_text) { return fmt::format("{:016x}", fnv1a64(canonical_text)); }

std::string format_utc(int64_t seconds_since_epoch) {
  const std::time_t time = seconds_since_epoch;
  std::tm utc{};
  gmtime_r(&time, &utc);
  std::array<char, 64> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

}  // namespace laptime
