// The table of attention by itself: groups records that differ only in mode into rows, and formats the rows.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "analysis/speedup.h"
#include "report/answer.h"
#include "report/columns.h"
#include "report/names.h"
#include "report/point_text.h"
#include "report/record_table.h"

namespace laptime {
namespace {

constexpr std::array<const char*, 6> kLabels{"d_model", "context_length", "batch_size", "dtype", "threads", "pass"};
constexpr const char* kLabelColumns =
    "d_model=d_model; context_length=ctx; batch_size=batch_size; dtype=dtype; threads=threads; pass=pass";
constexpr size_t kAlwaysShown = 2;

constexpr std::array<const char*, 3> kPhases{"forward", "backward", "inference"};

// Whether the pass has the phase. If a planned point does not state its pass, the pass is not inference.
bool has_phase(std::string_view pass, std::string_view phase) {
  if (pass == "inference" || phase == "inference") return pass == phase;
  return pass != "forward" || phase == "forward";
}

std::string mode_of(const Record& record) {
  const std::string mode = record.config.text("mode");
  const std::string chosen = chosen_composites(record);
  const bool keeps_attention =
      chosen.starts_with("keep ") && chosen.find("scaled_dot_product_attention") != std::string::npos;
  return mode + (mode == "eager" || chosen.empty() || keeps_attention ? "" : " lowered");
}

std::vector<std::string> labels_of(const Record& record) {
  return mapped(kLabels, [&](const char* key) { return record.config.text(key); });
}

}  // namespace

bool AttentionTable::suits(const Records& expected) {
  std::set<std::vector<std::string>> points;
  std::set<std::vector<std::string>> places;  // where the points ran: one place only, because rows compare modes
  bool is_suited = true;
  expected.each(Extent::kWithConfig, [&](const Record& record) {
    std::vector<std::string> point = labels_of(record);
    point.push_back(mode_of(record));
    places.insert({expected.are_of_one_command() ? "" : record.run, record.fingerprint, record.config.text("device")});
    is_suited = is_attention(record) && points.insert(std::move(point)).second && places.size() == 1;
    return is_suited;
  });
  return is_suited && !points.empty();
}

// The size with these labels; null if there is none. A planned point may lack some labels, which then match any text.
AttentionTable::Size* AttentionTable::find(const std::vector<std::string>& labels) {
  const auto is_same = [](const std::string& planned, const std::string& found) {
    return planned == found || planned.empty() || planned == "null";
  };
  const auto size =
      std::ranges::find_if(sizes_, [&](const Size& one) { return std::ranges::equal(one.labels, labels, is_same); });
  return size == sizes_.end() ? nullptr : &*size;
}

AttentionTable::AttentionTable(const Records& expected, const TableStyle& style) {
  expected.all(Extent::kWithConfig, [&](const Record& record) {
    const std::string mode = mode_of(record);
    if (!is_among(mode, modes_)) modes_.push_back(mode);
    Size* size = find(labels_of(record));
    if (size == nullptr) size = &sizes_.emplace_back(Size{labels_of(record)});
    ++size->expected;
  });
  Table table{.with_header = !style.quiet};
  const auto add = [&](const std::string& columns, size_t width) {
    for (TableColumn& column : columns_from(columns)) {
      column.width = width;
      table.columns.push_back(std::move(column));
    }
  };
  constexpr size_t kTimeWidth = 8;
  add(kLabelColumns, 0);
  for (const char* const phase : kPhases) {
    const auto shows = [&](const Size& size) { return has_phase(size.labels.back(), phase); };
    if (std::ranges::any_of(sizes_, shows)) phases_.emplace_back(phase);
  }
  for (const std::string& mode : modes_) {
    for (const std::string& phase : phases_) add(fmt::format("{0}_{1}_s={0} {1}", mode, phase), kTimeWidth);
  }
  if (modes_.size() > 1) add("gain=gain", 5);
  // With several modes side by side, 80 characters have no room for the memory before backward.
  shows_before_backward_ = modes_.size() == 1 && phases_.front() == kPhases.front();
  if (shows_before_backward_)
    add(fmt::format("{0}_before_backward_bytes={0} before backward@2", modes_.front()), kTimeWidth);
  for (const std::string& mode : modes_) add(fmt::format("{0}_peak_bytes={0} memory@1", mode), kTimeWidth);
  for (size_t i = kAlwaysShown; i < kLabels.size(); ++i) {
    const auto is_first = [&](const Size& size) { return size.labels[i] == sizes_.front().labels[i]; };
    table.columns[i].for_people = !std::ranges::all_of(sizes_, is_first);
  }
  for (const Size& size : sizes_) table.add({size.labels.begin(), size.labels.end()});
  rows_.emplace(table, style);
}

TableRow AttentionTable::row_of(const Size& size) const {
  TableRow row{.cells = {size.labels.begin(), size.labels.end()}};
  // One per mode; null if the mode's record has not arrived.
  const auto records = mapped(modes_, [&](const std::string& mode) { return at_key(size.by_mode, mode); });
  for (const Record* const record : records) {
    for (const std::string& phase : phases_) {
      TableCell& cell = row.cells.emplace_back();
      if (record == nullptr) continue;
      if (const TimeStats* const time = time_of(*record, phase); time != nullptr && std::isfinite(time->median)) {
        cell.value = time->median;
        cell.uncertainty = uncertainty_of(*time).value_or(0);
      } else if (record->status != Status::kOk) {
        cell.text = record->status == Status::kOutOfMemory ? "does not fit" : name_of(record->status);
      }
    }
  }
  if (modes_.size() > 1) {
    // The speed-up of the mode with the fewest launches over the mode with the most, in any order of the columns.
    const auto fusion = [](const std::string& mode) {
      return mode == "compile" ? 2 : mode.starts_with("compile") ? 1 : 0;
    };
    const auto [least, most] = std::ranges::minmax_element(modes_, {}, fusion);
    const Record* const first = records[static_cast<size_t>(least - modes_.begin())];
    const Record* const last = records[static_cast<size_t>(most - modes_.begin())];
    const auto is_ok = [](const Record* record) { return record != nullptr && record->status == Status::kOk; };
    TableCell& cell = row.cells.emplace_back();
    if (const auto gain = is_ok(first) && is_ok(last) ? speedup_of(*first, *last) : std::nullopt)
      cell = {gain->value, ratio_text(gain->value, gain->interval.low, gain->interval.high)};
  }
  const auto bytes_of = [](const Record* record, std::string_view column) {
    return record == nullptr ? Json(nullptr) : value_of(*record, column);
  };
  if (shows_before_backward_) row.cells.emplace_back(bytes_of(records.front(), "before_backward"));
  for (const Record* const record : records) row.cells.emplace_back(bytes_of(record, "peak"));
  return row;
}

std::string AttentionTable::print(Size& size) {
  size.is_printed = true;
  return rows_->add(row_of(size));
}

std::string AttentionTable::add(const Record& record) {
  Size* const size = find(labels_of(record));
  if (size == nullptr) return "";
  size->by_mode.insert_or_assign(mode_of(record), record);
  if (record.status != Status::kOk && record.status != Status::kOutOfMemory) {
    std::string reason = fmt::format("{}: {}", name_of(record.status), reason_of(record));
    if (!is_among(reason, reasons_)) reasons_.push_back(std::move(reason));
  }
  return size->by_mode.size() == size->expected && !size->is_printed ? print(*size) : "";
}

std::string AttentionTable::end() {
  std::string text;
  for (Size& size : sizes_) {
    if (!size.is_printed && !size.by_mode.empty()) text += print(size);
  }
  return text;
}

}  // namespace laptime
