// Tables of a store with device measurements: kernel choices, launch costs, peaks.
#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/words.h"
#include "record/sqlite.h"
#include "record/store.h"

namespace laptime {
namespace {

using sqlite::Database;
using sqlite::Statement;

void take(const Statement& row, int column, std::string& field) { field = row.text(column); }
void take(const Statement& row, int column, int64_t& field) { field = row.integer(column); }
void take(const Statement& row, int column, double& field) { field = row.number(column); }

// A field keeps its default if the table has an older schema without the field's column.
template <class T>
T value_of(const Statement& row) {
  T value;
  T::visit_fields(value, [&](const Key& key, auto& field) {
    if (const std::optional<int> column = row.column(key.name)) take(row, *column, field);
  });
  return value;
}

// Empty for a file with an older schema that lacks the table, or whose table does not name devices.
template <class T>
std::vector<T> values_of(Database& database, std::string_view device) {
  std::vector<T> values;
  if (!database.has_column(T::kTable, "device")) return values;
  Statement rows(database, fmt::format("SELECT * FROM {} WHERE device = ?1 ORDER BY {}", T::kTable, T::kOrder));
  rows.bind(device);
  while (rows.step()) values.push_back(value_of<T>(rows));
  return values;
}

// Inserts each value, replacing one with the same key.
template <class T>
void write(Database& database, std::span<const T> values) {
  std::vector<std::string> names;
  const T any;
  T::visit_fields(any, [&](const Key& key, const auto&) { names.emplace_back(key.name); });
  const std::vector<std::string> places(names.size(), "?");
  Statement insert(database, fmt::format("INSERT OR REPLACE INTO {} ({}) VALUES ({})", T::kTable, joined(names, ", "),
                                         joined(places, ", ")));
  for (const T& value : values) {
    int parameter = 0;
    T::visit_fields(value, [&](const Key&, const auto& field) { insert.bind_at(++parameter, field); });
    insert.run();
  }
}

}  // namespace

std::vector<KernelChoice> Store::kernel_choices(std::string_view device) const {
  return values_of<KernelChoice>(*database_, device);
}
std::vector<LaunchCost> Store::launch_costs(std::string_view device) const {
  return values_of<LaunchCost>(*database_, device);
}
std::vector<MeasuredPeak> Store::measured_peaks(std::string_view device) const {
  return values_of<MeasuredPeak>(*database_, device);
}

void Store::put(std::span<const KernelChoice> choices) {
  if (!choices.empty()) database_->transact([&] { write(*database_, choices); });
}

void Store::put(std::span<const LaunchCost> costs) {
  if (costs.empty()) return;
  database_->transact([&] {
    Statement find(*database_, "SELECT * FROM launch_costs WHERE device = ?1 AND threads = ?2 AND signature = ?3");
    for (const LaunchCost& newer : costs) {
      LaunchCost cost = newer;
      find.reset();
      if (find.bind(newer.device, newer.threads, newer.signature).step()) {
        auto known = value_of<LaunchCost>(find);
        std::tie(known.kind, known.flops, known.bytes) = std::tie(newer.kind, newer.flops, newer.bytes);
        cost = with_newer(std::move(known), newer);
      }
      write(*database_, std::span<const LaunchCost>(&cost, 1));
    }
  });
}

void Store::put(const MeasuredPeak& peak) {
  database_->transact([&] {
    const std::vector<MeasuredPeak> known = measured_peaks(peak.device);
    const auto found = std::ranges::find(known, peak.name, &MeasuredPeak::name);
    write(*database_, std::span(found == known.end() ? &peak : &better_of(*found, peak), 1));
  });
}

LaunchCost with_newer(LaunchCost known, const LaunchCost& newer) {
  constexpr double kAlike = 1.5;
  constexpr int64_t kMostRuns = 8;  // a cap, so that old runs lose weight
  if (newer.kernel != known.kernel) return newer;
  if (newer.disturbance.empty() != known.disturbance.empty()) return newer.disturbance.empty() ? newer : known;
  if (newer.seconds * kAlike < known.seconds) return newer;
  if (newer.seconds > known.seconds * kAlike) return known;
  known.runs = std::min(known.runs + 1, kMostRuns);
  known.seconds += (newer.seconds - known.seconds) / static_cast<double>(known.runs);
  known.created = newer.created;
  known.disturbance = newer.disturbance;
  return known;
}

std::vector<double> Store::prediction_errors(std::string_view device) const {
  // Reads only the newest records, which are the most relevant; reading all records would take longer.
  Statement rows(*database_, R"sql(
    SELECT predicted / measured - 1 FROM (
      SELECT json_extract(json, '$.prediction.time.' || pass) AS predicted,
             json_extract(json, '$.time.' || pass || '.median') AS measured
      FROM (SELECT id, json, json_extract(json, '$.config.pass') AS pass FROM records
            WHERE id > (SELECT max(id) FROM records) - 200 AND status = 'ok'
              AND instr(?1, fingerprint || '/' || json_extract(json, '$.config.device') || '/') = 1
              AND json_extract(json, '$.prediction.from') = 'measured launches'
              AND json_extract(json, '$.verdict.rating') <> 'predicted'))
    WHERE predicted > 0 AND measured > 0)sql");
  rows.bind(device);
  std::vector<double> errors;
  while (rows.step()) errors.push_back(rows.number(0));
  return errors;
}

const MeasuredPeak& better_of(const MeasuredPeak& known, const MeasuredPeak& newer) {
  const bool is_better = newer.unit == "s" ? newer.value < known.value : newer.value > known.value;
  return is_better ? newer : known;
}

}  // namespace laptime
