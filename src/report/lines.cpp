// The lines of a record: the point itself, its phases and notes.
#include "report/lines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/units.h"

namespace laptime {
namespace {

std::string spaced(std::string_view key) {
  std::string text(key);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

// "plan 12.00 ms, memory 0.200 s": the parts of a sum, those that are known.
template <class T>
std::string parts_of(const T& times, std::span<const std::string_view> names) {
  std::string text;
  T::visit_fields(times, [&](const char* name, const auto& value) {
    if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::optional<double>>) {
      if (!value || std::find(names.begin(), names.end(), name) == names.end()) return;
      text += (text.empty() ? "" : ", ") + spaced(name) + " " + format_seconds(*value);
    }
  });
  return text.empty() ? "" : " (" + text + ")";
}

// The phases of the sample in the order in which they ran.
std::vector<std::string> phases_of(const Record& record) {
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

void add_notes(const Record& record, std::vector<TableLine>& lines) {
  const auto note = [&](const std::string& text) { lines.push_back({{}, "  " + text}); };
  if (record.setup.total) {
    constexpr std::array<std::string_view, 5> kParts{"plan", "kernel_trial", "memory", "weights", "data"};
    note("set-up " + format_seconds(*record.setup.total) + parts_of(record.setup, kParts));
  }
  if (record.transient.excess) {
    constexpr std::array<std::string_view, 2> kParts{"page_faults", "rest"};
    note("first steps " + format_seconds(*record.transient.excess) + " longer" + parts_of(record.transient, kParts));
  }
  if (record.stopping.steps_per_sample.value_or(1) > 1) {
    note(fmt::format("a sample is {} steps: one is too short to time", *record.stopping.steps_per_sample));
  }
  std::string reasons;
  for (const std::string& reason : record.verdict.reasons) reasons += (reasons.empty() ? "" : "; ") + reason;
  if (!reasons.empty()) note(spaced(record.verdict.rating) + ": " + reasons);
}

}  // namespace

std::vector<TableLine> lines_of(const Row& row, std::span<const Column> columns, bool details) {
  const Record& record = row.record();
  std::vector<TableLine> lines(1);
  TableLine& point = lines.front();
  const bool ok = record.status == Status::kOk;
  bool reason_shown = false;
  for (const Column& column : columns) {
    point.cells.push_back(column.cell(row, ""));
    if (!ok && column.then_reason) {
      point.rest = reason_of(record);
      reason_shown = true;
      break;
    }
  }
  if (!ok && !reason_shown) {
    lines.push_back({{}, "  " + std::string(name_of(record.status)) + ": " + reason_of(record)});
  }
  const bool has_phases = std::any_of(columns.begin(), columns.end(), [](const Column& c) { return c.of_phase; });
  if (!details || !has_phases || !ok) return lines;

  for (const std::string& phase : phases_of(record)) {
    TableLine line{{}, "", true};
    for (const Column& column : columns) {
      line.cells.push_back(column.of_phase ? column.cell(row, phase) : "");
    }
    line.cells.front() = "  " + phase;
    lines.push_back(line);
  }
  add_notes(record, lines);
  return lines;
}

}  // namespace laptime
