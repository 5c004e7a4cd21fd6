// The columns of the listing: their SQL, and the fields of a record that they fill.
#include "record/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "base/json.h"
#include "record/fields_json.h"
#include "record/metrics.h"
#include "record/sqlite.h"

namespace laptime {
namespace {

using sqlite::Statement;

// `visit(path, field)` with each field of a row that Extent::kNames has.
template <class Self, class Visit>
void visit_names(Self& record, Visit&& visit) {
  visit("schema_version", record.schema_version);
  visit("name", record.name);
  visit("label", record.label);
  visit("status", record.status);
  visit("verdict.rating", record.verdict.rating);
  visit("math_mode", record.math_mode);
  visit("fingerprint", record.fingerprint);
  visit("binary.commit", record.binary.commit);
  visit("run", record.run);
  visit("created", record.created);
}

// The fields that Extent::kListed adds.
template <class Self, class Visit>
void visit_line(Self& record, Visit&& visit) {
  visit("reason", record.reason);
  visit("bytes_requested", record.bytes_requested);
  visit("bytes_available", record.bytes_available);
  visit("op", record.op);
  visit("scope", record.scope);
  visit("sweep", record.sweep);
  visit("tokens_per_second", record.tokens_per_second);
  visit("flops.model_flops_per_second", record.flops.model_flops_per_second);
  visit("flops.peak_measured", record.flops.peak_measured);
  visit("flops.peak_datasheet", record.flops.peak_datasheet);
  visit("flops.mfu_measured", record.flops.mfu_measured);
  visit("flops.mfu_datasheet", record.flops.mfu_datasheet);
  visit("flops.above_peak", record.flops.above_peak);
  visit("memory.predicted_peak_bytes", record.memory.predicted_peak_bytes);
  visit("memory.peak_bytes", record.memory.peak_bytes);
  visit("memory.peak_rss_bytes", record.memory.peak_rss_bytes);
  visit("memory.resident_bytes", record.memory.resident_bytes);
  visit("memory.after_forward_bytes", record.memory.after_forward_bytes);
  visit("memory.after_backward_bytes", record.memory.after_backward_bytes);
  visit("setup.total", record.setup.total);
  visit("transient.excess", record.transient.excess);
  visit("verdict.lost", record.verdict.lost);
  visit("verdict.lost_to", record.verdict.lost_to);
  visit("stopping.rule", record.stopping.rule);
  visit("stopping.steps_per_sample", record.stopping.steps_per_sample);
}

// The fields that Extent::kWithConfig adds. Lists and objects are columns of JSON.
template <class Self, class Visit>
void visit_rest(Self& record, Visit&& visit) {
  visit("flops.peak_measured_at", record.flops.peak_measured_at);
  visit("host.median", record.host.median);
  visit("host.difference", record.host.difference);
  visit("memory.requested_bytes", record.memory.requested_bytes);
  visit("memory.reserved_bytes", record.memory.reserved_bytes);
  visit("loss_scaling.last", record.loss_scaling.last);
  visit("loss_scaling.skipped_steps", record.loss_scaling.skipped_steps);
  visit("setup.plan", record.setup.plan);
  visit("setup.kernel_trial", record.setup.kernel_trial);
  visit("setup.memory", record.setup.memory);
  visit("setup.weights", record.setup.weights);
  visit("setup.data", record.setup.data);
  visit("transient.page_faults", record.transient.page_faults);
  visit("transient.rest", record.transient.rest);
  visit("verdict.reasons", record.verdict.reasons);
  visit("phases", record.phases);
  visit("prediction.time", record.prediction.time);
  visit("config", record.config);
}

// Keys of the configuration that are columns of their own; rows are named by the first ones.
constexpr std::array<const char*, 15> kConfigKeys{
    "model",     "pass",       "device",         "system",     "edition",    "dtype", "mode",   "d_model",
    "num_heads", "num_layers", "context_length", "batch_size", "vocab_size", "d_ff",  "threads"};
constexpr size_t kConfigKeysOfNames = 4;

// The figures of the time of the pass (Record::main_time), and the phases whose medians are columns.
template <class Self, class Visit>
void visit_figures(Self& time, Visit&& visit) {
  visit("count", time.count);
  visit("mean", time.mean);
  visit("median", time.median);
  visit("std", time.std);
  visit("std_population", time.std_population);
  visit("min", time.min);
  visit("max", time.max);
  visit("ci_low", time.ci_low);
  visit("ci_high", time.ci_high);
}
constexpr std::array<const char*, 3> kPhases{"forward", "backward", "optimizer"};

constexpr const char* kTimesWithoutLists =
    "(SELECT json_group_object(key, json_remove(value, '$.samples', '$.modes', '$.outliers')) "
    "FROM json_each(r.json, '$.time'))";

struct SqlColumn {
  std::string name;
  std::string value;  // an expression of `r.json`, and of `pass`, the key of the time of the pass
  Extent extent = Extent::kWithConfig;
};

// In the order in which read() expects them.
const std::vector<SqlColumn>& sql_columns() {
  static const std::vector<SqlColumn> kColumns = [] {
    std::vector<SqlColumn> columns;
    const Record record;
    const auto add_field = [&](Extent extent, std::string_view path) {
      columns.push_back({std::string(path), fmt::format("json_extract(r.json, '$.{}')", path), extent});
    };
    const auto adding = [&](Extent extent) {
      return [&add_field, extent](const char* path, const auto&) { add_field(extent, path); };
    };
    const auto add_config = [&](Extent extent, std::span<const char* const> keys) {
      for (const char* const key : keys) add_field(extent, fmt::format("config.{}", key));
    };
    visit_names(record, adding(Extent::kNames));
    add_config(Extent::kNames, std::span(kConfigKeys).first(kConfigKeysOfNames));
    visit_line(record, adding(Extent::kListed));
    add_config(Extent::kListed, std::span(kConfigKeys).subspan(kConfigKeysOfNames));
    columns.push_back({"losses", "json_array_length(r.json, '$.loss.values')", Extent::kListed});
    add_field(Extent::kListed, "loss.values[0]");
    add_field(Extent::kListed, "loss.values[#-1]");
    columns.push_back({"times", "(SELECT count(*) FROM json_each(r.json, '$.time'))", Extent::kListed});
    columns.push_back({"pass_time", "pass", Extent::kListed});
    const TimeStats time;
    visit_figures(time, [&](const char* figure, const auto&) {
      columns.push_back({fmt::format("time.PASS.{}", figure),
                         fmt::format("json_extract(r.json, '$.time.\"' || pass || '\".{}')", figure), Extent::kListed});
    });
    for (const char* const phase : kPhases) {
      add_field(Extent::kListed, fmt::format("time.{}.count", phase));
      add_field(Extent::kListed, fmt::format("time.{}.median", phase));
    }
    visit_rest(record, adding(Extent::kWithConfig));
    columns.push_back({"time", kTimesWithoutLists, Extent::kWithConfig});
    return columns;
  }();
  return kColumns;
}

// Reads fields from the columns of a row, one after the other. A value that the field cannot have ends it.
class ColumnReader {
 public:
  explicit ColumnReader(const Statement& row) : row_(row) {}

  bool ok() const { return ok_; }

  template <class T>
  void operator()(const char*, T& field) {
    type_ = row_.type(column_);
    ok_ = ok_ && take(field);
    ++column_;
  }
  void skip(int columns) { column_ += columns; }

 private:
  bool take(std::string& text) {
    const bool is_text = type_ == SQLITE_TEXT;
    is_text ? text.assign(row_.text(column_)) : text.erase();
    return is_text || type_ == SQLITE_NULL;
  }
  bool take(int64_t& number) {
    number = row_.integer(column_);
    return type_ == SQLITE_INTEGER;
  }
  bool take(double& number) {
    const bool is_null = type_ == SQLITE_NULL;
    number = is_null ? std::numeric_limits<double>::quiet_NaN() : row_.number(column_);
    return is_null || type_ == SQLITE_INTEGER || type_ == SQLITE_FLOAT;
  }
  template <class T>
  bool take(std::optional<T>& value) {
    value.reset();
    return type_ == SQLITE_NULL || take(value.emplace());
  }
  bool take(Status& status) {
    const std::string_view word = type_ == SQLITE_TEXT ? row_.text(column_) : "";
    for (const auto& choice : choices_of(Status{})) {
      if (choice.name != word) continue;
      status = choice.value;
      return true;
    }
    return false;
  }
  bool take(Json& value) {
    if (type_ == SQLITE_NULL) {
      value = nullptr;
    } else if (type_ == SQLITE_INTEGER) {
      value = row_.integer(column_);
    } else if (type_ == SQLITE_TEXT) {
      if (!value.is_string()) value = std::string();
      value.text() = row_.text(column_);
    } else {
      value = row_.number(column_);
    }
    return true;
  }
  // A list or an object, as JSON.
  template <class T>
  bool take(T& value) {
    value = T();
    if (type_ == SQLITE_NULL) return true;
    try {
      fields_json::Reader("listing", "").read(Json::parse(row_.text(column_)), value, "");
    } catch (const Error&) {
      return false;
    }
    return true;
  }

  const Statement& row_;
  int column_ = 1;
  int type_ = SQLITE_NULL;  // of the value at hand
  bool ok_ = true;
};

// The value of a key of the configuration, whose keys are kConfigKeys or the first of them.
Json& config_value(Json::Object& config, size_t key) {
  if (key == config.size()) config.push_back({kConfigKeys[key], nullptr});
  return config[key].value;
}

void read_losses(ColumnReader& columns, std::vector<double>& losses) {
  std::optional<int64_t> count;
  double first = 0;
  double last = 0;
  columns("", count);
  columns("", first);
  columns("", last);
  losses.clear();
  if (count.value_or(0) >= 1) losses.push_back(first);
  if (count.value_or(0) >= 2) losses.push_back(last);
}

// False for times of which none is that of the pass.
bool read_times(ColumnReader& columns, std::map<std::string, TimeStats>& times) {
  int64_t count = 0;
  std::string pass;
  columns("", count);
  columns("", pass);
  const bool has_time = !pass.empty();
  times.clear();
  TimeStats unused;
  TimeStats& time = has_time ? times[pass] : unused;
  visit_figures(time, [&](const char*, auto& figure) { has_time ? columns("", figure) : columns.skip(1); });
  for (const char* const phase : kPhases) {
    std::optional<int64_t> samples;
    std::optional<double> median;
    columns("", samples);
    columns("", median);
    if (!has_time || pass == phase || !samples) continue;
    TimeStats& of_phase = times[phase];
    of_phase.count = *samples;
    of_phase.median = median.value_or(std::numeric_limits<double>::quiet_NaN());
  }
  return has_time || count == 0;
}

Extent extent_of_path(std::string_view path) {
  if (path.starts_with("time.")) {
    constexpr std::array<std::string_view, 3> kLists{".samples", ".modes", ".outliers"};
    const bool is_list =
        std::any_of(kLists.begin(), kLists.end(), [&](auto list) { return path.find(list) != path.npos; });
    if (is_list) return Extent::kWhole;
  }
  if (path == "loss.values[last]") return Extent::kListed;
  for (const SqlColumn& column : sql_columns()) {
    if (!path.starts_with(column.name)) continue;
    const std::string_view behind = path.substr(column.name.size());
    if (behind.empty() || behind.front() == '.' || behind.front() == '[') return column.extent;
  }
  return Extent::kWhole;
}

}  // namespace

Extent extent_of(std::string_view column) {
  const Metric* const metric = find_metric(column);
  if (metric == nullptr) return extent_of_path(column);
  // A metric is read from the paths in its formula.
  Extent extent = Extent::kNames;
  for (std::string_view rest = metric->formula; !rest.empty();) {
    const size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    const bool ends_condition = word.find(']') != word.npos && word.find('[') == word.npos;
    if (word.find_first_of(".[") != word.npos && !ends_condition) extent = std::max(extent, extent_of_path(word));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return extent;
}

namespace listing {

std::string schema() {
  std::string names;
  std::string values;
  for (const SqlColumn& column : sql_columns()) {
    names += fmt::format(", \"{}\"", column.name);
    values += fmt::format(", {}", column.value);
  }
  return fmt::format(R"sql(
    CREATE TABLE listing (id INTEGER PRIMARY KEY{0});
    CREATE VIEW listed AS SELECT id{1} FROM (
      SELECT r.id, r.json, (
        SELECT CASE count(*) WHEN 1 THEN max(key) ELSE max(CASE key WHEN json_extract(r.json, '$.config.pass') THEN key END)
        END FROM json_each(r.json, '$.time') WHERE key NOT LIKE '%"%') AS pass
      FROM records AS r) AS r;
    CREATE TRIGGER record_added AFTER INSERT ON records BEGIN
      INSERT INTO listing SELECT * FROM listed WHERE id = NEW.id;
    END;
    CREATE TRIGGER record_changed AFTER UPDATE ON records BEGIN
      DELETE FROM listing WHERE id = OLD.id;
      INSERT INTO listing SELECT * FROM listed WHERE id = NEW.id;
    END;
    CREATE TRIGGER record_removed AFTER DELETE ON records BEGIN
      DELETE FROM listing WHERE id = OLD.id;
    END;
    INSERT INTO listing SELECT * FROM listed;
    CREATE INDEX listing_by_run ON listing (run);
  )sql",
                     names, values);
}

std::string columns(Extent extent) {
  std::string names;
  for (const SqlColumn& column : sql_columns()) {
    if (column.extent <= extent) names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", column.name);
  }
  return names;
}

bool read(const Statement& row, Extent extent, Record& record) {
  ColumnReader columns(row);
  visit_names(record, columns);
  if (!columns.ok() || record.name.empty() || record.schema_version < 1 ||
      record.schema_version > Record::kSchemaVersion) {
    return false;
  }
  const bool has_line = extent >= Extent::kListed;
  const bool has_rest = extent >= Extent::kWithConfig;
  auto& config = record.config.json().items();
  if (has_rest) {
    columns.skip(kConfigKeysOfNames);
  } else {
    for (size_t i = 0; i < kConfigKeysOfNames; ++i) columns("", config_value(config, i));
  }
  if (!has_line) return columns.ok();
  visit_line(record, columns);
  for (size_t i = kConfigKeysOfNames; i < kConfigKeys.size(); ++i) {
    has_rest ? columns.skip(1) : columns("", config_value(config, i));
  }
  read_losses(columns, record.loss.values);
  if (!read_times(columns, record.time) || !columns.ok()) return false;
  if (has_rest) {
    visit_rest(record, columns);
    columns("time", record.time);
  }
  return columns.ok();
}

}  // namespace listing
}  // namespace laptime
