// The lines, the timeline and the tables of a memory answer.
#include "report/memory_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "analysis/memory_ledger.h"
#include "base/words.h"
#include "report/words.h"

namespace laptime {
namespace {

constexpr size_t kSummaryRows = 6;  // rows of the timeline in a summary
constexpr size_t kRows = 12;
constexpr size_t kNamedShares = 4;
constexpr size_t kWidthWithoutTerminal = 100;
constexpr size_t kLeastColumns = 20;

struct Picture {
  const MemoryLedger& ledger;
  const TextStyle& style;
  size_t rows = kRows;
  size_t columns = 0;
  size_t margin = 0;  // width of the labels on the left
  int64_t top = 1;    // bytes at the top edge

  size_t column_of(size_t launch) const { return std::min(columns - 1, launch * columns / ledger.launches()); }

  // The height of a bar in eighths of a row, rounded up.
  size_t eighths_of(int64_t bytes) const {
    const double share = static_cast<double>(bytes) / static_cast<double>(top);
    return static_cast<size_t>(std::ceil(share * static_cast<double>(rows * 8) - 1e-9));
  }

  // The character of a bar in one row; `row` counts from the bottom; `height` and `resident` are in eighths of a
  // row.
  std::string cell(size_t row, size_t height, size_t resident) const {
    const size_t below = row * 8;
    if (height <= below) return " ";
    if (below + 4 < resident) return style.unicode ? "░" : ".";
    constexpr std::array kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    return style.unicode ? kBlocks.at(std::min<size_t>(8, height - below) - 1) : "#";
  }

  // Draws the bars. The peak labels the top edge, and the resident bytes label the row that they reach.
  std::string bars() const {
    const size_t resident = eighths_of(ledger.resident());
    const std::vector<size_t> heights =
        mapped(ledger.most_held(columns), [&](size_t launch) { return eighths_of(ledger.held(launch).total()); });
    std::string text;
    for (size_t row = rows; row-- > 0;) {
      const bool is_resident = row == (std::max<size_t>(1, resident) - 1) / 8;
      const std::string label = row == rows - 1 ? brief_bytes(top) : is_resident ? brief_bytes(ledger.resident()) : "";
      std::string line = pad_left(label, margin) + (style.unicode ? " ┤" : " |");
      for (const size_t height : heights) line += cell(row, height, resident);
      text += without_trailing_spaces(std::move(line)) + "\n";
    }
    return text;
  }

  // "├─ forward ────├─ backward ───": each phase label begins at the phase's first column.
  std::string phases() const {
    const std::string dash = style.unicode ? "─" : "-";
    std::string line = pad_left("", margin + 1);
    const std::vector<Section> sections = ledger.sections();
    size_t column = 0;
    for (size_t i = 0; i < sections.size(); ++i) {
      const size_t end = i + 1 < sections.size() ? column_of(sections[i + 1].first) + 1 : columns + 1;
      if (end <= column) continue;
      const std::string title = fmt::format("{} {} ", dash, sections[i].title);
      const size_t width = sections[i].title.size() + 3;
      const bool has_title = width < end - column;
      line += (style.unicode ? "├" : "|") + (has_title ? title : "");
      for (column += has_title ? width + 1 : 1; column < end; ++column) line += dash;
    }
    return line + "\n";
  }
};

Json share(int64_t part, int64_t whole) { return share_of(static_cast<double>(part), static_cast<double>(whole)); }

// The parts of the peak, which sum to the predicted bytes.
Table categories_table(const std::vector<Finding>& findings, const MemoryLedger& ledger) {
  Table table{.name = "categories", .columns = columns_from("<category=at the peak; bytes=bytes; share=share")};
  const auto add = [&](const std::string& key, int64_t bytes) {
    table.add({{key, spaced(key)}, bytes, share(bytes, ledger.planned())});
  };
  for (const Finding& finding : findings) {
    if (finding.kind == "memory_share" && finding.subject != kAlignmentAndGaps)
      add(finding.subject, finding.integer("bytes"));
  }
  add(std::string(kAlignmentAndGaps), ledger.rounding());
  add("peak", ledger.planned());
  return table;
}

Table phases_table(const std::vector<Finding>& findings) {
  Table table{.name = "phases",
              .columns = columns_from("<phase=phase; peak_bytes=peak; gradients_bytes=gradients@2; "
                                      "optimizer_state_bytes=optimizer state@3; saved_activations_bytes=saved@1; "
                                      "held_after_bytes=after@4; <op=peak at@5; <scope=@5")};
  for (const Finding& finding : findings) {
    if (finding.kind != "phase_peak") continue;
    table.add({finding.subject, finding.integer("bytes"), finding.integer("gradients_bytes"),
               finding.integer("optimizer_state_bytes"), finding.integer("saved_bytes"), finding.value("after_bytes"),
               finding.text("op"), finding.text("scope")});
  }
  return table;
}

// Bytes as requested by tensors, as placed by the plan and, after a run, as actually held.
Table accounts_table(const Record& record, const StepTrace& trace, const MemoryLedger& ledger) {
  const MemoryUse& memory = record.memory;
  Table table{.name = "accounts", .columns = columns_from("<account=account; bytes=bytes; <of=of")};
  const auto add = [&](const char* account, const std::optional<int64_t>& bytes, std::string of) {
    if (bytes) table.add({account, *bytes, std::move(of)});
  };
  const bool is_pooled = memory.reserved_bytes && memory.reserved_bytes != memory.peak_bytes;
  add("requested", ledger.peak().total(), "live tensors at the peak");
  add("planned", ledger.planned(),
      fmt::format("{} for the whole run, {} for the step", brief_bytes(trace.resident_bytes),
                  brief_bytes(ledger.planned() - trace.resident_bytes)));
  if (!was_held(record)) return table;
  add("held", memory.peak_bytes, is_pooled ? "requested on the device" : "allocated in whole pages");
  if (is_pooled) add("reserved", memory.reserved_bytes, "taken from the device by the step's memory pool");
  add("resident", memory.peak_rss_bytes,
      memory.base_rss_bytes ? fmt::format("of the process; {} before the step", brief_bytes(*memory.base_rss_bytes))
                            : "of the process");
  return table;
}

Table blocks_table(const SavedBytes& saved) {
  Table table{.name = "saved_blocks",
              .columns = columns_from("<of=saved by forward; blocks=blocks@2; block_bytes=one block@1; bytes=bytes; "
                                      "share=share; copies_bytes=autocast copies@3")};
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

Table contributors_table(const SavedBlock& block, const std::string& of) {
  constexpr size_t kShown = 5;
  Table table{.name = "saved_contributors",
              .columns = columns_from(fmt::format("<scope=largest saved by {}; <op=op; <dtype=dtype@2; <shape=shape@1; "
                                                  "tensors=tensors@3; bytes=bytes; share=share",
                                                  of))};
  std::vector<SavedTensors> groups = block.tensors;
  const auto bytes_of_one = [](const SavedTensors& tensors) { return tensors.bytes / tensors.count; };
  std::ranges::stable_sort(groups, std::greater{}, bytes_of_one);
  int64_t others = 0;
  int64_t other_bytes = 0;
  for (const SavedTensors& tensors : groups) {
    const int64_t bytes = bytes_of_one(tensors);
    for (int64_t i = 0; i < tensors.count; ++i) {
      if (table.rows.size() < kShown) {
        table.add({tensors.scope, tensors.op, tensors.dtype, tensors.shape, 1, bytes, share(bytes, block.bytes)});
      } else {
        ++others;
        other_bytes += bytes;
      }
    }
  }
  if (others > 0) table.add({"all others", "", "", "", others, other_bytes, share(other_bytes, block.bytes)});
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
              .columns = columns_from("<part=module; <op=op; tensors=tensors; bytes=bytes; share=share")};
  for (const SavedTensors& part : saved.parts)
    parts.add({part.scope, part.op, part.count, part.bytes, share(part.bytes, saved.total)});
  tables.push_back(std::move(parts));
  return tables;
}

Table largest_table(const StepTrace& trace, const MemoryLedger& ledger, int64_t top) {
  Table table{.name = "largest",
              .columns = columns_from("<tensor=tensor; <op=made by; <scope=in@3; bytes=bytes; count=count@1; "
                                      "alive_at_peak=at peak@2; <category=purpose@4; <shape=shape@5; <dtype=dtype@6")};
  const size_t limit = top > 0 ? static_cast<size_t>(top) : trace.buffer_count();
  for (const LargeTensors& tensors : largest_tensors(trace, ledger.peak_launch(), limit)) {
    const TraceBuffer& first = tensors.first;
    const MemoryCategory category = category_of(first);
    table.add({tensors.name,
               first.op,
               tensors.scope,
               first.bytes,
               tensors.buffers.size(),
               tensors.alive_at_peak,
               {key_of(category), title_of(category)},
               first.shape,
               first.dtype});
  }
  return table;
}

Table timeline_table(const StepTrace& trace, const MemoryLedger& ledger) {
  std::string columns = "launch=launch; <phase=phase; <scope=scope; <op=op; bytes=bytes";
  for (size_t i = 0; i < kMemoryCategoryCount; ++i)
    columns += fmt::format("; {}_bytes={}", key_of(category_at(i)), title_of(category_at(i)));
  Table table{.name = "timeline", .columns = columns_from(columns)};
  for (size_t launch = 0; launch < trace.launch_count(); ++launch) {
    const TraceLaunch at = trace.launch(launch);
    std::vector<TableCell> cells{launch, at.phase, at.scope, at.op, ledger.held(launch).total()};
    for (const int64_t bytes : ledger.held(launch).bytes) cells.emplace_back(bytes);
    table.add(std::move(cells));
  }
  return table;
}

std::string doubt_line(const Record& record, const Finding& peak) {
  if (record.status == Status::kOutOfMemory && peak.has("available_bytes")) {
    const int64_t missing = peak.integer("bytes") - peak.integer("available_bytes");
    return fmt::format("! does not fit: {} more than the {} available to the step",
                       brief_bytes(std::max<int64_t>(0, missing)), usable_words(peak));
  }
  if (record.status != Status::kOk) return fmt::format("! {}: {}", name_of(record.status), record.reason);
  return "";
}

}  // namespace

std::string timeline_text(const MemoryLedger& ledger, size_t rows, const TextStyle& style) {
  Picture picture{.ledger = ledger, .style = style, .rows = rows};
  picture.top = std::max<int64_t>(1, ledger.peak().total());
  picture.margin = std::max(brief_bytes(picture.top).size(), brief_bytes(ledger.resident()).size());
  const size_t width = style.width > 0 ? style.width : kWidthWithoutTerminal;
  picture.columns = std::max(kLeastColumns, width > picture.margin + 3 ? width - picture.margin - 3 : 0);
  return picture.bars() + picture.phases();
}

std::vector<Table> memory_tables(const Record& record, const StepTrace& trace, const MemoryQuery& query) {
  const MemoryLedger ledger(record, trace);
  const std::vector<Finding> findings = memory_findings(record, trace);
  std::vector<Table> tables;
  const auto shows = [&](MemoryView view) { return query.view == view || query.view == MemoryView::kAll; };
  if (shows(MemoryView::kTimeline)) tables.push_back(timeline_table(trace, ledger));
  if (query.view != MemoryView::kLargest && query.view != MemoryView::kTimeline)
    tables.push_back(categories_table(findings, ledger));
  if (shows(MemoryView::kPhases)) tables.push_back(phases_table(findings));
  if (shows(MemoryView::kAccounts)) tables.push_back(accounts_table(record, trace, ledger));
  if (shows(MemoryView::kSaved)) {
    for (Table& table : saved_tables(saved_bytes_of(trace))) tables.push_back(std::move(table));
  }
  if (shows(MemoryView::kLargest)) tables.push_back(largest_table(trace, ledger, query.top));
  return tables;
}

PointAnswer memory_answer(const Record& record, const StepTrace& trace, const MemoryQuery& query) {
  PointAnswer answer = answer_about(record);
  answer.findings = memory_findings(record, trace);
  const std::vector<Finding>& findings = answer.findings;
  answer.say(words_of(findings, "memory_peak"));
  answer.fill(memory_shares(findings, kNamedShares));
  const std::string peaks = joined_nonempty({phase_peaks(findings), words_of(findings, "saved_for_backward")}, "; ");
  if (!peaks.empty()) answer.say("  " + peaks);
  if (query.verbose) answer.say_findings({"phase_peak", "optimizer_memory", "residual_tensor"});
  const bool is_summary = query.view == MemoryView::kSummary;
  if (is_summary || query.view == MemoryView::kTimeline || query.view == MemoryView::kAll) {
    answer.draw([ledger = MemoryLedger(record, trace), rows = is_summary ? kSummaryRows : kRows](
                    const TextStyle& style) { return timeline_text(ledger, rows, style); });
  }
  for (Table& table : memory_tables(record, trace, query)) {
    const bool is_for_people = !is_summary && table.name != "timeline";
    is_for_people ? answer.show(std::move(table)) : answer.keep(std::move(table));
  }
  answer.say(doubt_line(record, findings.front()));
  return answer;
}

}  // namespace laptime
