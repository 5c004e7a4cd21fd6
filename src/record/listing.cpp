// The columns of the listing: their SQL, and the record fields that they fill.
#include "record/listing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/proc_text.h"
#include "base/words.h"
#include "config/fields_json.h"
#include "record/metrics.h"
#include "record/sqlite.h"

namespace laptime {
namespace {

using sqlite::Statement;

// Record fields, by path, that Extent::kNames includes.
struct NameFields {
  LAPTIME_FIELDS(schema_version, name, label, status, verdict.rating, math_mode, fingerprint, binary.commit, run,
                 created)
};

// Record fields, by path, that Extent::kListed adds.
struct LineFields {
  LAPTIME_FIELDS(reason, bytes_requested, bytes_available, op, scope, sweep, tokens_per_second,
                 flops.model_flops_per_second, flops.peak_measured, flops.peak_datasheet, flops.mfu_measured,
                 flops.mfu_datasheet, flops.above_peak, memory.predicted_peak_bytes, memory.peak_bytes,
                 memory.peak_rss_bytes, memory.resident_bytes, memory.after_forward_bytes, memory.after_backward_bytes,
                 setup.total, transient.excess, verdict.lost, verdict.lost_to, stopping.rule, stopping.steps_per_sample)
};

// Configuration keys with a column each. Extent::kNames includes the first kConfigKeysOfNames of them.
constexpr std::array<const char*, 15> kConfigKeys{
    "model",     "pass",       "device",         "system",     "edition",    "dtype", "mode",   "d_model",
    "num_heads", "num_layers", "context_length", "batch_size", "vocab_size", "d_ff",  "threads"};
constexpr size_t kConfigKeysOfNames = 4;

// Columns for times: these statistics of the pass's time (Record::main_time), and the counts and medians of kPhases.
struct TimeFields {
  LAPTIME_FIELDS(count, mean, median, std, std_population, min, max, ci_low, ci_high)
};
constexpr std::array<const char*, 3> kPhases{"forward", "backward", "optimizer"};

// Fields that Extent::kWithConfig omits. This extent also omits the losses between the first and the last.
constexpr std::array<std::string_view, 10> kLeftOut{
    "kernels",        "machine",          "classes",         "host.samples",       "memory.parts",
    "memory.largest", "transient.warmup", "transient.parts", "prediction.classes", "loss_scaling.skipped"};
constexpr std::array<std::string_view, 3> kLeftOutOfTimes{"samples", "modes", "outliers"};

struct SqlColumn {
  std::string name;   // the path of a field, or another name if `value` is not a field
  std::string value;  // an SQL expression over `r.json` and `pass`, the key of the pass's time
  Extent extent = Extent::kListed;
};

// All columns of the listing, in the order in which read() reads them.
const std::vector<SqlColumn>& sql_columns() {
  static const std::vector<SqlColumn> kColumns = [] {
    std::vector<SqlColumn> columns;
    Extent extent = Extent::kNames;
    const auto add = [&](std::string name, std::string value) {
      columns.push_back({std::move(name), std::move(value), extent});
    };
    const auto add_field = [&](const std::string& path) {
      add(path, fmt::format("json_extract(r.json, '$.{}')", path));
    };
    const auto visit = [&](const char* path, const auto&) { add_field(path); };
    const Record record;
    NameFields::visit_fields(record, visit);
    for (size_t i = 0; i < kConfigKeysOfNames; ++i) add_field(fmt::format("config.{}", kConfigKeys[i]));
    extent = Extent::kListed;
    LineFields::visit_fields(record, visit);
    for (size_t i = kConfigKeysOfNames; i < kConfigKeys.size(); ++i)
      add_field(fmt::format("config.{}", kConfigKeys[i]));
    add("losses", "json_array_length(r.json, '$.loss.values')");
    add_field("loss.values[0]");
    add_field("loss.values[#-1]");
    add("times", "(SELECT count(*) FROM json_each(r.json, '$.time'))");
    add("pass_time", "pass");
    const TimeStats time;
    TimeFields::visit_fields(time, [&](const char* figure, const auto&) {
      add(fmt::format("time.PASS.{}", figure),
          fmt::format("json_extract(r.json, '$.time.\"' || pass || '\".{}')", figure));
    });
    for (const char* const phase : kPhases) {
      add_field(fmt::format("time.{}.count", phase));
      add_field(fmt::format("time.{}.median", phase));
    }
    return columns;
  }();
  return kColumns;
}

// Reads fields from the columns of a row, one after the other. Throws Error for a value that the field cannot take.
class ColumnReader {
 public:
  explicit ColumnReader(const Statement& row) : row_(row) {}

  template <class T>
  void operator()(const char*, T& field) {
    // Most values are text, real numbers or null, which need no intermediate Json.
    const int type = row_.type(column_);
    bool is_read = false;
    if (type == SQLITE_NULL) field = T();
    if constexpr (std::is_same_v<T, std::string>) {
      if (type == SQLITE_TEXT) field = row_.text(column_);
      is_read = type == SQLITE_TEXT || type == SQLITE_NULL;
    } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::optional<double>>) {
      if (type == SQLITE_FLOAT) field = row_.number(column_);
      is_read = type == SQLITE_FLOAT || (type == SQLITE_NULL && !std::is_same_v<T, double>);
    }
    if (is_read) return skip();
    fields_json::Reader("listing", "").read(value(), field);
  }
  Json value() {
    const int column = column_++;
    switch (row_.type(column)) {
      case SQLITE_INTEGER: return row_.integer(column);
      case SQLITE_FLOAT: return row_.number(column);
      case SQLITE_TEXT: return row_.text(column);
      default: return nullptr;
    }
  }
  bool is_text() const { return row_.type(column_) == SQLITE_TEXT; }
  void skip() { ++column_; }

 private:
  const Statement& row_;
  int column_ = 1;
};

// Reads the values of kConfigKeys[begin, end).
void read_config(ColumnReader& columns, Json::Object& config, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) {
    if (i == config.size()) config.push_back({kConfigKeys[i], nullptr});
    Json& value = config[i].value;
    if (value.is_string() && columns.is_text()) {
      columns("", value.text());
    } else {
      value = columns.value();
    }
  }
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

// Reads the times. Returns false if the record has times but none for the pass.
bool read_times(ColumnReader& columns, std::map<std::string, TimeStats>& times) {
  int64_t count = 0;
  std::string pass;
  columns("", count);
  columns("", pass);
  const bool has_time = !pass.empty();
  times.clear();
  TimeStats unused;
  TimeStats& time = has_time ? times[pass] : unused;
  TimeFields::visit_fields(time, [&](const char*, auto& figure) { has_time ? columns("", figure) : columns.skip(); });
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

bool is_within(std::string_view path, std::string_view group) {
  return path.starts_with(group) &&
         (path.size() == group.size() || path[group.size()] == '.' || path[group.size()] == '[');
}

Extent extent_of_path(std::string_view path) {
  for (const SqlColumn& column : sql_columns()) {
    if (path == column.name) return column.extent;
  }
  if (path == "loss.values[last]") return Extent::kListed;
  const auto is_left_out = [&](std::string_view group) { return is_within(path, group); };
  const auto is_list = [&](std::string_view list) { return is_within(path, "time") && path.find(list) != path.npos; };
  if (is_left_out("loss") || std::ranges::any_of(kLeftOut, is_left_out) ||
      std::ranges::any_of(kLeftOutOfTimes, is_list)) {
    return Extent::kWhole;
  }
  Extent extent = Extent::kWhole;
  const Record record;
  Record::visit_fields(record, [&](const char* key, const auto&) {
    if (is_within(path, key)) extent = Extent::kWithConfig;
  });
  return extent;
}

// The paths as a list of SQL strings: "'$.kernels', '$.machine'".
template <size_t size>
std::string json_paths(const std::array<std::string_view, size>& paths) {
  return fmt::format("'$.{}'", joined(paths, "', '$."));
}

bool is_valid(const Record& record) {
  return !record.name.empty() && record.schema_version >= 1 && record.schema_version <= Record::kSchemaVersion;
}

}  // namespace

Extent extent_of(std::string_view column) {
  const Metric* const metric = find_metric(column);
  if (metric == nullptr) return extent_of_path(column);
  // A metric needs the largest extent of the paths in its formula.
  Extent extent = Extent::kNames;
  for (const std::string_view word : split(metric->formula, ' ')) {
    const bool ends_condition = word.find(']') != word.npos && word.find('[') == word.npos;
    if (word.find_first_of(".[") != word.npos && !ends_condition) extent = std::max(extent, extent_of_path(word));
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
    CREATE TABLE briefs (id INTEGER PRIMARY KEY, json TEXT NOT NULL);
    CREATE VIEW shortened AS SELECT id, json_set(json_remove(json, {2}),
      '$.time', json((SELECT json_group_object(key, json_remove(value, {3})) FROM json_each(r.json, '$.time'))),
      '$.loss.values', json(CASE WHEN json_array_length(json, '$.loss.values') > 1
        THEN json_extract(json, '$.loss.values[0]', '$.loss.values[#-1]') ELSE json_extract(json, '$.loss.values') END)
      ) AS json FROM records AS r;
    CREATE TRIGGER record_added AFTER INSERT ON records BEGIN
      INSERT INTO listing SELECT * FROM listed WHERE id = NEW.id;
      INSERT INTO briefs SELECT * FROM shortened WHERE id = NEW.id;
    END;
    CREATE TRIGGER record_removed AFTER DELETE ON records BEGIN
      DELETE FROM listing WHERE id = OLD.id;
      DELETE FROM briefs WHERE id = OLD.id;
    END;
    CREATE TRIGGER record_changed AFTER UPDATE ON records BEGIN
      DELETE FROM listing WHERE id = OLD.id;
      DELETE FROM briefs WHERE id = OLD.id;
      INSERT INTO listing SELECT * FROM listed WHERE id = NEW.id;
      INSERT INTO briefs SELECT * FROM shortened WHERE id = NEW.id;
    END;
    INSERT INTO listing SELECT * FROM listed;
    INSERT INTO briefs SELECT * FROM shortened;
    CREATE INDEX listing_by_run ON listing (run);
  )sql",
                     names, values, json_paths(kLeftOut), json_paths(kLeftOutOfTimes));
}

std::string select(Extent extent) {
  const bool is_brief = extent == Extent::kWithConfig;
  std::string columns = is_brief ? ", listed.json" : "";
  for (const SqlColumn& column : sql_columns()) {
    if (!is_brief && column.extent <= extent) columns += fmt::format(", \"{}\"", column.name);
  }
  return fmt::format("SELECT ids.value{} FROM json_each(?1) AS ids LEFT JOIN {} AS listed ON listed.id = ids.value",
                     columns, is_brief ? "briefs" : "listing");
}

bool read(const Statement& row, Extent extent, Record& record) {
  try {
    if (extent == Extent::kWithConfig) {
      record = from_json<Record>(Json::parse(row.text(1)), "listing");
      return is_valid(record);
    }
    ColumnReader columns(row);
    NameFields::visit_fields(record, columns);
    Json::Object& config = record.config.json().items();
    read_config(columns, config, 0, kConfigKeysOfNames);
    if (extent == Extent::kNames || !is_valid(record)) return is_valid(record);
    LineFields::visit_fields(record, columns);
    read_config(columns, config, kConfigKeysOfNames, kConfigKeys.size());
    read_losses(columns, record.loss.values);
    return read_times(columns, record.time);
  } catch (const Error&) {
    return false;
  }
}

}  // namespace listing
}  // namespace laptime
