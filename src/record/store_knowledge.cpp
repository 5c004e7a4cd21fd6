// The tables of a store that keep what was measured of devices: kernel choices, costs of launches, peaks.
#include "record/sqlite.h"
#include "record/store.h"
#include "record/store_schema.h"

namespace laptime {
namespace {

using sqlite::Statement;
using sqlite::Transaction;

constexpr int64_t kKnowledgeSince = 2;
constexpr int64_t kLaunchCostsSince = 5;

}  // namespace

bool Store::has_knowledge() const { return store_schema::version_of(*database_) >= kKnowledgeSince; }
bool Store::has_launch_costs() const { return store_schema::version_of(*database_) >= kLaunchCostsSince; }

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

void Store::put(std::span<const LaunchCost> costs) {
  if (costs.empty()) return;
  Transaction transaction(*database_);
  Statement insert(*database_, R"sql(
    INSERT INTO launch_costs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
    ON CONFLICT (device, threads, signature) DO UPDATE SET
      kernel = excluded.kernel, seconds = excluded.seconds, created = excluded.created
    WHERE excluded.seconds < seconds)sql");
  for (const LaunchCost& cost : costs) {
    insert.bind(1, cost.device)
        .bind(2, cost.threads)
        .bind(3, cost.signature)
        .bind(4, cost.kernel)
        .bind(5, cost.kind)
        .bind(6, cost.flops)
        .bind(7, cost.bytes)
        .bind(8, cost.seconds)
        .bind(9, cost.created)
        .run();
  }
  transaction.commit();
}

std::vector<LaunchCost> Store::launch_costs(std::string_view device) const {
  std::vector<LaunchCost> costs;
  if (!has_launch_costs()) return costs;
  Statement rows(*database_,
                 "SELECT threads, signature, kernel, kind, flops, bytes, seconds, created FROM launch_costs "
                 "WHERE device = ?1 ORDER BY threads, signature");
  rows.bind(1, device);
  while (rows.step()) {
    costs.push_back({std::string(device), rows.integer(0), std::string(rows.text(1)), std::string(rows.text(2)),
                     std::string(rows.text(3)), rows.number(4), rows.integer(5), rows.number(6),
                     std::string(rows.text(7))});
  }
  return costs;
}

void Store::put(const MeasuredPeak& peak) {
  Transaction transaction(*database_);
  Statement(*database_, "INSERT OR REPLACE INTO measured_peaks VALUES (?1, ?2, ?3, ?4, ?5)")
      .bind(1, peak.device)
      .bind(2, peak.name)
      .bind(3, peak.value)
      .bind(4, peak.unit)
      .bind(5, peak.created)
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
