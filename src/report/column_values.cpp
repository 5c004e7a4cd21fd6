// Looks up values of a record by column name.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <type_traits>

#include "analysis/finding.h"
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
    // A name without a help text here uses the text of its column in the default table, its option or its metric.
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
    ShortName{"median_s", "median"}, ShortName{"mean_s", "mean"},
    ShortName{"std_s", "std", "standard deviation of the samples"},
    ShortName{"min_s", "min"}, ShortName{"max_s", "max"}, ShortName{"ci_low_s", "ci_low"}, ShortName{"ci_high_s", "ci_high"},
    ShortName{"setup_s", "setup_time", "time before the first step"},
    ShortName{"first_steps_s", "transient_excess", "time of the first steps minus the time of as many steady steps"}};
// clang-format on

constexpr std::array<RatioColumn, 6> kRatioColumns{{{"speedup", &Speedups::speedup},
                                                    {"speedup_low", &Speedups::speedup, &Interval::low},
                                                    {"speedup_high", &Speedups::speedup, &Interval::high},
                                                    {"gain", &Speedups::gain},
                                                    {"gain_low", &Speedups::gain, &Interval::low},
                                                    {"gain_high", &Speedups::gain, &Interval::high}}};

// ---- Computed values

Json model(const Record& record, std::string_view) {
  const std::string text = model_text(record);
  return text.empty() ? Json(nullptr) : Json(text);
}

// A short form of the arithmetic that was used: "float32", "float32 split", "bfloat16 autocast".
Json arithmetic(const Record& record, std::string_view) {
  // Phrases in math_mode (prepare/prepare.h) and their short forms. Records of other programs may contain other text.
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kShort{
      {{", some products of three bfloat16 terms", " partly split"},
       {", products of three bfloat16 terms", " split"},
       {", some float32 products of three bfloat16 terms", ", float32 partly split"},
       {", float32 products of three bfloat16 terms", ", float32 split"},
       {", factors widened to float32", " widened"},
       {", float32 accumulation", ""},
       {", denormals in products are zero", ""},
       {", predicted", ""}}};
  std::string text = record.math_mode;
  if (text.empty()) return nullptr;
  for (const auto& [part, short_part] : kShort) {
    if (const size_t at = text.find(part); at != std::string::npos) text.replace(at, part.size(), short_part);
  }
  return text;
}

// The number of samples taken, or the number of steps requested if none were taken.
Json steps(const Record& record, std::string_view) {
  return record.main_time() != nullptr ? Json(record.main_time()->count) : value_of(record, "steps");
}

// "compile", followed by the composites that were chosen: "compile -scaled_dot_product_attention".
Json mode(const Record& record, std::string_view) {
  const std::string chosen = chosen_composites(record);
  return record.config.text("mode") + (chosen.empty() ? "" : " " + chosen);
}

// A boolean as the source documents write it.
Json truth(bool value) { return value ? "True" : "False"; }

Json forward_only(const Record& record, std::string_view) {
  const std::string pass = record.config.text("pass");
  return truth(pass == "forward" || pass == "inference");
}

constexpr std::string_view kModelColumn = "model";
constexpr std::array kDerived{
    Derived{kModelColumn, model, Extent::kNames},
    Derived{"predicted", [](const Record& r, std::string_view) { return Json(is_predicted(r)); }, Extent::kNames},
    Derived{"system",
            [](const Record& r, std::string_view) { return Json(system_of(r).empty() ? "laptime" : system_of(r)); },
            Extent::kNames},
    Derived{"=uncertainty",
            [](const Record& record, std::string_view phase) { return or_null(uncertainty_of(record, phase)); },
            Extent::kListed},
    Derived{"=arithmetic", arithmetic, Extent::kNames}, Derived{"=steps", steps, Extent::kWithConfig},
    Derived{"=mode", mode, Extent::kWithConfig}, Derived{"=forward_only", forward_only, Extent::kNames},
    Derived{"=compiled",
            [](const Record& record, std::string_view) { return truth(record.config.text("mode") == "compile"); },
            Extent::kListed},
    // Timed runs never record allocations, because recording takes time and the plan states the memory.
    Derived{"=never", [](const Record&, std::string_view) { return truth(false); }, Extent::kNames}};

// ---- Paths

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

// Like find_path() on the object's JSON, but converts only the top-level field on the path.
template <StatesFields T>
Json field_at(const T& object, std::string_view path) {
  const std::string_view segment = next_segment(path);
  Json value = nullptr;
  T::visit_fields(object, [&]<class Field>(const Key& key, const Field& field) {
    if (key.name != segment) return;
    const auto read = [&](const Json& json) {
      const Json* const found = path.empty() ? &json : find_path(json, path);
      if (found != nullptr) value = *found;
    };
    if constexpr (std::is_same_v<Field, JsonObject>) {
      read(field.json());
    } else {
      read(fields_json::value_of(field));
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

// Whether a value is a list of objects, which does not fit in a row. For an empty list, the schema decides.
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
  for (const RatioColumn& ratio : kRatioColumns) names.emplace(ratio.name);
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
std::span<const RatioColumn> ratio_columns() { return kRatioColumns; }

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
  const bool is_derived = find_in(kDerived, name, &Derived::name) != nullptr;
  if (is_derived || find_metric(name) != nullptr || !schema_type(name).empty()) return std::string(name);
  const bool is_bare = name.find('.') == std::string_view::npos;
  const std::string_view key = is_bare ? option_key(name) : std::string_view();
  if (!key.empty()) return key == kModelColumn ? std::string(key) : fmt::format("config.{}", key);
  const std::optional<std::string_view> source = header_source(name);
  return source && *source != name ? resolved_column(*source) : std::string(name);
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

ColumnValue::ColumnValue(std::string_view column)
    : ratio_(find_in(kRatioColumns, column == "speed-up" ? "speedup" : column.substr(0, column.find(" vs ")),
                     &RatioColumn::name)) {
  if (ratio_ != nullptr) extent_ = ratio_->end == nullptr ? Extent::kWithConfig : Extent::kWhole;  // ends need samples
  const std::string resolved = resolved_column(column);
  for (const std::string_view source : fields_of(resolved, '|')) {
    const size_t colon = source.find(':');
    Part& part = parts_.emplace_back();
    part.path = source.substr(colon == std::string_view::npos ? 0 : colon + 1);
    Extent extent = Extent::kWithConfig;
    if (colon != std::string_view::npos) {
      part.phase = source.substr(0, colon);
      extent = extent_of(colon == 0 ? part.path : fmt::format("time.{}.{}", *part.phase, part.path));
    } else if (part.derived = find_in(kDerived, source, &Derived::name); part.derived != nullptr) {
      extent = part.derived->extent;
    } else {
      part.metric = find_metric(source);
      const bool is_bare = source.find('.') == std::string_view::npos;
      if (part.metric != nullptr || !is_bare || !schema_type(source).empty()) extent = extent_of(source);
    }
    if (ratio_ == nullptr) extent_ = std::max(extent_, extent);
  }
}

Json ColumnValue::of_part(const Part& part, const Record& record, std::string_view phase) {
  if (part.derived != nullptr) return part.derived->read(record, phase);
  if (part.phase) {
    const TimeStats* const time = time_of(record, part.phase->empty() ? phase : *part.phase);
    const bool is_of_samples = part.path.starts_with("std") || part.path == "count";  // predicted times have no samples
    return time == nullptr || (is_of_samples && is_predicted(record)) ? Json(nullptr) : field_at(*time, part.path);
  }
  if (part.metric != nullptr) {
    const std::optional<double> figure = part.metric->read(record);
    if (!figure) return nullptr;
    const bool counts = part.metric->unit == Unit::kNone || part.metric->unit == Unit::kBytes;
    return counts && *figure == std::floor(*figure) ? Json(static_cast<int64_t>(*figure)) : Json(*figure);
  }
  Json value = field_at(record, part.path);
  if (!value.is_null() || part.path.find('.') != std::string::npos) return value;
  const Json* const option = record.config.json().find(part.path);
  return option == nullptr ? Json(nullptr) : *option;
}

Json ColumnValue::of(const Record& record, std::string_view phase, const Speedups* speedups) const {
  if (ratio_ != nullptr) {
    const std::optional<Speedup> ratio = speedups == nullptr ? std::nullopt : (speedups->*ratio_->ratio)(record, phase);
    return !ratio ? Json(nullptr) : Json(ratio_->end == nullptr ? ratio->value : ratio->interval.*ratio_->end);
  }
  for (const Part& part : parts_) {
    Json value = of_part(part, record, phase);
    if (!value.is_null()) return value;
  }
  return nullptr;
}

Json ColumnValue::matched(const Record& record, const Speedups* speedups) const {
  if (parts_.front().path != kModelColumn) return of(record, "", speedups);
  const std::vector<std::string> words = model_words(record);
  return words.size() > 1 ? Json(words) : of(record);
}

Json value_of(const Record& record, std::string_view column) { return ColumnValue(column).of(record); }

void check_column(std::string_view column, const Records& records, std::string_view where,
                  std::span<const std::string_view> others) {
  const bool is_derived = find_in(kDerived, column, &Derived::name) != nullptr && !column.starts_with('=');
  const ColumnValue value(column);
  if (is_derived || value.ratio() != nullptr || find_metric(column) != nullptr || resolved_column(column) != column)
    return;
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
    records.each(value.extent(), [&](const Record& record) {
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
  if (const Metric* const metric = find_metric(first)) return metric->unit;
  const std::optional<SchemaKey> key = find_key(first);
  return key ? key->unit : Unit::kNone;
}

}  // namespace laptime
