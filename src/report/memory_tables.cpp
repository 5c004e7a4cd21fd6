// The tables of a memory answer, and the peaks of several points.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "analysis/memory_tensors.h"
#include "base/words.h"
#include "report/memory_answer.h"
#include "report/point_names.h"
#include "report/table_order.h"
#include "report/words.h"

namespace laptime {
namespace {

constexpr size_t kContributors = 5;

TableColumn bytes_of(std::string key, std::string title, int drop = 0) {
  return {.key = std::move(key), .title = std::move(title), .unit = Unit::kBytes, .drop = drop};
}
TableColumn count_of(std::string key, std::string title, int drop = 0) {
  return {.key = std::move(key), .title = std::move(title), .drop = drop};
}
TableColumn share_of_rows() { return {.key = "share", .title = "share", .unit = Unit::kFraction}; }

Json share(int64_t part, int64_t whole) {
  return whole > 0 ? Json(static_cast<double>(part) / static_cast<double>(whole)) : Json(nullptr);
}

// The parts of the peak, which add up to the bytes that the plan allocates.
Table categories_table(const MemoryLedger& ledger) {
  Table table{.name = "categories",
              .columns = {text_of_rows("category", "at the peak"), bytes_of("bytes", "bytes"), share_of_rows()}};
  std::vector<std::pair<std::string, int64_t>> parts;
  for (size_t i = 0; i < kMemoryCategoryCount; ++i)
    parts.emplace_back(key_of(category_at(i)), ledger.peak().bytes.at(i));
  std::stable_sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::erase_if(parts, [](const auto& part) { return part.second <= 0; });
  parts.emplace_back("alignment_and_gaps", ledger.rounding());
  parts.emplace_back("peak", ledger.planned());
  for (const auto& [key, bytes] : parts) table.add({{key, category_words(key)}, bytes, share(bytes, ledger.planned())});
  return table;
}

Table phases_table(const std::vector<Finding>& findings) {
  Table table{
      .name = "phases",
      .columns = {text_of_rows("phase", "phase"), bytes_of("peak_bytes", "peak"),
                  bytes_of("gradients_bytes", "gradients", 2), bytes_of("optimizer_state_bytes", "optimizer state", 3),
                  bytes_of("saved_activations_bytes", "saved", 1), bytes_of("held_after_bytes", "after", 4),
                  text_of_rows("op", "peak at", 5), text_of_rows("scope", "", 5)}};
  for (const Finding& finding : findings) {
    if (finding.kind != "phase_peak") continue;
    table.add({finding.subject, finding.integer("bytes"), finding.integer("gradients_bytes"),
               finding.integer("optimizer_state_bytes"), finding.integer("saved_bytes"),
               finding.has("after_bytes") ? Json(finding.integer("after_bytes")) : Json(nullptr), finding.text("op"),
               finding.text("scope")});
  }
  return table;
}

// Bytes as tensors ask for them, as the plan places them and, after a run, as they were held.
Table accounts_table(const Record& record, const StepTrace& trace, const MemoryLedger& ledger) {
  const MemoryUse& memory = record.memory;
  Table table{.name = "accounts",
              .columns = {text_of_rows("account", "account"), bytes_of("bytes", "bytes"), text_of_rows("of", "of")}};
  const auto add = [&](const char* account, const std::optional<int64_t>& bytes, std::string of) {
    if (bytes) table.add({account, *bytes, std::move(of)});
  };
  const bool is_pooled = memory.reserved_bytes && memory.reserved_bytes != memory.peak_bytes;
  add("requested", ledger.peak().total(), "tensors alive at the peak");
  add("planned", ledger.planned(),
      fmt::format("{} for the whole run, {} for the step", brief_bytes(trace.resident_bytes),
                  brief_bytes(trace.arena_bytes)));
  if (!was_held(record)) return table;
  add("held", memory.peak_bytes, is_pooled ? "asked for on the device" : "allocated in whole pages");
  if (is_pooled) add("reserved", memory.reserved_bytes, "taken from the device by the pool of the step");
  add("resident", memory.peak_rss_bytes,
      memory.base_rss_bytes ? fmt::format("of the process; {} before the step", brief_bytes(*memory.base_rss_bytes))
                            : "of the process");
  return table;
}

Table blocks_table(const SavedBytes& saved) {
  Table table{.name = "saved_blocks",
              .columns = {text_of_rows("of", "saved by forward"), count_of("blocks", "blocks", 2),
                          bytes_of("block_bytes", "one block", 1), bytes_of("bytes", "bytes"), share_of_rows(),
                          bytes_of("copies_bytes", "autocast copies", 3)}};
  const auto add = [&](std::string of, Json count, Json one, int64_t bytes, int64_t copies) {
    table.add({std::move(of), std::move(count), std::move(one), bytes, share(bytes, saved.total),
               saved.copies > 0 ? Json(copies) : Json(nullptr)});
  };
  for (const SavedBlock& block : saved.blocks) {
    const auto count = static_cast<int64_t>(block.layers.size());
    add(layers_text(block.layers), count, block.bytes, block.bytes * count, block.copies * count);
  }
  if (saved.rest.bytes > 0)
    add(saved.blocks.empty() ? "the step" : "outside the layers", nullptr, nullptr, saved.rest.bytes,
        saved.rest.copies);
  if (saved.shared > 0) add("inputs and constants", nullptr, nullptr, saved.shared, 0);
  add("all", nullptr, nullptr, saved.total, saved.copies);
  return table;
}

// Every tensor of a block, the largest first.
std::vector<SavedTensors> single_tensors(const SavedBlock& block) {
  std::vector<SavedTensors> singles;
  for (const SavedTensors& tensors : block.tensors) {
    SavedTensors one = tensors;
    one.count = 1;
    one.bytes = tensors.bytes / tensors.count;
    singles.insert(singles.end(), static_cast<size_t>(tensors.count), one);
  }
  std::stable_sort(singles.begin(), singles.end(),
                   [](const SavedTensors& a, const SavedTensors& b) { return a.bytes > b.bytes; });
  return singles;
}

Table contributors_table(const SavedBlock& block, const std::string& of) {
  Table table{.name = "saved_contributors",
              .columns = {text_of_rows("scope", "largest saved by " + of), text_of_rows("op", "op"),
                          text_of_rows("dtype", "dtype", 2), text_of_rows("shape", "shape", 1),
                          count_of("tensors", "tensors", 3), bytes_of("bytes", "bytes"), share_of_rows()}};
  const std::vector<SavedTensors> tensors = single_tensors(block);
  const size_t shown = std::min(kContributors, tensors.size());
  int64_t others = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const SavedTensors& tensor = tensors[i];
    if (i >= shown) {
      others += tensor.bytes;
      continue;
    }
    table.add({tensor.scope, tensor.op, tensor.dtype, tensor.shape, tensor.count, tensor.bytes,
               share(tensor.bytes, block.bytes)});
  }
  if (tensors.size() > shown)
    table.add({"all others", "", "", "", tensors.size() - shown, others, share(others, block.bytes)});
  return table;
}

std::vector<Table> saved_tables(const SavedBytes& saved) {
  if (saved.total == 0) return {};
  std::vector<Table> tables{blocks_table(saved)};
  if (const SavedBlock* const block = usual_block(saved); block != nullptr) {
    tables.push_back(contributors_table(*block, block->layers.size() == 1 ? "its layer" : "one layer"));
  } else if (saved.rest.bytes > 0) {
    tables.push_back(contributors_table(saved.rest, "forward"));
  }
  Table parts{.name = "saved_by_op",
              .columns = {text_of_rows("part", "module"), text_of_rows("op", "op"), count_of("tensors", "tensors"),
                          bytes_of("bytes", "bytes"), share_of_rows()}};
  for (const SavedPart& part : saved.parts)
    parts.add({part.part, part.op, part.count, part.bytes, share(part.bytes, saved.total)});
  tables.push_back(std::move(parts));
  return tables;
}

// The largest allocations, those of equal layers in one row.
Table largest_table(const StepTrace& trace, const MemoryLedger& ledger, int64_t top) {
  Table table{.name = "largest",
              .columns = {text_of_rows("tensor", "tensor"), text_of_rows("op", "made by"),
                          text_of_rows("scope", "in", 3), bytes_of("bytes", "bytes"), count_of("count", "count", 1),
                          count_of("alive_at_peak", "at peak", 2), text_of_rows("category", "held as", 4),
                          text_of_rows("shape", "shape", 5), text_of_rows("dtype", "dtype", 6)}};
  const size_t limit = top > 0 ? static_cast<size_t>(top) : trace.buffer_count();
  for (const LargeTensors& tensors : largest_tensors(trace, ledger.peak_launch(), limit)) {
    const std::string category(key_of(tensors.category));
    table.add({tensors.name,
               tensors.op,
               tensors.scope,
               tensors.bytes,
               tensors.buffers.size(),
               tensors.alive_at_peak,
               {category, category_words(category)},
               tensors.shape,
               tensors.dtype});
  }
  return table;
}

// The bytes held while each launch runs, as requested.
Table timeline_table(const StepTrace& trace, const MemoryLedger& ledger) {
  Table table{.name = "timeline",
              .columns = {count_of("launch", "launch"), text_of_rows("phase", "phase"), text_of_rows("scope", "scope"),
                          text_of_rows("op", "op"), bytes_of("bytes", "bytes")}};
  for (size_t i = 0; i < kMemoryCategoryCount; ++i)
    table.columns.push_back(
        bytes_of(fmt::format("{}_bytes", key_of(category_at(i))), category_words(key_of(category_at(i)))));
  for (size_t launch = 0; launch < trace.launch_count(); ++launch) {
    const TraceLaunch at = trace.launch(launch);
    std::vector<TableCell> cells{launch, at.phase, at.scope, at.op, ledger.held(launch).total()};
    for (const int64_t bytes : ledger.held(launch).bytes) cells.emplace_back(bytes);
    table.add(std::move(cells));
  }
  return table;
}

// The name of a point without its pass and number type: "step/model:small/dtype:float32/mode:eager" ->
// "model:small/mode:eager".
std::string without_pass_and_dtype(std::string_view name) {
  std::string kept;
  for (bool is_first = true; !name.empty(); is_first = false) {
    const size_t slash = name.find('/');
    const std::string_view word = name.substr(0, slash);
    name = slash == std::string_view::npos ? std::string_view() : name.substr(slash + 1);
    if (is_first || word.starts_with("dtype:")) continue;
    kept += (kept.empty() ? "" : "/") + std::string(word);
  }
  return kept;
}

void append_new(std::vector<std::string>& words, const std::string& word) {
  if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
}

int64_t peak_of(const Record& record) {
  return record.memory.predicted_peak_bytes.value_or(record.memory.peak_bytes.value_or(0));
}

// The limit of all points, in words; none where they differ by more than the available memory does from moment to
// moment.
std::string limit_words(const std::vector<const Record*>& records) {
  constexpr double kMoments = 0.05;
  std::optional<UsableMemory> least;
  int64_t most = 0;
  for (const Record* const record : records) {
    const auto usable = usable_memory(*record);
    if (!usable) continue;
    if (!least || usable->bytes < least->bytes) least = usable;
    most = std::max(most, usable->bytes);
  }
  if (!least || static_cast<double>(most - least->bytes) > kMoments * static_cast<double>(most)) return "";
  Json values{{"available_bytes", least->bytes}, {"is_limit", least->is_limit}};
  if (least->whole) values["whole_bytes"] = *least->whole;
  return usable_words({.kind = "memory_peak", .subject = {}, .values = std::move(values)});
}

// The smallest peak that does not fit; none where everything fits, or where a larger peak fits another device.
std::optional<int64_t> least_too_large(const std::vector<const Record*>& records) {
  std::optional<int64_t> least;
  for (const Record* const record : records) {
    if (record->status == Status::kOutOfMemory && (!least || peak_of(*record) < *least)) least = peak_of(*record);
  }
  const bool larger_one_fits = std::any_of(records.begin(), records.end(), [&](const Record* record) {
    return record->status != Status::kOutOfMemory && least && peak_of(*record) >= *least;
  });
  return larger_one_fits ? std::nullopt : least;
}

std::vector<TableColumn> peak_columns() {
  return {text_of_rows("point", "point"),
          text_of_rows("basis", "basis", 6),
          bytes_of("peak_bytes", "peak"),
          text_of_rows("phase", "in", 5),
          bytes_of("parameters_bytes", "parameters", 2),
          bytes_of("gradients_bytes", "gradients", 2),
          bytes_of("optimizer_state_bytes", "optimizer", 2),
          bytes_of("saved_activations_bytes", "saved", 1),
          bytes_of("autocast_copies_bytes", "copies", 3),
          bytes_of("temporaries_bytes", "temporaries", 4),
          bytes_of("other_bytes", "other", 7)};
}

}  // namespace

std::vector<Table> memory_tables(const Record& record, const StepTrace& trace, const MemoryQuery& query) {
  const MemoryLedger ledger(trace);
  std::vector<Table> tables;
  const auto shows = [&](MemoryView view) { return query.view == view || query.view == MemoryView::kAll; };
  if (shows(MemoryView::kTimeline)) tables.push_back(timeline_table(trace, ledger));
  if (query.view != MemoryView::kLargest && query.view != MemoryView::kTimeline)
    tables.push_back(categories_table(ledger));
  if (shows(MemoryView::kPhases)) tables.push_back(phases_table(memory_findings(record, trace)));
  if (shows(MemoryView::kAccounts)) tables.push_back(accounts_table(record, trace, ledger));
  if (shows(MemoryView::kSaved)) {
    for (Table& table : saved_tables(saved_bytes_of(trace))) tables.push_back(std::move(table));
  }
  if (shows(MemoryView::kLargest)) tables.push_back(largest_table(trace, ledger, query.top));
  return tables;
}

MemoryPeaks::MemoryPeaks(std::string_view order) : order_(order) {
  if (!order.empty()) TableOrder(Table{.name = "peaks", .columns = peak_columns()}, order, false);
}

void MemoryPeaks::add(const Record& record, const std::optional<StepTrace>& trace) {
  Row row{.record = record, .cells = std::vector<TableCell>(peak_columns().size())};
  row.cells[0] = TableCell(record.name);
  if (!trace) {
    row.cells[1] = TableCell(std::string(name_of(record.status)));
    rows_.push_back(std::move(row));
    return;
  }
  const MemoryLedger ledger(*trace);
  const CategoryBytes& peak = ledger.peak();
  constexpr std::array kNamed{MemoryCategory::kParameters,     MemoryCategory::kGradients,
                              MemoryCategory::kOptimizerState, MemoryCategory::kSaved,
                              MemoryCategory::kAutocastCopies, MemoryCategory::kTemporaries};
  const bool fits = record.status != Status::kOutOfMemory;
  row.cells[1] = TableCell(was_held(record) ? "measured" : fits ? "predicted" : "does not fit");
  row.cells[2] = TableCell(ledger.planned());
  if (trace->launch_count() > 0) row.cells[3] = TableCell(std::string(trace->launch(ledger.peak_launch()).phase));
  int64_t named = 0;
  for (size_t i = 0; i < kNamed.size(); ++i) {
    row.cells[4 + i] = TableCell(peak[kNamed.at(i)]);
    named += peak[kNamed.at(i)];
  }
  row.cells.back() = TableCell(ledger.planned() - named);
  if (!row.record.memory.predicted_peak_bytes) row.record.memory.predicted_peak_bytes = ledger.planned();
  rows_.push_back(std::move(row));
}

PointAnswer MemoryPeaks::answer() const {
  PointAnswer answer{.name = fmt::format("peaks of {} points", rows_.size())};
  Table table{.name = "peaks", .columns = peak_columns()};
  std::vector<std::string> names;
  std::vector<const Record*> records;
  for (const Row& row : rows_) {
    names.push_back(row.record.name);
    if (!row.cells[2].value.is_null()) records.push_back(&row.record);
  }
  const std::string common = common_words(names);
  for (const Row& row : rows_) {
    table.add(row.cells);
    table.rows.back().cells.front().text = spoken_name(row.record.name, common);
  }
  for (size_t i = 4; i < table.columns.size(); ++i) {  // a column without bytes says nothing
    const bool is_empty = std::all_of(table.rows.begin(), table.rows.end(), [&](const TableRow& row) {
      return row.cells[i].value.is_null() || row.cells[i].value == 0;
    });
    if (is_empty) table.columns[i].for_people = false;
  }
  if (!order_.empty()) {
    std::vector<TableRow> rows;
    for (const size_t row : row_order(table, TableOrder(table, order_, false)))
      rows.push_back(std::move(table.rows[row]));
    table.rows = std::move(rows);
  }
  if (!records.empty()) {
    const auto fitting = static_cast<size_t>(std::count_if(
        records.begin(), records.end(), [](const Record* record) { return record->status != Status::kOutOfMemory; }));
    const std::string limit = limit_words(records);
    const auto [least, most] = std::minmax_element(
        records.begin(), records.end(), [](const Record* a, const Record* b) { return peak_of(*a) < peak_of(*b); });
    answer.say(fmt::format("peaks of {} to {}; {}{}", brief_bytes(peak_of(**least)), brief_bytes(peak_of(**most)),
                           fitting == records.size() ? fmt::format("all {} fit", fitting)
                                                     : fmt::format("{} of {} fit", fitting, records.size()),
                           limit.empty() ? "" : " into " + limit));
  }
  std::optional<Table> by_pass = peaks_by_pass(records);
  by_pass&& order_.empty() ? answer.keep(std::move(table)) : answer.show(std::move(table));
  if (by_pass) order_.empty() ? answer.show(std::move(*by_pass)) : answer.keep(std::move(*by_pass));
  return answer;
}

std::optional<Table> peaks_by_pass(const std::vector<const Record*>& records) {
  std::vector<std::string> points;
  std::vector<std::string> passes;
  const auto pass_of = [](const Record& record) {
    return fmt::format("{} {}", record.config.text("pass"), record.config.text("dtype"));
  };
  for (const Record* const record : records) {
    append_new(points, without_pass_and_dtype(record->name));
    append_new(passes, pass_of(*record));
  }
  if (passes.size() < 2) return std::nullopt;
  const bool has_point_rows = points.size() >= passes.size();  // a terminal has more room for rows than for columns
  const std::string common = common_words(points);
  const auto title_of = [&](const std::string& text, bool is_point) {
    return is_point ? spoken_name(text, common) : text;
  };
  Table table{.name = "peaks_by_pass",
              .columns = {text_of_rows(has_point_rows ? "point" : "pass", spoken_name(common))}};
  const std::optional<int64_t> too_large = least_too_large(records);
  for (const std::string& column : has_point_rows ? passes : points) {
    std::string key = has_point_rows ? column : without_words(column, common);
    std::replace(key.begin(), key.end(), ' ', '_');
    table.columns.push_back(bytes_of(key + "_bytes", title_of(column, !has_point_rows)));
  }
  for (const std::string& row : has_point_rows ? points : passes) {
    std::vector<TableCell> line(table.columns.size());
    line[0] = TableCell(has_point_rows ? without_words(row, common) : row, title_of(row, has_point_rows));
    for (const Record* const record : records) {
      const std::string point = without_pass_and_dtype(record->name);
      const std::string pass = pass_of(*record);
      if ((has_point_rows ? point : pass) != row) continue;
      const std::vector<std::string>& columns = has_point_rows ? passes : points;
      const auto at = std::find(columns.begin(), columns.end(), has_point_rows ? pass : point) - columns.begin();
      const int64_t bytes = peak_of(*record);
      TableCell cell(bytes);
      if (too_large && bytes >= *too_large) cell.text = brief_bytes(bytes) + " *";
      line[static_cast<size_t>(at) + 1] = std::move(cell);
    }
    table.add(std::move(line));
  }
  if (too_large) table.notes.emplace_back("* does not fit");
  return table;
}

}  // namespace laptime
