// Groups records into series, oldest first, and marks where a level begins.
#include "report/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/units.h"
#include "base/words.h"
#include "distribution/change_points.h"
#include "distribution/median.h"
#include "report/bars.h"
#include "report/heading.h"
#include "report/row.h"

namespace laptime {
namespace {

// One figure of a series.
struct Entry {
  std::string created;
  std::string commit;
  std::string build;  // commit and identity of the program
  std::vector<double> values;
  double value = 0;  // their median
};

struct Series {
  std::string name;
  std::string machine;
  std::vector<Entry> entries;
};

void add_to(Series& series, const Record& record, double value, bool by_commit) {
  const std::string build = record.binary.commit + " " + record.binary.id;
  const bool is_same = by_commit && !series.entries.empty() && series.entries.back().build == build;
  if (!is_same) series.entries.push_back({record.created, record.binary.commit, build, {}, 0});
  series.entries.back().values.push_back(value);
}

std::vector<Series> series_of(const Records& records, const HistoryOptions& options) {
  std::vector<Series> all;
  std::map<std::pair<std::string, std::string>, size_t> known;
  records.each(Extent::kWhole, [&](const Record& record) {
    if (record.status != Status::kOk || is_predicted(record)) return true;
    const std::optional<double> value = options.metric->read(record);
    if (!value || !std::isfinite(*value)) return true;
    const auto [found, is_new] = known.try_emplace({record.name, record.fingerprint + record.math_mode}, all.size());
    if (is_new) all.push_back({record.name, record.fingerprint, {}});
    add_to(all[found->second], record, *value, options.by_commit);
    return true;
  });
  for (Series& series : all) {
    for (Entry& entry : series.entries) entry.value = median(entry.values);
    if (series.entries.size() > kMostOfSeries)
      series.entries.erase(series.entries.begin(), series.entries.end() - static_cast<std::ptrdiff_t>(kMostOfSeries));
  }
  return all;
}

std::string change_text(double change) { return fmt::format("{:+.1f} %", 100 * change); }

// Where a level begins, and by how much its median differs from that of the level before.
std::map<size_t, double> changes_of(const std::vector<double>& values, double least) {
  std::map<size_t, double> changes;
  std::vector<size_t> starts = find_change_points(values, least);
  starts.insert(starts.begin(), 0);
  starts.push_back(values.size());
  const std::span<const double> all(values);
  for (size_t i = 1; i + 1 < starts.size(); ++i) {
    const double before = median(all.subspan(starts[i - 1], starts[i] - starts[i - 1]));
    const double after = median(all.subspan(starts[i], starts[i + 1] - starts[i]));
    changes[starts[i]] = before != 0 ? after / before - 1 : 0;
  }
  return changes;
}

std::string conclusion(const Series& series, const std::map<size_t, double>& changes, const HistoryOptions& options) {
  const std::string figures = fmt::format("{} {}", series.entries.size(), options.by_commit ? "builds" : "records");
  if (changes.empty()) {
    if (series.entries.size() < 2 * kFewestOfLevel)
      return fmt::format("{}: too few to find a change, which takes {}", figures, 2 * kFewestOfLevel);
    return fmt::format("{}: no change of level", figures);
  }
  const auto& [at, change] = *changes.rbegin();
  const Better better = options.metric->better;
  const bool is_better = better == Better::kHigher ? change > 0 : change < 0;
  return fmt::format("{}, {} of level; the last {} at {} of {}{}", figures, counted(changes.size(), "change"),
                     change_text(change), series.entries[at].commit, series.entries[at].created,
                     better == Better::kNeither ? ""
                     : is_better                ? ": better"
                                                : ": worse");
}

PointReport report_of(const Series& series, const HistoryOptions& options) {
  std::vector<double> values;
  for (const Entry& entry : series.entries) values.push_back(entry.value);
  const std::map<size_t, double> changes = changes_of(values, options.least);
  const Unit unit = options.metric->unit;
  Grid grid{.name = "history",
            .title = fmt::format("{}, oldest first", options.metric->tag),
            .columns = {text_column("created", "Date"),
                        text_column("commit", "Commit"),
                        {"records", "Records"},
                        {std::string(options.metric->tag), std::string(options.metric->tag), unit},
                        {"change", "Change of level", Unit::kFraction}},
            .rows = {},
            .notes = {}};
  std::vector<Bar> bars;
  for (size_t i = 0; i < series.entries.size(); ++i) {
    const Entry& entry = series.entries[i];
    const auto change = changes.find(i);
    const bool changed = change != changes.end();
    grid.rows.push_back({entry.created, entry.commit, entry.values.size(), entry.value,
                         changed ? Json(change->second) : Json(nullptr)});
    bars.push_back({.labels = {day_of(entry.created), entry.commit},
                    .value = std::max(0.0, entry.value),
                    .after = format_value(entry.value, unit) +
                             (changed ? fmt::format("  {} <- level changes", change_text(change->second)) : "")});
  }
  grid.picture = [bars = std::move(bars)](const TableStyle& style) { return bars_text(bars, style); };
  return {
      .name = series.name, .lines = {conclusion(series, changes, options), series.machine}, .grids = {std::move(grid)}};
}

}  // namespace

std::vector<PointReport> history_reports(const Records& records, const HistoryOptions& options, size_t* skipped) {
  std::vector<PointReport> reports;
  for (const Series& series : series_of(records, options)) {
    if (series.entries.size() >= 2) {
      reports.push_back(report_of(series, options));
    } else if (skipped != nullptr) {
      ++*skipped;
    }
  }
  return reports;
}

}  // namespace laptime
