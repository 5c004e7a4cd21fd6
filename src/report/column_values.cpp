// Looks up values of a record by column name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <type_traits>

#include "base/error.h"
#include "base/json_path.h"
#include "base/proc_text.h"
#include "base/words.h"
#include "config/fields_json.h"
#include "config/model_presets.h"
#include "config/run_config.h"
#include "config/synonyms.h"
#include "report/columns.h"
#include "report/names.h"

namespace laptime {
namespace {

// clang-format off
constexpr std::array kShortNames{
    // These names have no help text here: they take it from a column of the default table or from an option.
    ShortName{"n", "count"}, ShortName{"tokens/s", "tokens_per_second"},
    ShortName{"peak", "peak_memory|predicted_peak_memory"}, ShortName{"mfu", "mfu_measured|mfu_datasheet"},
    ShortName{"arithmetic", "math_mode"}, ShortName{"verdict", "verdict.rating"}, ShortName{"loss", "loss.values"},
    ShortName{"forward_s", "forward_time"}, ShortName{"backward_s", "backward_time"},
    ShortName{"optimizer_s", "optimizer_time"}, ShortName{"ctx", "config.context_length"},
    ShortName{"batch", "config.batch_size"},
    ShortName{"commit", "binary.commit", "commit of the program"},
    ShortName{"forward", "forward_time", "median time of the forward phase"},
    ShortName{"backward", "backward_time", "median time of the backward phase"},
    ShortName{"resident", "resident_memory", "memory in use before a step begins"},
    ShortName{"+forward", "forward_memory", "memory retained after forward"},
    ShortName{"before_backward", "memory.after_forward_bytes", "memory in use when backward begins"},
    ShortName{"+backward", "backward_memory", "memory change over backward (may be negative)"},
    ShortName{"peak_bytes", "memory.peak_bytes", "peak bytes of live tensors"},
    ShortName{"predicted_peak_bytes", "memory.predicted_peak_bytes", "predicted peak bytes of live tensors"},
    ShortName{"peak_rss_bytes", "memory.peak_rss_bytes", "peak resident memory of the process"},
    ShortName{"median_s", "median", "median time of a sample"},
    ShortName{"mean_s", "mean", "mean time of a sample"},
    ShortName{"std_s", "std", "standard deviation of the samples"},
    ShortName{"min_s", "min", "shortest sample"},
    ShortName{"max_s", "max", "longest sample"},
    ShortName{"ci_low_s", "ci_low", "lower end of the 95 % interval of the median"},
    ShortName{"ci_high_s", "ci_high", "upper end of the 95 % interval of the median"},
    ShortName{"setup_s", "setup_time", "time before the first step"},
    ShortName{"first_steps_s", "transient_excess", "time of the first steps minus the time of as many steady steps"}};
// clang-format on

// Derived columns: their values are computed, even if the record has a key with that name.
constexpr std::string_view kPredictedColumn = "predicted";
constexpr std::string_view kSystemColumn = "system";  // laptime's own records have no such key
constexpr std::string_view kModelColumn = "model";

bool is_derived_column(std::string_view name) {
  return name == kPredictedColumn || name == kSystemColumn || name == kModelColumn;
}

std::string_view next_segment(std::string_view& path) {
  const size_t dot = path.find('.');
  const std::string_view segment = path.substr(0, dot);
  path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  return segment;
}

std::optional<size_t> index_of(std::string_view segment) {
  const std::optional<int64_t> index = parse_int64(segment);
  return index && *index >= 0 ? std::optional(static_cast<size_t>(*index)) : std::nullopt;
}

template <StatesFields T>
Json field_at(const T& object, std::string_view path);

// The value at a path within a field; the field's own value if the path is empty.
template <class T>
Json value_at(const T& field, std::string_view path, bool keeps_empty_text) {
  if (path.empty()) return fields_json::value_of(field, keeps_empty_text);
  if constexpr (StatesFields<T>) {
    return field_at(field, path);
  } else if constexpr (fields_json::kIsVector<T>) {
    const auto index = index_of(next_segment(path));
    return index && *index < field.size() ? value_at(field[*index], path, false) : Json(nullptr);
  } else if constexpr (fields_json::kIsMap<T>) {
    const auto found = field.find(std::string(next_segment(path)));
    return found != field.end() ? value_at(found->second, path, false) : Json(nullptr);
  } else if constexpr (std::is_same_v<T, JsonObject>) {
    const Json* const value = find_path(field.json(), path);
    return value == nullptr ? Json(nullptr) : *value;
  } else {
    return nullptr;
  }
}

// Like find_path() on the object's JSON, but converts only the field on the path.
template <StatesFields T>
Json field_at(const T& object, std::string_view path) {
  const std::string_view segment = next_segment(path);
  Json value = nullptr;
  T::visit_fields(object, [&]<class Name, class Field>(const Name& name, const Field& field) {
    if constexpr (std::is_same_v<Name, Option>) {
      if (name.key == segment) value = value_at(field, path, true);
    } else {
      if (segment == Key(name).name) value = value_at(field, path, false);
    }
  });
  return value;
}

// The key of the option that a bare name refers to; empty if none.
std::string_view option_key(std::string_view name) {
  std::string_view key;
  const RunConfig fresh;
  RunConfig::visit_fields(fresh, [flag = meant_flag(name), &key](const Option& option, const auto&) {
    if (option.flag == flag) key = option.key;
  });
  return key;
}

// Whether a path matches a key of the schema: "*" stands for any name, and an index may follow a list.
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
    const auto found = std::ranges::find_if(*keys, [&](const SchemaKey& key) { return matches_schema(path, key); });
    if (found != keys->end()) return *found;
  }
  return std::nullopt;
}

// Whether a value is a list of objects, which does not fit in a row. The schema decides for an empty list.
bool is_list_of_objects(const std::string& path, const Json& value) {
  if (!value.is_array()) return false;
  return value.empty() ? schema_type(path) == "list of object" : value[0].is_object();
}

void add_leaves(const Json& json, const std::string& path, std::vector<std::pair<std::string, Json>>& leaves) {
  for (const auto& [key, value] : json.items()) {
    const std::string inner = path.empty() ? key : fmt::format("{}.{}", path, key);
    if (value.is_object()) {
      add_leaves(value, inner, leaves);
    } else if (!is_list_of_objects(inner, value)) {
      leaves.emplace_back(inner, value);
    }
  }
}

std::set<std::string> known_columns(const Records& records) {
  std::set<std::string> names;
  for (const Metric& metric : metrics()) names.emplace(metric.tag);
  for (const ShortName& short_name : kShortNames) names.emplace(short_name.name);
  const RunConfig fresh;
  RunConfig::visit_fields(fresh, [&](const Option& option, const auto&) {
    names.emplace(option.flag);
    names.emplace(option.key);
  });
  for (const SchemaKey& key : schema_keys()) {
    if (key.type != "object" && key.path.find_first_of("*[") == std::string::npos) names.insert(key.path);
  }
  records.each(Extent::kWhole, [&](const Record& record) {
    for (const auto& [path, value] : leaves_of(record)) names.insert(path);
    for (const auto& [key, value] : record.config.json().items()) names.insert(key);
    constexpr size_t kEnough = 2000;
    return names.size() < kEnough;
  });
  return names;
}

// Whether a record has a value (not a group) at a bare configuration key, or at a path within config or machine.
bool has_free_column(const Record& record, std::string_view column) {
  std::string_view path = column;
  const bool is_of_machine = path.starts_with("machine.");
  if (is_of_machine || path.starts_with("config.")) next_segment(path);
  const Json* const value = find_path((is_of_machine ? record.machine : record.config).json(), path);
  return value != nullptr && !value->is_object();
}

}  // namespace

std::span<const ShortName> short_names() { return kShortNames; }

Json value_in(const TimeStats& time, std::string_view path) { return field_at(time, path); }

std::vector<std::pair<std::string, Json>> leaves_of(const Record& record) {
  std::vector<std::pair<std::string, Json>> leaves;
  add_leaves(to_json(record), "", leaves);
  return leaves;
}

std::string resolved_column(std::string_view name) {
  // "median (95 % interval)" and "speedup vs float32" are headers of the columns median and speedup.
  for (const std::string_view remark : {" (95 %", " vs "}) name = name.substr(0, name.find(remark));
  for (const ShortName& short_name : kShortNames) {
    if (short_name.name == name) return std::string(short_name.path);
  }
  if (find_metric(name) != nullptr || !schema_type(name).empty()) return std::string(name);
  const bool is_bare = name.find('.') == std::string_view::npos && name != kPredictedColumn;
  const std::string_view key = is_bare ? option_key(name) : std::string_view();
  return key.empty() ? std::string(name) : key == kModelColumn ? std::string(key) : fmt::format("config.{}", key);
}

std::string meant_word(std::string_view column, std::string_view value) {
  const std::string path = resolved_column(column);
  constexpr std::string_view kConfig = "config.";
  if (path == kModelColumn) {
    const std::string_view name = known_name(value);
    return name.empty() ? meant_value(kModelColumn, value) : std::string(name);
  }
  return path.starts_with(kConfig) ? meant_value(meant_flag(path.substr(kConfig.size())), value) : std::string(value);
}

ColumnValue::ColumnValue(std::string_view column) {
  const std::string resolved = resolved_column(column);
  for (const std::string_view part : fields_of(resolved, '|')) {
    const Metric* const metric = find_metric(part);
    const bool known = metric != nullptr || part.find('.') != std::string_view::npos || is_derived_column(part) ||
                       !schema_type(part).empty();
    const std::string_view source = known ? std::string_view() : document_source(part);
    parts_.push_back({std::string(part), metric, source.empty() ? nullptr : reader_of(source)});
  }
}

Json ColumnValue::of_part(const Part& part, const Record& record) {
  if (part.metric != nullptr) {
    const std::optional<double> figure = part.metric->read(record);
    if (!figure) return nullptr;
    const bool counts = part.metric->unit == Unit::kNone || part.metric->unit == Unit::kBytes;
    return counts && *figure == std::floor(*figure) ? Json(static_cast<int64_t>(*figure)) : Json(*figure);
  }
  if (part.path == kPredictedColumn) return is_predicted(record);
  if (part.path == kSystemColumn || part.path == kModelColumn) {
    const bool is_model = part.path == kModelColumn;
    const std::string text = is_model ? model_text(record) : system_of(record);
    return !text.empty() ? Json(text) : is_model ? Json(nullptr) : Json("laptime");
  }
  Json value = field_at(record, part.path);
  if (!value.is_null() || part.path.find('.') != std::string::npos) return value;
  if (const Json* const found = record.config.json().find(part.path); found != nullptr) return *found;
  return part.document ? part.document(record, "") : Json(nullptr);
}

Json ColumnValue::of(const Record& record) const {
  for (const Part& part : parts_) {
    Json value = of_part(part, record);
    if (!value.is_null()) return value;
  }
  return nullptr;
}

Json ColumnValue::matched(const Record& record) const {
  if (parts_.front().path != kModelColumn) return of(record);
  const std::vector<std::string> words = model_words(record);
  return words.size() > 1 ? Json(words) : of(record);
}

Extent ColumnValue::extent() const {
  Extent extent = Extent::kNames;
  for (const Part& part : parts_) {
    if (part.path == kModelColumn) continue;
    const bool bare = part.path.find('.') == std::string::npos;
    const bool is_known = part.metric != nullptr || !bare || !schema_type(part.path).empty();
    const Extent otherwise = part.document ? Extent::kWhole : Extent::kWithConfig;
    extent = std::max(extent, is_known ? extent_of(part.path) : otherwise);
  }
  return extent;
}

Json value_of(const Record& record, std::string_view column) { return ColumnValue(column).of(record); }

void check_column(std::string_view column, const Records& records, std::string_view where,
                  std::span<const std::string_view> others) {
  const std::string resolved = resolved_column(column);
  if (find_metric(column) != nullptr || resolved != column || is_derived_column(column)) return;
  if (!document_source(column).empty()) return;
  const auto key =
      std::ranges::find_if(schema_keys(), [&](const SchemaKey& one) { return matches_schema(column, one); });
  if (key != schema_keys().end()) {
    if (key->type != "object") return;
    throw Error::format("{}: '{}' is a group of columns; add a key, as in '{}.KEY' (docs/record_schema.md)", where,
                        column, column);
  }
  const bool bare = column.find('.') == std::string_view::npos;
  if (bare || column.starts_with("config.") || column.starts_with("machine.")) {
    bool none = true;
    bool found = false;
    records.each(ColumnValue(column).extent(), [&](const Record& record) {
      none = false;
      found = has_free_column(record, column);
      return !found;
    });
    if (found || none) return;
  }
  const std::set<std::string> columns = known_columns(records);
  std::vector<std::string_view> known(columns.begin(), columns.end());
  known.insert(known.end(), others.begin(), others.end());
  throw Error::format("{}: unknown column {}{} (see laptime list columns)", where, quote(column),
                      did_you_mean(column, known));
}

std::string schema_type(std::string_view path) {
  const std::optional<SchemaKey> key = find_key(path);
  return key ? key->type : "";
}

Unit unit_of(std::string_view column) {
  const std::string resolved = resolved_column(column);
  const std::string_view first = std::string_view(resolved).substr(0, resolved.find('|'));
  for (const std::string_view name : {column, first}) {
    if (const Metric* const metric = find_metric(name)) return metric->unit;
  }
  const std::optional<SchemaKey> key = find_key(first);
  return key ? key->unit : Unit::kNone;
}

}  // namespace laptime
