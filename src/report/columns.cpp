// Parses column lists; reads columns that compare rows; determines the extent that tables need, and the order of rows.
#include "report/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <numeric>

#include "base/error.h"
#include "base/words.h"
#include "distribution/median.h"
#include "report/point_text.h"

namespace laptime {
namespace {

// The default columns of files: first the configuration, then the results.
constexpr std::string_view kConfiguration =
    "name,label,status,predicted,system,device,threads,pass,mode,dtype,model,edition,d_model,d_ff,num_layers,num_heads,"
    "vocab_size,context_length,batch_size,recompute,lower,keep,float32_precision,optimizer,seed";
constexpr std::string_view kResults =
    "count,median_s,mean_s,std_s,min_s,max_s,ci_low_s,ci_high_s,forward_s,backward_s,optimizer_s,tokens_per_second,mfu,"
    "peak_bytes,predicted_peak_bytes,peak_rss_bytes,loss_first,loss_last,setup_s,first_steps_s,verdict,arithmetic,"
    "reason,fingerprint,commit,created,sweep,run";

// Appends a column unless one of the first `earlier` columns has the same title, unit and note.
void add_once(std::vector<Column>& columns, size_t earlier, Column column) {
  const auto end = columns.begin() + static_cast<std::ptrdiff_t>(earlier);
  const bool is_new = std::none_of(columns.begin(), end, [&](const Column& other) {
    return other.title == column.title && other.unit == column.unit && other.note == column.note;
  });
  if (is_new) columns.push_back(std::move(column));
}

Column column_by_name(std::string_view name, const Records& records) {
  if (std::optional<Column> known = table_column(name)) return *known;
  std::vector<std::string_view> others;
  for (const ColumnSet& set : column_sets()) {
    others.push_back(set.name);
    if (!set.alias.empty()) others.push_back(set.alias);
  }
  check_column(name, records, "--columns", others);
  const ColumnValue value(name);
  const std::string resolved = resolved_column(name);
  bool text = false;
  const std::string type = find_metric(resolved) != nullptr ? "number" : schema_type(resolved);
  if (type != "number" && type != "integer") {
    records.each(value.extent(), [&](const Record& record) {
      text = value.of(record).is_string();
      return !text;
    });
  }
  return plain_column(name, text);
}

struct SortKey {
  std::string column;
  bool is_descending = false;
};

// Parses "COLUMN[:asc|:desc]"; `where` is the prefix of an error message.
SortKey sort_key(std::string_view text, std::string_view where, bool is_descending) {
  const size_t colon = text.rfind(':');
  const std::string_view direction = colon == std::string_view::npos ? "" : text.substr(colon + 1);
  if (colon != std::string_view::npos && direction != "asc" && direction != "desc")
    throw Error::format("{}: unknown direction {}; write COLUMN, COLUMN:asc or COLUMN:desc", where, quote(direction));
  return {std::string(text.substr(0, colon)), direction.empty() ? is_descending : direction == "desc"};
}

// Numbers sort before all other values, which are ordered by their text.
bool value_before(const Json& a, const Json& b) {
  if (a.is_string() && b.is_string()) return a.text() < b.text();
  if (a.is_number() && b.is_number()) return a.get<double>() < b.get<double>();
  if (a.is_number() != b.is_number()) return a.is_number();
  return plain_text(a) < plain_text(b);
}

// Orders rows of values; a row without a value comes last.
std::vector<size_t> sorted(const std::vector<std::vector<Json>>& rows, const std::vector<SortKey>& keys) {
  std::vector<size_t> positions(rows.size());
  std::iota(positions.begin(), positions.end(), size_t{0});
  std::ranges::stable_sort(positions, [&](size_t a, size_t b) {
    for (size_t k = 0; k < keys.size(); ++k) {
      const Json& left = rows[a][k];
      const Json& right = rows[b][k];
      if (left.is_null() != right.is_null()) return right.is_null();
      if (left.is_null()) continue;
      if (value_before(left, right)) return !keys[k].is_descending;
      if (value_before(right, left)) return keys[k].is_descending;
    }
    return false;
  });
  return positions;
}

}  // namespace

Column plain_column(std::string_view name, bool is_text) {
  constexpr std::array<std::string_view, 4> kSettings{"model", "system", "name", "label"};
  const ColumnValue value(name);
  const std::string resolved = resolved_column(name);
  return {.title = std::string(name),
          .unit = unit_of(name),
          .text = is_text,
          .setting = resolved.starts_with("config.") || is_among(resolved, kSettings),
          .extent = value.extent(),
          .width = 12,
          .value = value,
          .note = resolved == "std_population" ? kPopulationNote : std::string_view()};
}

TableCell Column::cell(const Record& record, std::string_view phase, const Heading* heading) const {
  TableCell cell(read(record, phase));
  const RatioColumn* const ratio = value.ratio();
  if (ratio != nullptr && ratio->end == nullptr)
    cell.text = speedup_text((speedups.get()->*ratio->ratio)(record, phase));
  if (text_of != nullptr) cell.text = text_of(record, phase, heading);
  if (text_of != nullptr && cell.text.empty()) cell.text += ' ';
  if (uncertain_phase)
    cell.uncertainty = uncertainty_of(record, uncertain_phase->empty() ? phase : *uncertain_phase).value_or(0);
  return cell;
}

std::string speedup_text(const std::optional<Speedup>& speedup) {
  if (!speedup) return "-";
  const auto& [low, high] = speedup->interval;
  if (low == high) return speedup->value == 1 ? "1x" : value_text(speedup->value, Unit::kRatio);
  return ratio_with_interval(speedup->value, low, high);
}

std::vector<Column> columns_of(std::string_view list, const Records& records) {
  constexpr size_t kMaxColumns = 200;
  std::vector<Column> columns;
  std::shared_ptr<Speedups> speedups;
  bool has_phases = false;
  for (const std::string_view name : fields_of(list, ',')) {
    const size_t earlier = columns.size();
    if (const ColumnSet* const set = find_column_set(name)) {
      for (Column& column : set->columns()) add_once(columns, earlier, std::move(column));
      has_phases = has_phases || set->has_phases;
    } else if (const ColumnValue value(name); value.ratio() != nullptr) {
      if (speedups == nullptr) speedups = std::make_shared<Speedups>(speedups_of(records, Extent::kWhole));
      add_once(columns, earlier,
               {.title = std::string(value.ratio()->name),
                .unit = Unit::kRatio,
                .of_phase = true,
                .width = 17,
                .value = value,
                .speedups = speedups});
    } else {
      add_once(columns, earlier, column_by_name(name, records));
    }
    if (columns.size() > kMaxColumns) throw Error::format("--columns: more than {} columns; give fewer", kMaxColumns);
  }
  // Phases get rows only if a column set asks for them.
  for (Column& column : columns) column.of_phase = column.of_phase && has_phases;
  return columns;
}

std::vector<Column> data_columns(std::string_view list, const Records& records, std::string_view mfu) {
  constexpr std::string_view kDefault = "default";
  std::vector<Column> columns;
  if (list.substr(0, list.find(',')) == kDefault) {
    for (const std::string_view names : {kConfiguration, kResults}) {
      for (const std::string_view name : fields_of(names, ',')) {
        const ColumnValue value(name);
        columns.push_back({.title = std::string(name), .extent = value.extent(), .drop = 1, .value = value});
      }
    }
    if (list.size() > kDefault.size())
      std::ranges::move(columns_of(list.substr(kDefault.size() + 1), records), std::back_inserter(columns));
  } else {
    columns = columns_of(list, records);
  }
  share_peak_by(mfu, columns, records);
  return columns;
}

void share_peak_by(std::string_view metric, std::vector<Column>& columns, const Records& records) {
  const auto share = std::ranges::find(columns, "mfu", &Column::title);
  if (share == columns.end() || metric == share->title) return;
  if (find_in(columns, metric, &Column::title) != nullptr) {
    columns.erase(share);
    return;
  }
  Column other = columns_of(metric, records).front();
  other.shown = peak_share_words(metric);
  other.drop = share->drop;
  *share = std::move(other);
}

std::vector<std::string_view> configuration_columns() { return fields_of(kConfiguration, ','); }

void add_baseline(std::span<const Column> columns, const Record& record) {
  for (const Column& column : columns) {
    if (column.speedups != nullptr) column.speedups->add(record);
  }
}

bool have_late_baselines(std::span<const Column> columns) {
  return std::ranges::any_of(
      columns, [](const Column& column) { return column.speedups != nullptr && column.speedups->are_late(); });
}

Speedups speedups_of(const Records& records, Extent extent) {
  Speedups speedups;
  records.all(Extent::kWithConfig,
              [&](const Record& record) { speedups.plan(record, records.are_of_one_command() ? "" : record.run); });
  records.all(extent, [&](const Record& record) { speedups.add(record); });
  return speedups;
}

bool have_summary(std::string_view list) { return is_among("prediction", fields_of(list, ',')); }

// "16 predicted times: median error 6.1 %, at most 14.0 %; memory error at most 0.10 %". Empty if no record has both a
// predicted and a measured time.
std::string summary_of_columns(std::string_view list, const Records& records) {
  std::vector<double> times;
  std::optional<double> bytes;
  if (!have_summary(list)) return "";
  records.all(Extent::kWhole, [&](const Record& record) {
    if (const auto error = find_metric("prediction_error")->read(record)) times.push_back(std::abs(*error));
    if (const auto error = find_metric("peak_error")->read(record))
      bytes = std::max(bytes.value_or(0), std::abs(*error));
  });
  if (times.empty()) return "";
  const std::string text =
      fmt::format("{}: median error {} %, at most {} %", counted(times.size(), "predicted time"),
                  fixed_text(100 * median(times), 1), fixed_text(100 * *std::ranges::max_element(times), 1));
  return bytes ? fmt::format("{}; memory error at most {} %", text, fixed_text(100 * *bytes, 2)) : text;
}

Extent extent_of_columns(std::span<const Column> columns, Extent least) {
  for (const Column& column : columns) least = std::max(least, column.extent);
  return least;
}

std::vector<size_t> sorted_positions(const Records& records, std::string_view order) {
  constexpr size_t kMaxKeys = 16;
  std::vector<SortKey> keys;
  std::vector<ColumnValue> readers;
  Extent extent = Extent::kNames;
  Extent compared = Extent::kNames;
  for (const std::string_view part : order.empty() ? std::vector<std::string_view>() : fields_of(order, ',')) {
    if (keys.size() == kMaxKeys) throw Error::format("--sort: more than {} columns; give fewer", kMaxKeys);
    const std::string& column = keys.emplace_back(sort_key(part, "--sort", false)).column;
    if (column.empty()) throw Error("--sort: expected a column; write COLUMN, COLUMN:asc or COLUMN:desc");
    check_column(column, records, "--sort");
    const ColumnValue& reader = readers.emplace_back(column);
    extent = std::max(extent, reader.extent());
    if (reader.ratio() != nullptr) compared = std::max(compared, reader.extent());
  }
  const Speedups speedups = compared > Extent::kNames ? speedups_of(records, compared) : Speedups();
  std::vector<std::vector<Json>> rows;
  records.all(extent, [&](const Record& record) {
    rows.push_back(mapped(readers, [&](const ColumnValue& reader) { return reader.of(record, "", &speedups); }));
  });
  return sorted(rows, keys);
}

std::vector<Record> sort_records(std::span<const Record> records, std::string_view order, bool are_of_one_command) {
  return mapped(sorted_positions(RecordList(records, are_of_one_command), order),
                [&](size_t position) { return records[position]; });
}

std::vector<size_t> row_order(const Table& table, std::string_view order, bool is_descending_by_default) {
  const SortKey key = sort_key(order, "--sort", is_descending_by_default);
  const auto found = std::ranges::find_if(table.columns, [&](const TableColumn& one) {
    return one.key == key.column || (!one.title.empty() && lowered(one.title) == lowered(key.column));
  });
  if (found == table.columns.end()) {
    std::vector<std::string_view> known;
    for (const TableColumn& one : table.columns) known.insert(known.end(), {one.key, one.title});
    throw Error::format("--sort: table '{}' has no column {}{}", table.name, quote(key.column),
                        did_you_mean(key.column, known));
  }
  const auto column = static_cast<size_t>(found - table.columns.begin());
  return sorted(mapped(table.rows, [&](const TableRow& row) { return std::vector{row.cells[column].value}; }), {key});
}

}  // namespace laptime
