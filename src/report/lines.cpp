// The lines of a record: the point itself, its phases and notes.
#include "report/lines.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <type_traits>

#include "base/units.h"
#include "record/metrics.h"
#include "report/column_sets/column_sets.h"
#include "report/first_steps.h"

namespace laptime {
namespace {

std::string spaced(std::string_view key) {
  std::string text(key);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// "plan 12.00 ms, memory 0.200 s": the parts of a sum, those that are known and not zero.
template <class T>
std::string parts_of(const T& times, std::span<const std::string_view> names) {
  std::string text;
  T::visit_fields(times, [&](const char* name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::optional<double>>) {
      if (!value || *value == 0 || std::find(names.begin(), names.end(), name) == names.end()) return;
      text += (text.empty() ? "" : ", ") + spaced(name) + " " + format_seconds(*value);
    }
  });
  return text.empty() ? "" : " (" + text + ")";
}

// Set-up matters where it takes longer than all samples, and first steps where they take a tenth of a step longer.
bool setup_matters(const Record& record, const TimeStats* time) {
  constexpr double kLong = 10;  // seconds
  return time != nullptr && *record.setup.total > kLong && *record.setup.total > time->total;
}
// A command that varied the warm-up asks for them.
bool shows_first_steps(const Record& record, bool verbose) {
  const TimeStats* const time = record.main_time();
  if (!record.transient.excess || time == nullptr || is_predicted(record)) return false;
  return verbose || varies_warmup(record) || *record.transient.excess > 0.1 * time->median;
}

void add_notes(const Record& record, const LineStyle& style, std::vector<TableLine>& lines) {
  const bool verbose = style.verbose;
  const auto note = [&](const std::string& text) { lines.push_back({{}, "  " + text}); };
  if (is_predicted(record)) return;  // nothing was set up, and no step was the first
  const TimeStats* const time = record.main_time();
  if (record.setup.total && (verbose || setup_matters(record, time))) {
    constexpr std::array<std::string_view, 5> kParts{"plan", "kernel_trial", "memory", "weights", "data"};
    note("set-up " + format_seconds(*record.setup.total) + parts_of(record.setup, kParts));
  }
  if (shows_first_steps(record, verbose)) note(first_steps_text(record));
  if (record.stopping.steps_per_sample.value_or(1) > 1) {
    note(fmt::format("a sample is {} steps: one is too short to time", *record.stopping.steps_per_sample));
  }
  const std::vector<std::string>& reasons = style.reasons == nullptr ? record.verdict.reasons : *style.reasons;
  if (!reasons.empty()) note(fmt::format("{}: {}", spaced(record.verdict.rating), fmt::join(reasons, "; ")));
}

}  // namespace

std::vector<std::string> shown_phases(const Record& record) {
  std::vector<std::string> phases;
  const std::string pass = record.config.text("pass");
  const auto add = [&](const std::string& phase) {
    const bool known = std::find(phases.begin(), phases.end(), phase) != phases.end();
    if (phase != pass && !known && record.time.contains(phase)) phases.push_back(phase);
  };
  for (const PhaseShare& share : record.phases) add(share.phase);
  for (const auto& [phase, time] : record.time) add(phase);
  return record.main_time() == nullptr || !record.time.contains(pass) ? std::vector<std::string>() : phases;
}

std::vector<TableLine> lines_of(const Row& row, std::span<const Column> columns, const LineStyle& style) {
  const Record& record = row.record();
  std::vector<TableLine> lines(1);
  TableLine& point = lines.front();
  const bool ok = record.status == Status::kOk;
  const bool has_times = ok || (record.status == Status::kInterrupted && record.main_time() != nullptr);
  const std::string reason = ok ? "" : fmt::format("{}: {}", name_of(record.status), reason_of(record));
  const auto cell = [&](size_t i, std::string_view phase) {
    const bool scaled = i < style.scales.size() && style.scales[i];
    return columns[i].cell(row, phase, {style.heading, scaled ? &*style.scales[i] : nullptr});
  };
  bool reason_shown = false;
  point.cells.reserve(columns.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    point.cells.push_back(cell(i, ""));
    if (!has_times && columns[i].then_reason) {
      point.rest = reason;
      reason_shown = true;
      break;
    }
  }
  if (!ok && !reason_shown) lines.push_back({{}, "  " + reason});
  const bool has_phases = std::any_of(columns.begin(), columns.end(), [](const Column& c) { return c.of_phase; });
  if (!style.details || !has_times) return lines;

  for (const std::string& phase : has_phases ? shown_phases(record) : std::vector<std::string>()) {
    TableLine line{{}, "", true};
    for (size_t i = 0; i < columns.size(); ++i) line.cells.push_back(columns[i].of_phase ? cell(i, phase) : "");
    line.cells.front() = "  " + phase;
    lines.push_back(line);
  }
  const auto notes_first_steps = [](const Column& column) { return column.then_first_steps; };
  if (have_notes(columns)) {
    add_notes(record, style, lines);
  } else if (std::any_of(columns.begin(), columns.end(), notes_first_steps) &&
             shows_first_steps(record, style.verbose)) {
    lines.push_back({{}, "  " + first_steps_text(record)});
  }
  return lines;
}

void name_rows(std::vector<Column>& columns, const Heading& heading, const Records& rows) {
  const Column& name = *table_column("name");
  if (std::any_of(columns.begin(), columns.end(), [&](const Column& column) { return column.title == name.title; }))
    return;
  Extent extent = name.extent;
  for (const Column& column : columns) extent = column.setting ? std::max(extent, column.extent) : extent;
  std::map<std::string, std::string> names;  // by settings
  bool alike = false;
  rows.each(extent, [&](const Record& record) {
    const Row row(record);
    std::string settings;
    for (const Column& column : columns) {
      if (column.setting) settings += column.cell(row, "", {&heading, nullptr}) + '\n';
    }
    const std::string& own = record.label.empty() ? record.name : record.label;
    alike = names.try_emplace(settings, own).first->second != own;
    return !alike;
  });
  if (alike) columns.insert(columns.begin(), name);
}

std::vector<std::string> take_shared(std::vector<Column>& columns, const Records& rows) {
  const auto may_go = [](const Column& column) { return column.title == "arithmetic" && column.drop > 0; };
  const auto column = std::find_if(columns.begin(), columns.end(), may_go);
  if (column == columns.end()) return {};
  std::set<std::string> words;
  size_t count = 0;
  rows.each(column->extent, [&](const Record& record) {
    ++count;
    if (record.status == Status::kOk) words.insert(column->cell(Row(record), ""));
    return words.size() < 2;
  });
  if (count < 2 || words.size() != 1 || *words.begin() == "-") return {};
  columns.erase(column);
  return {"arithmetic " + *words.begin()};
}

namespace {

// The column of the default table, appended.
void append_column(std::string_view title, std::vector<Column>& columns) {
  for (Column& column : table_columns()) {
    if (column.title == title) columns.push_back(std::move(column));
  }
}

void mark_predicted(std::vector<Column>& columns, const Heading& heading) {
  if (!heading.some_predicted()) return;
  const auto any = [&](bool (*holds)(const Column&)) { return std::any_of(columns.begin(), columns.end(), holds); };
  if (!heading.some_measured()) {
    const auto is_of_samples = [](const Column& column) {
      const bool of_samples = column.title == "n" || column.title == "verdict" || column.title == "loss";
      return of_samples && column.drop > 0;
    };
    columns.erase(std::remove_if(columns.begin(), columns.end(), is_of_samples), columns.end());
    for (Column& column : columns) {
      if (column.title == "median") column.remark.clear();
    }
  }
  const bool marked = any([](const Column& column) { return column.marks_predicted; });
  const bool named = any([](const Column& column) { return column.title == "device" || column.title == "name"; });
  if (marked && (named || !heading.some_measured())) return;
  append_column("device", columns);
}

// The name of a record states its system.
void mark_systems(std::vector<Column>& columns, const Heading& heading) {
  const bool states_system = std::any_of(columns.begin(), columns.end(), [](const Column& column) {
    return column.title == "name" || column.title == "system";
  });
  if (heading.some_of_others() && !states_system) append_column("system", columns);
}

}  // namespace

void mark_rows(std::vector<Column>& columns, const Heading& heading) {
  mark_predicted(columns, heading);
  mark_systems(columns, heading);
}

}  // namespace laptime
