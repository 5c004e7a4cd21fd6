// The tables of a store that keep what was measured of devices: kernel choices, costs of launches, peaks.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "record/sqlite.h"
#include "record/store.h"
#include "record/store_schema.h"

namespace laptime {
namespace {

using sqlite::Statement;
using sqlite::Transaction;

constexpr int64_t kKnowledgeSince = 2;
constexpr int64_t kLaunchCostsSince = 5;
constexpr int64_t kRunsSince = 7;
constexpr int64_t kDisturbanceSince = 9;

}  // namespace

bool Store::has_knowledge() const { return store_schema::version_of(*database_) >= kKnowledgeSince; }

void Store::put(std::span<const KernelChoice> choices) {
  if (choices.empty()) return;
  Transaction transaction(*database_);
  Statement insert(*database_, "INSERT OR REPLACE INTO kernel_choices VALUES (?1, ?2, ?3, ?4, ?5)");
  for (const KernelChoice& choice : choices) {
    insert.bind(1, choice.device)
        .bind(2, choice.signature)
        .bind(3, choice.kernel)
        .bind(4, choice.seconds)
        .bind(5, choice.created)
        .run();
  }
  transaction.commit();
}

std::vector<KernelChoice> Store::kernel_choices(std::string_view device) const {
  std::vector<KernelChoice> choices;
  if (!has_knowledge()) return choices;
  Statement rows(*database_,
                 "SELECT signature, kernel, seconds, created FROM kernel_choices WHERE device = ?1 "
                 "ORDER BY signature");
  rows.bind(1, device);
  while (rows.step()) {
    choices.push_back({std::string(device), std::string(rows.text(0)), std::string(rows.text(1)), rows.number(2),
                       std::string(rows.text(3))});
  }
  return choices;
}

LaunchCost with_newer(LaunchCost known, const LaunchCost& newer) {
  constexpr double kAlike = 1.5;
  constexpr int64_t kMostRuns = 8;  // so that old runs fade
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

void Store::put(std::span<const LaunchCost> costs) {
  if (costs.empty()) return;
  Transaction transaction(*database_);
  Statement find(*database_,
                 "SELECT kernel, seconds, created, runs, disturbance FROM launch_costs "
                 "WHERE device = ?1 AND threads = ?2 AND signature = ?3");
  Statement insert(*database_,
                   "INSERT OR REPLACE INTO launch_costs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)");
  for (const LaunchCost& newer : costs) {
    LaunchCost cost = newer;
    find.reset();
    find.bind(1, cost.device).bind(2, cost.threads).bind(3, cost.signature);
    if (find.step()) {
      LaunchCost known = cost;
      known.kernel = find.text(0);
      known.seconds = find.number(1);
      known.created = find.text(2);
      known.runs = find.integer(3);
      known.disturbance = find.text(4);
      cost = with_newer(std::move(known), newer);
    }
    insert.bind(1, cost.device)
        .bind(2, cost.threads)
        .bind(3, cost.signature)
        .bind(4, cost.kernel)
        .bind(5, cost.kind)
        .bind(6, cost.flops)
        .bind(7, cost.bytes)
        .bind(8, cost.seconds)
        .bind(9, cost.created)
        .bind(10, cost.runs)
        .bind(11, cost.disturbance)
        .run();
  }
  transaction.commit();
}

std::vector<LaunchCost> Store::launch_costs(std::string_view device) const {
  std::vector<LaunchCost> costs;
  const int64_t version = store_schema::version_of(*database_);
  if (version < kLaunchCostsSince) return costs;
  const std::string sql = fmt::format(
      "SELECT threads, signature, kernel, kind, flops, bytes, seconds, created, {}, {} FROM launch_costs "
      "WHERE device = ?1 ORDER BY threads, signature",
      version < kRunsSince ? "1" : "runs", version < kDisturbanceSince ? "''" : "disturbance");
  Statement rows(*database_, sql.c_str());
  rows.bind(1, device);
  while (rows.step()) {
    costs.push_back({std::string(device), rows.integer(0), std::string(rows.text(1)), std::string(rows.text(2)),
                     std::string(rows.text(3)), rows.number(4), rows.integer(5), rows.number(6),
                     std::string(rows.text(7)), rows.integer(8), std::string(rows.text(9))});
  }
  return costs;
}

std::vector<double> Store::prediction_errors(std::string_view fingerprint) const {
  // The newest records tell most, and to read them takes some milliseconds.
  Statement rows(*database_, R"sql(
    SELECT predicted / measured - 1 FROM (
      SELECT json_extract(json, '$.prediction.time.' || pass) AS predicted,
             json_extract(json, '$.time.' || pass || '.median') AS measured
      FROM (SELECT id, json, json_extract(json, '$.config.pass') AS pass FROM records
            WHERE id > (SELECT max(id) FROM records) - 200 AND fingerprint = ?1 AND status = 'ok'
              AND json_extract(json, '$.prediction.from') = 'measured launches'
              AND json_extract(json, '$.verdict.rating') <> 'predicted'))
    WHERE predicted > 0 AND measured > 0)sql");
  rows.bind(1, fingerprint);
  std::vector<double> errors;
  while (rows.step()) errors.push_back(rows.number(0));
  return errors;
}

const MeasuredPeak& better_of(const MeasuredPeak& known, const MeasuredPeak& newer) {
  const bool is_better = newer.unit == "s" ? newer.value < known.value : newer.value > known.value;
  return is_better ? newer : known;
}

void Store::put(const MeasuredPeak& peak) {
  Transaction transaction(*database_);
  const auto is_known = [&](const MeasuredPeak& known) { return known.name == peak.name; };
  const std::vector<MeasuredPeak> known = measured_peaks(peak.device);
  const auto found = std::find_if(known.begin(), known.end(), is_known);
  const MeasuredPeak& best = found == known.end() ? peak : better_of(*found, peak);
  Statement(*database_, "INSERT OR REPLACE INTO measured_peaks VALUES (?1, ?2, ?3, ?4, ?5)")
      .bind(1, best.device)
      .bind(2, best.name)
      .bind(3, best.value)
      .bind(4, best.unit)
      .bind(5, best.created)
      .run();
  transaction.commit();
}

std::vector<MeasuredPeak> Store::measured_peaks(std::string_view device) const {
  std::vector<MeasuredPeak> peaks;
  if (!has_knowledge()) return peaks;
  Statement rows(*database_, "SELECT name, value, unit, created FROM measured_peaks WHERE device = ?1 ORDER BY name");
  rows.bind(1, device);
  while (rows.step()) {
    peaks.push_back({std::string(device), std::string(rows.text(0)), rows.number(1), std::string(rows.text(2)),
                     std::string(rows.text(3))});
  }
  return peaks;
}

}  // namespace laptime
