// Columns of a record, found by name.
#include "report/row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "base/words.h"
#include "record/fields_json.h"
#include "report/text.h"

namespace laptime {
namespace {

constexpr std::array kShortNames{
    ShortName{"ctx", "config.context_length"}, ShortName{"context", "config.context_length"},
    ShortName{"batch", "config.batch_size"},   ShortName{"vocab", "config.vocab_size"},
    ShortName{"layers", "config.num_layers"},  ShortName{"heads", "config.num_heads"},
    ShortName{"verdict", "verdict.rating"},    ShortName{"commit", "binary.commit"},
    ShortName{"loss", "loss.values"},          ShortName{"peak_bytes", "memory.peak_bytes"},
    ShortName{"model", "config.model"},        ShortName{"edition", "config.edition"},
    ShortName{"pass", "config.pass"},          ShortName{"dtype", "config.dtype"},
    ShortName{"mode", "config.mode"},          ShortName{"device", "config.device"},
    ShortName{"threads", "config.threads"},    ShortName{"warmup", "config.warmup"},
    ShortName{"steps", "config.steps"},        ShortName{"seed", "config.seed"},
    ShortName{"optimizer", "config.optimizer"}};

std::string_view next_segment(std::string_view& path) {
  const size_t dot = path.find('.');
  const std::string_view segment = path.substr(0, dot);
  path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  return segment;
}

std::optional<size_t> index_of(std::string_view segment) {
  size_t index = 0;
  const auto [end, error] = std::from_chars(segment.data(), segment.data() + segment.size(), index);
  return error == std::errc() && end == segment.data() + segment.size() ? std::optional(index) : std::nullopt;
}

// The value at a dotted path; null pointer where there is none.
const Json* at_path(const Json& json, std::string_view path) {
  const Json* value = &json;
  while (!path.empty()) {
    const std::string_view segment = next_segment(path);
    if (value->is_object()) {
      const auto found = value->find(segment);
      if (found == value->end()) return nullptr;
      value = &*found;
    } else if (value->is_array()) {
      const auto index = index_of(segment);
      if (!index || *index >= value->size()) return nullptr;
      value = &(*value)[*index];
    } else {
      return nullptr;
    }
  }
  return value;
}

std::string_view path_of_short_name(std::string_view column) {
  for (const ShortName& short_name : kShortNames) {
    if (short_name.name == column) return short_name.path;
  }
  return {};
}

// Whether the schema states this path: "*" matches any name, and an index may follow a list.
bool matches_schema(std::string_view path, const SchemaKey& key) {
  std::string_view pattern = key.path;
  while (!path.empty() && !pattern.empty()) {
    std::string_view expected = next_segment(pattern);
    const std::string_view segment = next_segment(path);
    const bool element = expected.ends_with("[]");
    if (element) expected.remove_suffix(2);
    if (expected != "*" && expected != segment) return false;
    if (element && !index_of(next_segment(path))) return false;
  }
  if (!pattern.empty()) return false;
  return path.empty() || (key.type.starts_with("list of") && index_of(path));
}

std::optional<SchemaKey> find_key(std::string_view path) {
  for (const std::vector<SchemaKey>* const keys : {&schema_keys(), &machine_keys()}) {
    for (const SchemaKey& key : *keys) {
      if (matches_schema(path, key)) return key;
    }
  }
  return std::nullopt;
}

bool is_free(std::string_view column) { return column.starts_with("config.") || column.starts_with("machine."); }

void add_leaves(const Json& json, const std::string& path, std::vector<std::string>& names) {
  for (const auto& [key, value] : json.items()) {
    const std::string inner = fmt::format("{}.{}", path, key);
    if (value.is_object()) {
      add_leaves(value, inner, names);
    } else {
      names.push_back(inner);
    }
  }
}

// Every name that could have been meant.
std::vector<std::string> known_columns(std::span<const Row> rows) {
  std::vector<std::string> names;
  for (const Metric& metric : metrics()) names.emplace_back(metric.tag);
  for (const ShortName& short_name : kShortNames) names.emplace_back(short_name.name);
  for (const SchemaKey& key : schema_keys()) {
    if (key.type != "object" && key.path.find_first_of("*[") == std::string::npos) names.push_back(key.path);
  }
  for (const Row& row : rows) {
    const Json& json = row.json();
    for (const char* group : {"config", "machine", "time"}) add_leaves(json[group], group, names);
    for (const auto& [key, value] : json["config"].items()) names.push_back(key);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

std::span<const ShortName> short_names() { return kShortNames; }

std::vector<Row> rows_of(std::span<const Record> records) {
  std::vector<Row> rows;
  rows.reserve(records.size());
  for (const Record& record : records) rows.emplace_back(record);
  return rows;
}

Row::Row(const Record& record) : record_(&record), json_(to_json(record)) {}

Json Row::value(std::string_view column) const {
  if (const Metric* metric = find_metric(column)) {
    const std::optional<double> figure = metric->read(*record_);
    return figure ? Json(*figure) : Json(nullptr);
  }
  const std::string_view path = path_of_short_name(column);
  const Json* value = at_path(json_, path.empty() ? column : path);
  if (value == nullptr && column.find('.') == std::string_view::npos) value = at_path(json_["config"], column);
  return value == nullptr ? Json(nullptr) : *value;
}

void check_column(std::string_view column, std::span<const Row> rows, std::string_view where,
                  std::span<const std::string_view> others) {
  if (find_metric(column) != nullptr || !path_of_short_name(column).empty()) return;
  for (const SchemaKey& key : schema_keys()) {
    if (!matches_schema(column, key)) continue;
    if (key.type != "object") return;
    throw Error::format("{}: '{}' is a group of columns; add a key to it, as in '{}.KEY' (docs/record_schema.md)",
                        where, column, column);
  }
  const bool bare = column.find('.') == std::string_view::npos;
  if (rows.empty() && (bare || is_free(column))) return;
  for (const Row& row : rows) {
    const Json* value = is_free(column) ? at_path(row.json(), column) : nullptr;
    if (bare) value = at_path(row.json()["config"], column);
    if (value != nullptr && !value->is_object()) return;
  }
  const std::vector<std::string> columns = known_columns(rows);
  std::vector<std::string_view> known(columns.begin(), columns.end());
  known.insert(known.end(), others.begin(), others.end());
  throw Error::format("{}: unknown column {}{} (docs/record_schema.md and `laptime list metrics` name them)", where,
                      quote(column), did_you_mean(column, known));
}

std::string schema_type(std::string_view path) {
  const std::optional<SchemaKey> key = find_key(path);
  return key ? key->type : "";
}

Unit unit_of(std::string_view column) {
  if (const Metric* metric = find_metric(column)) return metric->unit;
  const std::string_view path = path_of_short_name(column);
  const std::optional<SchemaKey> key = find_key(path.empty() ? column : path);
  return key ? key->unit : Unit::kNone;
}

std::string format_value(const Json& value, Unit unit) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_number()) return ascii_text(value);
  const auto number = value.get<double>();
  switch (unit) {
    case Unit::kSeconds: return format_seconds(number);
    case Unit::kBytes: return std::fabs(number) < 9e18 ? format_bytes(std::llround(number)) : value.dump();
    case Unit::kFraction: return fmt::format("{:.1f} %", number * 100);
    case Unit::kRatio: return fmt::format("{:.2f}x", number);
    case Unit::kFlops: return format_flops(number);
    case Unit::kBytesPerSecond: return format_count(number) + "B/s";
    case Unit::kFlopsPerSecond: return format_flops(number) + "/s";
    case Unit::kTokensPerSecond: return fmt::format("{:.0f}", number);
    case Unit::kNats: return fmt::format("{:.4f}", number);
    case Unit::kNone: break;
  }
  return value.is_number_float() ? fmt::format("{:.6g}", number) : value.dump();
}

}  // namespace laptime
