// Groups records by everything but their mode.
#include "report/attention_table.h"

#include <algorithm>
#include <array>
#include <set>

#include "analysis/speedup.h"
#include "report/columns.h"
#include "report/names.h"

namespace laptime {
namespace {

// The options that tell sizes apart, d_model and context always.
constexpr std::array<const char*, 6> kLabels{"d_model", "context_length", "batch_size", "dtype", "threads", "pass"};
constexpr size_t kAlwaysShown = 2;

std::string mode_of(const Record& record) {
  const std::string lowered = record.config.text("lower");
  const bool is_whole = lowered.empty() || lowered == "none" || lowered == "null";
  return record.config.text("mode") + (is_whole ? "" : " lowered");
}

std::vector<std::string> labels_of(const Record& record) {
  std::vector<std::string> labels;
  for (const char* const key : kLabels) labels.push_back(record.config.text(key));
  return labels;
}

// Whether a record has the labels of a planned point, which may not know all of them.
bool match(const std::vector<std::string>& planned, const std::vector<std::string>& found) {
  return std::equal(planned.begin(), planned.end(), found.begin(), found.end(),
                    [](const auto& a, const auto& b) { return a == b || a.empty() || a == "null"; });
}

// The gain of the last mode over the first is the ratio of these.
std::optional<TimeStats> whole_time(const Record& record) {
  const TimeStats* const time = record.main_time();
  return time == nullptr || record.status != Status::kOk ? std::nullopt : std::optional(*time);
}

}  // namespace

bool AttentionTable::suits(const Records& expected) {
  std::set<std::vector<std::string>> points;
  bool is_suited = true;
  expected.each(Extent::kWithConfig, [&](const Record& record) {
    std::vector<std::string> point = labels_of(record);
    point.push_back(mode_of(record));
    is_suited = is_attention(record) && points.insert(std::move(point)).second;
    return is_suited;
  });
  return is_suited && !points.empty();
}

AttentionTable::AttentionTable(const Records& expected) {
  std::array<std::vector<std::string>, kLabels.size()> seen;
  expected.each(Extent::kWithConfig, [&](const Record& record) {
    const std::string mode = mode_of(record);
    if (std::find(modes_.begin(), modes_.end(), mode) == modes_.end()) modes_.push_back(mode);
    std::vector<std::string> labels = labels_of(record);
    for (size_t i = 0; i < labels.size(); ++i) {
      if (std::find(seen.at(i).begin(), seen.at(i).end(), labels[i]) == seen.at(i).end())
        seen.at(i).push_back(labels[i]);
    }
    auto size = std::find_if(sizes_.begin(), sizes_.end(), [&](const Size& one) { return one.labels == labels; });
    if (size == sizes_.end()) size = sizes_.insert(sizes_.end(), {.labels = std::move(labels)});
    ++size->expected;
    return true;
  });
  constexpr size_t kTimeWidth = 8;
  for (size_t i = 0; i < kLabels.size(); ++i) {
    const std::string title = i == 1 ? "ctx" : kLabels.at(i);
    start_.columns.push_back(
        {.key = kLabels.at(i), .title = title, .for_people = i < kAlwaysShown || seen.at(i).size() > 1});
  }
  for (const std::string& mode : modes_) {
    start_.columns.push_back(
        {.key = mode + "_forward_s", .title = mode + " forward", .unit = Unit::kSeconds, .width = kTimeWidth});
    start_.columns.push_back(
        {.key = mode + "_backward_s", .title = mode + " backward", .unit = Unit::kSeconds, .width = kTimeWidth});
  }
  if (modes_.size() > 1) start_.columns.push_back({.key = "gain", .title = "gain", .width = 5});
  for (const std::string& mode : modes_)
    start_.columns.push_back(
        {.key = mode + "_peak_bytes", .title = mode + " memory", .unit = Unit::kBytes, .drop = 1, .width = kTimeWidth});
  for (const Size& size : sizes_) {
    TableRow& row = start_.rows.emplace_back();
    for (const std::string& label : size.labels) row.cells.emplace_back(label);
  }
}

TableRow AttentionTable::row_of(const Size& size) const {
  TableRow row;
  for (const std::string& label : size.labels) row.cells.emplace_back(label);
  for (const std::string& mode : modes_) {
    const auto found = size.by_mode.find(mode);
    const bool is_missing = found == size.by_mode.end();
    for (const char* const phase : {"forward", "backward"}) {
      const Json value = is_missing ? Json(nullptr) : value_of(found->second, std::string(phase) + "_time");
      TableCell cell(value);
      if (!is_missing && found->second.status != Status::kOk && value.is_null()) {
        std::string status(name_of(found->second.status));
        cell.text = status == "out_of_memory" ? "no room" : std::move(status);
      } else if (!is_missing && value.is_number()) {
        const auto time = found->second.time.find(phase);
        if (time != found->second.time.end()) cell.uncertainty = uncertainty_of(time->second).value_or(0);
      }
      row.cells.push_back(std::move(cell));
    }
  }
  if (modes_.size() > 1) {
    const auto first = size.by_mode.find(modes_.front());
    const auto last = size.by_mode.find(modes_.back());
    std::optional<Speedup> gain;
    if (first != size.by_mode.end() && last != size.by_mode.end()) {
      const std::optional<TimeStats> baseline = whole_time(first->second);
      const std::optional<TimeStats> time = whole_time(last->second);
      if (baseline && time) gain = speedup_of(*baseline, *time);
    }
    row.cells.push_back(
        gain ? TableCell(Json(gain->value), ratio_text(gain->value, gain->interval.low, gain->interval.high))
             : TableCell());
  }
  for (const std::string& mode : modes_) {
    const auto found = size.by_mode.find(mode);
    row.cells.emplace_back(found == size.by_mode.end() ? Json(nullptr) : value_of(found->second, "peak"));
  }
  return row;
}

std::string AttentionTable::print(Size& size, const TableStyle& style) {
  size.is_printed = true;
  const TableRow row = row_of(size);
  if (!rows_) {
    start_.with_header = !style.quiet;
    rows_.emplace(start_, style);
  }
  return rows_->add(row);
}

std::string AttentionTable::add(const Record& record, const TableStyle& style) {
  const std::vector<std::string> labels = labels_of(record);
  const auto size =
      std::find_if(sizes_.begin(), sizes_.end(), [&](const Size& one) { return match(one.labels, labels); });
  if (size == sizes_.end()) return "";
  size->by_mode.insert_or_assign(mode_of(record), record);
  return size->by_mode.size() == size->expected && !size->is_printed ? print(*size, style) : "";
}

std::string AttentionTable::end(const TableStyle& style) {
  std::string text;
  for (Size& size : sizes_) {
    if (!size.is_printed && !size.by_mode.empty()) text += print(size, style);
  }
  return text;
}

}  // namespace laptime
