// The columns that a table has by short headers, and those of the default table.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "report/column_sets/column_sets.h"
#include "report/column_sets/readers.h"

namespace laptime {

using namespace cells;

namespace {

constexpr const char* kPredictedMark = "(predicted)";

std::string name_text(const Row& row, std::string_view, const CellContext& context) {
  const Record& record = row.record();
  if (context.heading != nullptr) return context.heading->short_name(record);
  return record.label.empty() ? record.name : record.label;
}

// A time with its unit, which is left out where the whole column has one, and what stands behind it.
std::string time_text(const CellContext& context, double value, const std::string& behind) {
  const Scale scale = context.scale != nullptr ? *context.scale : *scale_of(value, Unit::kSeconds);
  return fmt::format("{}{}{}{}", format_in(scale, value, value), context.scale != nullptr ? "" : " ",
                     context.scale != nullptr ? std::string_view() : scale.name, behind);
}

// "669.2 ms (589.5 .. 870.1)": the interval has the unit of the median.
std::string median_text(const Row& row, std::string_view phase, const CellContext& context) {
  const TimeStats* const time = time_of(row.record(), phase);
  if (time == nullptr || time->count == 0) {
    return is_predicted(row.record()) && row.record().status == Status::kOk ? fmt::format("- {}", kPredictedMark) : "-";
  }
  if (is_predicted(row.record())) return time_text(context, time->median, fmt::format(" {}", kPredictedMark));
  if (!time->ci_low || !time->ci_high) return time_text(context, time->median, "");
  const Scale scale = context.scale != nullptr ? *context.scale : *scale_of(time->median, Unit::kSeconds);
  return time_text(context, time->median,
                   fmt::format(" ({} .. {})", format_in(scale, *time->ci_low, time->median),
                               format_in(scale, *time->ci_high, time->median)));
}

std::string mean_alone_text(const Row& row, std::string_view phase, const CellContext& context) {
  const TimeStats* const time = time_of(row.record(), phase);
  if (time == nullptr || time->count == 0) return "-";
  return time_text(context, time->mean, is_predicted(row.record()) ? fmt::format(" {}", kPredictedMark) : "");
}

// "703.2 ms ± 102.7 ms".
std::string mean_text(const Row& row, std::string_view phase, const CellContext& context) {
  const TimeStats* const time = time_of(row.record(), phase);
  const bool has_deviation = time != nullptr && time->std && !is_predicted(row.record());
  return mean_alone_text(row, phase, context) + (has_deviation ? " ± " + time_text(context, *time->std, "") : "");
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

std::string mfu_text(const Row& row, std::string_view, const CellContext&) {
  static const ColumnValue kMfu("mfu");
  const std::string mfu = format_value(kMfu.of(row.record()), Unit::kFraction);
  const std::string& reason = row.record().flops.above_peak;
  return reason.empty() ? mfu : fmt::format("{} ({})", mfu, reason);
}

std::string verdict_text(const Row& row, std::string_view, const CellContext&) {
  const std::string& rating = row.record().verdict.rating;
  return is_predicted(row.record()) || rating.empty() ? "-" : rating;
}

std::string device_text(const Row& row, std::string_view, const CellContext&) {
  const std::string device = format_value(row.value("device"), Unit::kNone);
  return is_predicted(row.record()) ? fmt::format("{} {}", device, kPredictedMark) : device;
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
          .width = 8,
          .read = from_time([figure](const TimeStats& time) { return Json(time.*figure); }),
          .marks_predicted = true,
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
      column.then_reason = one.title == "name";
      columns.push_back(std::move(column));
    }
  }
  return columns;
}

}  // namespace

std::vector<Column> table_columns() {
  std::vector<Column> columns;
  Column& name = columns.emplace_back(word_column("name", 16, "what the row is, less what all rows share"));
  name.setting = true;
  name.text_of = name_text;
  Column& median = columns.emplace_back(
      time_column("median", &TimeStats::median, "median time of a sample, with its 95 % interval"));
  median.remark = "(95 % interval)";
  median.text_of = median_text;
  median.bracket_width = 18;
  Column& mean =
      columns.emplace_back(time_column("mean", &TimeStats::mean, "mean time and standard deviation of the sample"));
  mean = of_sample(std::move(mean));
  mean.text_of = mean_text;
  mean.width = 20;  // of "3.113 ms (predicted)"
  Column& deviation = columns.emplace_back(
      of_sample(time_column("std", &TimeStats::mean, "standard deviation of the samples, divided by n - 1")));
  deviation.read = deviation_of;
  deviation.marks_predicted = false;
  columns.push_back(time_column("min", &TimeStats::min, "shortest sample"));
  columns.push_back(time_column("max", &TimeStats::max, "longest sample"));
  Column& samples = columns.emplace_back(plain_column("n", Unit::kNone, 3, "number of samples"));
  samples.of_phase = true;
  samples.read = samples_of;
  columns.push_back(plain_column("tokens/s", Unit::kTokensPerSecond, 8, "tokens of a batch over the median time"));
  columns.push_back(plain_column("peak", Unit::kBytes, 9, "most bytes of tensors alive at once"));
  Column& mfu = columns.emplace_back(plain_column(
      "mfu", Unit::kFraction, 6, "model FLOPs per second over the peak: measured, else of the data sheet"));
  mfu.text_of = mfu_text;
  Column& loss = columns.emplace_back(plain_column("loss", Unit::kNats, 15, "loss of the first and of the last step"));
  loss.read = named("loss_last");
  loss.text_of = loss_text;
  Column& verdict = columns.emplace_back(word_column("verdict", 15, "whether the time is to be believed"));
  verdict.extent = Extent::kNames;
  verdict.text_of = verdict_text;
  Column& arithmetic = columns.emplace_back(word_column("arithmetic", 17, "in which arithmetic matrix products ran"));
  arithmetic.read = arithmetic_of;
  Column& device = columns.emplace_back(word_column("device", 10, "what ran it, or what it was predicted for"));
  device.text_of = device_text;
  device.marks_predicted = true;
  device.setting = true;
  Column& system = columns.emplace_back(word_column("system", 8, "the program that ran the steps"));
  system.extent = Extent::kNames;
  system.setting = true;
  Column& status = columns.emplace_back(word_column("status", 6, "ok, or why there is no time"));
  status.extent = Extent::kNames;
  return columns;
}

const Column* table_column(std::string_view header) {
  static const std::vector<Column> kColumns = table_columns();
  const auto found = std::find_if(kColumns.begin(), kColumns.end(), [&](const Column& column) {
    return column.title == header || column.header() == header;
  });
  return found == kColumns.end() ? nullptr : &*found;
}

Column mean_alone() {
  Column mean = *table_column("mean");
  mean.text_of = mean_alone_text;
  mean.width = 9;
  return mean;
}

std::vector<Column> default_columns() {
  constexpr std::array kWanted{Wanted{"name", 0},     Wanted{"median", 0},  Wanted{"n", 5},
                               Wanted{"tokens/s", 3}, Wanted{"peak", 1},    Wanted{"mfu", 4},
                               Wanted{"loss", 7},     Wanted{"verdict", 2}, Wanted{"arithmetic", 6}};
  return chosen(kWanted);
}

std::vector<Column> all_columns() {
  constexpr std::array kWanted{Wanted{"name", 0}, Wanted{"median", 0}, Wanted{"mean", 0},     Wanted{"min", 0},
                               Wanted{"max", 0},  Wanted{"n", 0},      Wanted{"tokens/s", 0}, Wanted{"peak", 0},
                               Wanted{"mfu", 0},  Wanted{"loss", 0},   Wanted{"verdict", 0},  Wanted{"arithmetic", 0}};
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
