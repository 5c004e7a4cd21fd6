// The columns that a table has by short headers, and the default ones.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "analysis/speedup.h"
#include "report/column_sets/column_sets.h"
#include "report/column_sets/readers.h"

namespace laptime {

using namespace cells;

namespace {

std::string name_text(const Row& row, std::string_view, const CellContext& context) {
  const Record& record = row.record();
  if (context.heading != nullptr) return context.heading->short_name(record);
  return record.label.empty() ? record.name : record.label;
}

// None for a predicted time, which has no spread.
std::optional<double> doubt_of(const Row& row, std::string_view phase) {
  const TimeStats* const time = time_of(row.record(), phase);
  return time == nullptr || is_predicted(row.record()) ? std::nullopt : uncertainty_of(*time);
}

std::string plus_minus(const Row& row, std::string_view phase, const CellContext&) {
  const std::optional<double> doubt = doubt_of(row, phase);
  return doubt ? plus_minus_text(*doubt) : "";
}

// "703 ms ± 103 ms".
std::string mean_text(const Row& row, std::string_view phase, const CellContext&) {
  const TimeStats* const time = time_of(row.record(), phase);
  if (time == nullptr || time->count == 0) return "-";
  const std::string mean = value_text(time->mean, Unit::kSeconds);
  if (!time->std || is_predicted(row.record())) return mean;
  return mean + " ± " + value_text(*time->std, Unit::kSeconds);
}

// Of the sample; a predicted time has none.
Json deviation_of(const Row& row, std::string_view phase) {
  const TimeStats* const time = time_of(row.record(), phase);
  return time == nullptr || !time->std || is_predicted(row.record()) ? Json(nullptr) : Json(*time->std);
}

// "9.2575 → 0.0191", or one loss where there is no other.
std::string loss_text(const Row& row, std::string_view, const CellContext&) {
  static const ColumnValue kFirst("loss_first");
  static const ColumnValue kLast("loss_last");
  const Json first = kFirst.of(row.record());
  const Json last = kLast.of(row.record());
  if (row.record().loss.values.size() < 2 || first == last) return format_value(last, Unit::kNats);
  return format_value(first, Unit::kNats) + " → " + format_value(last, Unit::kNats);
}

std::string verdict_text(const Row& row, std::string_view, const CellContext&) {
  const std::string& rating = row.record().verdict.rating;
  return is_predicted(row.record()) || rating.empty() ? "-" : rating;
}

Json samples_of(const Row& row, std::string_view phase) {
  const TimeStats* const time = time_of(row.record(), phase);
  return time == nullptr || time->count == 0 || is_predicted(row.record()) ? Json(nullptr) : Json(time->count);
}

Column time_column(std::string title, double TimeStats::*figure, std::string_view help) {
  return {.title = std::move(title),
          .unit = Unit::kSeconds,
          .of_phase = true,
          .extent = Extent::kListed,
          .read = from_time([figure](const TimeStats& time) { return Json(time.*figure); }),
          .help = help};
}

Column plain_column(const std::string& title, Unit unit, size_t width, std::string_view help) {
  return {.title = title, .unit = unit, .extent = Extent::kListed, .width = width, .read = named(title), .help = help};
}

Column word_column(const std::string& title, size_t width, std::string_view help) {
  Column column = plain_column(title, Unit::kNone, width, help);
  column.text = true;
  return column;
}

struct Wanted {
  std::string_view title;
  int drop;  // narrow terminals hide the highest first; 0 stays
};

std::vector<Column> chosen(std::span<const Wanted> wanted) {
  std::vector<Column> columns;
  for (const Wanted& one : wanted) {
    for (Column& column : table_columns()) {
      if (column.title != one.title) continue;
      column.drop = one.drop;
      columns.push_back(std::move(column));
    }
  }
  return columns;
}

}  // namespace

std::vector<Column> table_columns() {
  std::vector<Column> columns;
  Column& name = columns.emplace_back(word_column("name", 8, "name of the row, without the parts that all rows share"));
  name.setting = true;
  name.text_of = name_text;
  Column& median = columns.emplace_back(time_column("median", &TimeStats::median, "median time of a sample"));
  median.uncertainty = doubt_of;
  Column& doubt =
      columns.emplace_back(word_column("uncertainty", 5, "half the 95 % interval of the median, as a fraction of it"));
  doubt.of_phase = true;
  doubt.extent = Extent::kListed;
  doubt.read = [](const Row& row, std::string_view phase) { return json_of(doubt_of(row, phase)); };
  doubt.text_of = plus_minus;
  Column& mean =
      columns.emplace_back(time_column("mean", &TimeStats::mean, "mean time and standard deviation of the sample"));
  mean = of_sample(std::move(mean));
  mean.text_of = mean_text;
  mean.width = 15;
  Column& deviation = columns.emplace_back(
      of_sample(time_column("std", &TimeStats::mean, "standard deviation of the samples, divided by n - 1")));
  deviation.read = deviation_of;
  columns.push_back(time_column("min", &TimeStats::min, "shortest sample"));
  columns.push_back(time_column("max", &TimeStats::max, "longest sample"));
  Column& samples = columns.emplace_back(plain_column("n", Unit::kNone, 3, "number of samples"));
  samples.of_phase = true;
  samples.read = samples_of;
  columns.push_back(plain_column("tokens/s", Unit::kTokensPerSecond, 6, "tokens of a batch over the median time"));
  columns.push_back(plain_column("peak", Unit::kBytes, 8, "most bytes of tensors alive at once"));
  columns.push_back(plain_column("mfu", Unit::kFraction, 5,
                                 "model FLOPs per second over the peak: measured, else of the data sheet"));
  Column& loss = columns.emplace_back(plain_column("loss", Unit::kNats, 15, "loss of the first and of the last step"));
  loss.read = named("loss_last");
  loss.text_of = loss_text;
  Column& verdict = columns.emplace_back(word_column("verdict", 15, "how far the time can be relied on"));
  verdict.extent = Extent::kNames;
  verdict.text_of = verdict_text;
  Column& arithmetic = columns.emplace_back(word_column("arithmetic", 17, "arithmetic of the matrix products"));
  arithmetic.read = arithmetic_of;
  Column& device = columns.emplace_back(word_column("device", 10, "device that ran it, or that it was predicted for"));
  device.setting = true;
  Column& system = columns.emplace_back(word_column("system", 8, "the program that ran the steps"));
  system.extent = Extent::kNames;
  system.setting = true;
  Column& status = columns.emplace_back(word_column("status", 6, "ok, or why there is no time"));
  status.extent = Extent::kNames;
  for (const char* const phase : {"forward", "backward", "optimizer"}) {
    Column& column =
        columns.emplace_back(plain_column(std::string(phase) + "_s", Unit::kSeconds, 6, "median time of this phase"));
    column.shown = phase;
    column.uncertainty = [phase](const Row& row, std::string_view) { return doubt_of(row, phase); };
  }
  return columns;
}

const Column* table_column(std::string_view header) {
  static const std::vector<Column> kColumns = table_columns();
  const auto found =
      std::find_if(kColumns.begin(), kColumns.end(), [&](const Column& column) { return column.title == header; });
  return found == kColumns.end() ? nullptr : &*found;
}

Column mean_alone() {
  Column mean = *table_column("mean");
  mean.text_of = nullptr;
  mean.width = 8;
  return mean;
}

std::vector<Column> default_columns() {
  constexpr std::array kWanted{Wanted{"name", 0},      Wanted{"median", 0},     Wanted{"uncertainty", 0},
                               Wanted{"forward_s", 2}, Wanted{"backward_s", 2}, Wanted{"optimizer_s", 2},
                               Wanted{"tokens/s", 3},  Wanted{"mfu", 4},        Wanted{"peak", 5}};
  return chosen(kWanted);
}

std::vector<Column> all_columns() {
  constexpr std::array kWanted{
      Wanted{"name", 0}, Wanted{"median", 0},  Wanted{"uncertainty", 0}, Wanted{"mean", 8}, Wanted{"min", 7},
      Wanted{"max", 7},  Wanted{"n", 6},       Wanted{"tokens/s", 2},    Wanted{"peak", 3}, Wanted{"mfu", 4},
      Wanted{"loss", 5}, Wanted{"verdict", 9}, Wanted{"arithmetic", 10}};
  return chosen(kWanted);
}

const Column* document_column(std::string_view header) {
  static const std::vector<Column> kColumns = [] {
    std::vector<Column> all;
    for (auto* const set : {columns_2024, columns_2025_ab, columns_2025_c, columns_2025_d, columns_2025_d_attention,
                            columns_mean_std, columns_first_steps}) {
      for (Column& column : set()) all.push_back(std::move(column));
    }
    return all;
  }();
  const auto found =
      std::find_if(kColumns.begin(), kColumns.end(), [&](const Column& column) { return column.title == header; });
  return found == kColumns.end() ? nullptr : &*found;
}

}  // namespace laptime
