// Groups records by everything but their mode.
#include "report/attention_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "analysis/speedup.h"
#include "report/answer.h"
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
  labels.reserve(kLabels.size());
  for (const char* const key : kLabels) labels.push_back(record.config.text(key));
  return labels;
}

// Whether a record has the labels of a planned point, which may not know all of them.
bool match(const std::vector<std::string>& planned, const std::vector<std::string>& found) {
  return std::equal(planned.begin(), planned.end(), found.begin(), found.end(),
                    [](const auto& a, const auto& b) { return a == b || a.empty() || a == "null"; });
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
  expected.all(Extent::kWithConfig, [&](const Record& record) {
    const std::string mode = mode_of(record);
    if (std::find(modes_.begin(), modes_.end(), mode) == modes_.end()) modes_.push_back(mode);
    std::vector<std::string> labels = labels_of(record);
    auto size = std::find_if(sizes_.begin(), sizes_.end(), [&](const Size& one) { return one.labels == labels; });
    if (size == sizes_.end()) size = sizes_.insert(sizes_.end(), {.labels = std::move(labels)});
    ++size->expected;
  });
  constexpr size_t kTimeWidth = 8;
  const auto add = [&](const std::string& columns, size_t width) {
    for (TableColumn& column : columns_from(columns)) {
      column.width = width;
      start_.columns.push_back(std::move(column));
    }
  };
  for (size_t i = 0; i < kLabels.size(); ++i) {
    const bool varies = std::any_of(sizes_.begin(), sizes_.end(),
                                    [&](const Size& size) { return size.labels[i] != sizes_.front().labels[i]; });
    add(fmt::format("{}={}", kLabels.at(i), i == 1 ? "ctx" : kLabels.at(i)), 0);
    start_.columns.back().for_people = i < kAlwaysShown || varies;
  }
  for (const std::string& mode : modes_)
    add(fmt::format("{0}_forward_s={0} forward; {0}_backward_s={0} backward", mode), kTimeWidth);
  if (modes_.size() > 1) add("gain=gain", 5);
  for (const std::string& mode : modes_) add(fmt::format("{0}_peak_bytes={0} memory@1", mode), kTimeWidth);
  for (const Size& size : sizes_) {
    TableRow& row = start_.rows.emplace_back();
    for (const std::string& label : size.labels) row.cells.emplace_back(label);
  }
}

TableRow AttentionTable::row_of(const Size& size) const {
  TableRow row;
  for (const std::string& label : size.labels) row.cells.emplace_back(label);
  const auto record_of = [&](const std::string& mode) {
    const auto found = size.by_mode.find(mode);
    return found == size.by_mode.end() ? nullptr : &found->second;
  };
  for (const std::string& mode : modes_) {
    const Record* const record = record_of(mode);
    for (const std::string phase : {"forward", "backward"}) {
      TableCell& cell = row.cells.emplace_back();
      if (record == nullptr) continue;
      cell.value = value_of(*record, phase + "_time");
      if (const auto time = record->time.find(phase); cell.value.is_number() && time != record->time.end())
        cell.uncertainty = uncertainty_of(time->second).value_or(0);
      if (cell.value.is_null() && record->status != Status::kOk)
        cell.text = record->status == Status::kOutOfMemory ? "no room" : name_of(record->status);
    }
  }
  if (modes_.size() > 1) {
    const auto time_of = [&](const std::string& mode) {
      const Record* const record = record_of(mode);
      return record == nullptr || record->status != Status::kOk ? nullptr : record->main_time();
    };
    const TimeStats* const first = time_of(modes_.front());
    const TimeStats* const last = time_of(modes_.back());
    TableCell& cell = row.cells.emplace_back();
    if (const auto gain = first == nullptr || last == nullptr ? std::nullopt : speedup_of(*first, *last))
      cell = {gain->value, ratio_text(gain->value, gain->interval.low, gain->interval.high)};
  }
  for (const std::string& mode : modes_) {
    const Record* const record = record_of(mode);
    row.cells.emplace_back(record == nullptr ? Json(nullptr) : value_of(*record, "peak"));
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
