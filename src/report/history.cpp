// Groups records into series, oldest first, and marks where each level begins.
#include "report/history.h"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/json.h"
#include "base/ranges.h"
#include "base/words.h"
#include "config/fields_json.h"
#include "config/run_config.h"
#include "distribution/change_points.h"
#include "distribution/median.h"
#include "report/names.h"
#include "report/words.h"
#include "table/value_text.h"

namespace laptime {
namespace {

struct Entry {
  std::string created;
  std::string commit;
  std::vector<double> values;
  double value = 0;  // median of the records
};

struct Series {
  std::string name;
  std::string machine;
  std::set<std::string> conditions;  // see conditions_of
  std::vector<Entry> entries;
  std::map<std::string, size_t> builds;  // the entry of a build, by the program's commit and build id
};

// The arithmetic and the options that decide what was measured and how, written as in names: "threads:2". Omits step
// counts that the stopping rule chose, time limits, and the version of another program, which changes from build to
// build. Also omits defaults, so that records of a build that lacks an option match those of a build that has it.
std::set<std::string> conditions_of(const Record& record) {
  static const Json kDefaults = to_json(RunConfig());
  const bool has_given_steps = record.stopping.rule == "fixed";
  const auto is_omitted = [&](const Json::Member& option) {
    const auto& [key, value] = option;
    if (key == "warmup" || key == "steps") return !has_given_steps;
    const Json* const usual = kDefaults.find(key);
    return value.is_null() || (usual != nullptr && *usual == value) || key == "budget" || key == "timeout" ||
           key == "system_version";
  };
  std::set<std::string> conditions{"arithmetic:" + record.math_mode};
  for (const Json::Member& option : record.config.json().items()) {
    if (!is_omitted(option)) conditions.insert(fmt::format("{}:{}", option.key, plain_text(option.value)));
  }
  return conditions;
}

// The condition as written in a name, where files are named without their folders.
std::string word_of(const std::string& condition) {
  const size_t slash = condition.rfind('/');
  if (slash == std::string::npos) return condition;
  return condition.substr(0, condition.find(':') + 1) + condition.substr(slash + 1);
}

// Appends to each name the conditions in which the series differs from others with the same name and machine.
void distinguish(std::vector<Series>& all) {
  std::map<std::pair<std::string, std::string>, std::vector<Series*>> alike;
  for (Series& series : all) alike[{series.name, series.machine}].push_back(&series);
  for (const auto& [point, of_point] : alike) {
    std::map<std::string, size_t> counts;
    for (const Series* const series : of_point) {
      for (const std::string& condition : series->conditions) ++counts[condition];
    }
    for (Series* const series : of_point) {
      for (const std::string& condition : series->conditions) {
        if (counts[condition] < of_point.size()) series->name += "/" + word_of(condition);
      }
    }
  }
}

std::vector<Series> series_of(const Records& records, const HistoryOptions& options) {
  std::vector<Series> all;
  std::map<std::tuple<std::string, std::string, std::set<std::string>>, size_t> known;
  records.each(Extent::kWhole, [&](const Record& record) {
    if (record.status != Status::kOk || is_predicted(record)) return true;
    const std::optional<double> value = options.metric->read(record);
    if (!value || !std::isfinite(*value)) return true;
    const std::set<std::string> conditions = conditions_of(record);
    const auto [found, is_new] = known.try_emplace({record.name, record.fingerprint, conditions}, all.size());
    if (is_new) all.push_back({record.name, record.fingerprint, conditions, {}, {}});
    Series& series = all[found->second];
    size_t entry = series.entries.size();
    if (options.by_commit)
      entry = series.builds.try_emplace(record.binary.commit + " " + record.binary.id, entry).first->second;
    if (entry == series.entries.size()) series.entries.push_back({record.created, record.binary.commit, {}, 0});
    series.entries[entry].values.push_back(*value);
    return true;
  });
  distinguish(all);
  for (Series& series : all) {
    for (Entry& entry : series.entries) entry.value = median(entry.values);
    if (series.entries.size() > kMostOfSeries)
      series.entries.erase(series.entries.begin(), series.entries.end() - static_cast<std::ptrdiff_t>(kMostOfSeries));
  }
  return all;
}

// Where each level after the first begins, and by which fraction its median differs from the previous level's.
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

// States the number of values and of level changes, and the latest change.
Finding finding_of(const Series& series, const std::map<size_t, double>& changes, const HistoryOptions& options) {
  Json values{
      {"figures", series.entries.size()}, {"by", options.by_commit ? "build" : "record"}, {"changes", changes.size()}};
  if (!changes.empty()) {
    const auto& [at, change] = *changes.rbegin();
    values["change"] = change;
    values["commit"] = series.entries[at].commit;
    values["created"] = series.entries[at].created;
    const Better better = options.metric->better;
    const bool is_better = better == Better::kHigher ? change > 0 : change < 0;
    values["direction"] = better == Better::kNeither ? "" : is_better ? "better" : "worse";
  }
  values["is_too_short"] = series.entries.size() < 2 * kFewestOfLevel;
  return {.kind = "level_changes", .subject = std::string(options.metric->tag), .values = std::move(values)};
}

PointAnswer answer_of(const Series& series, const HistoryOptions& options) {
  const std::map<size_t, double> changes = changes_of(mapped(series.entries, &Entry::value), options.least);
  const Unit unit = options.metric->unit;
  Table table{.name = "history",
              .columns = columns_from(fmt::format("<created=date; <commit=commit; records=records; {0}={0}; "
                                                  "change=change of level",
                                                  options.metric->tag))};
  table.columns[3].unit = unit;
  table.columns[4].unit = Unit::kFraction;
  std::vector<Bar> bars;
  for (size_t i = 0; i < series.entries.size(); ++i) {
    const Entry& entry = series.entries[i];
    const double* const change = at_key(changes, i);
    table.add({entry.created, entry.commit, entry.values.size(), entry.value, change ? Json(*change) : Json(nullptr)});
    bars.push_back({.label = fmt::format("{}  {}", day_of(entry.created), entry.commit),
                    .value = entry.value,
                    .after = value_text(entry.value, unit) + (change ? "  " + change_text(*change) : "")});
  }
  PointAnswer answer{.name = series.name, .findings = {finding_of(series, changes, options)}};
  answer.say(words(answer.findings.front()));
  answer.say(fmt::format("{} · {}", spoken_name(series.name), series.machine));
  answer.draw([bars = std::move(bars)](const TextStyle& style) {
    constexpr size_t kWidest = 48;
    return bars_text(bars, kWidest, style);
  });
  answer.keep(std::move(table));
  return answer;
}

}  // namespace

std::vector<PointAnswer> history_answers(const Records& records, const HistoryOptions& options, size_t* skipped) {
  std::vector<PointAnswer> answers;
  for (const Series& series : series_of(records, options)) {
    if (series.entries.size() >= 2) {
      answers.push_back(answer_of(series, options));
    } else if (skipped != nullptr) {
      ++*skipped;
    }
  }
  return answers;
}

}  // namespace laptime
