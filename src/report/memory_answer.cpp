// The lines and the timeline of a memory answer.
#include "report/memory_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "report/words.h"

namespace laptime {
namespace {

constexpr size_t kSummaryRows = 6;  // of the timeline
constexpr size_t kRows = 12;
constexpr size_t kNamedShares = 4;
constexpr size_t kWidthWithoutTerminal = 100;
constexpr size_t kLeastColumns = 20;

struct Picture {
  const MemoryLedger& ledger;
  const TextStyle& style;
  size_t rows = kRows;
  size_t columns = 0;
  size_t margin = 0;  // width of the labels at the left
  int64_t top = 1;    // bytes at the upper edge

  size_t begin_of(size_t column) const { return column * ledger.launches() / columns; }
  size_t column_of(size_t launch) const { return std::min(columns - 1, launch * columns / ledger.launches()); }

  // The most bytes held during the launches of a column.
  int64_t held(size_t column) const {
    const size_t begin = begin_of(column);
    const size_t end = std::max(begin + 1, begin_of(column + 1));
    int64_t most = 0;
    for (size_t launch = begin; launch < end; ++launch) most = std::max(most, ledger.held(launch).total());
    return most;
  }

  size_t eighths_of(int64_t bytes) const {
    const double share = static_cast<double>(bytes) / static_cast<double>(top);
    return static_cast<size_t>(std::ceil(share * static_cast<double>(rows * 8) - 1e-9));
  }

  // One character of a bar; `row` counts from the bottom.
  std::string cell(size_t row, size_t filled, size_t resident) const {
    const size_t below = row * 8;
    if (filled <= below) return " ";
    if (below + 4 < resident) return style.unicode ? "░" : ".";
    if (!style.unicode) return "#";
    constexpr std::array kBlocks{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    return kBlocks.at(std::min<size_t>(8, filled - below) - 1);
  }

  // The peak at the upper edge, and the bytes that live for the whole run beside their row.
  std::string label(size_t row) const {
    if (row == rows - 1) return brief_bytes(top);
    const size_t resident = eighths_of(ledger.resident());
    return row == (resident == 0 ? 0 : (resident - 1) / 8) ? brief_bytes(ledger.resident()) : "";
  }
};

std::string bars(const Picture& picture) {
  std::vector<size_t> filled;
  for (size_t column = 0; column < picture.columns; ++column)
    filled.push_back(picture.eighths_of(picture.held(column)));
  const size_t resident = picture.eighths_of(picture.ledger.resident());
  std::string text;
  for (size_t row = picture.rows; row-- > 0;) {
    std::string line = pad_left(picture.label(row), picture.margin) + (picture.style.unicode ? " ┤" : " |");
    for (size_t column = 0; column < picture.columns; ++column) line += picture.cell(row, filled[column], resident);
    text += without_trailing_spaces(std::move(line)) + "\n";
  }
  return text;
}

// "├─ forward ────├─ backward ───": each phase begins at its first column.
std::string phase_line(const Picture& picture) {
  const std::string dash = picture.style.unicode ? "─" : "-";
  const std::string corner = picture.style.unicode ? "├" : "|";
  std::string line = pad_left("", picture.margin + 1);
  const std::vector<Section> sections = picture.ledger.sections();
  size_t column = 0;
  for (size_t i = 0; i < sections.size(); ++i) {
    const size_t end = i + 1 < sections.size() ? picture.column_of(sections[i + 1].first) + 1 : picture.columns + 1;
    if (end <= column) continue;
    std::string title = fmt::format(" {} ", sections[i].title);
    if (title.size() + 2 > end - column) title.clear();
    line += corner;
    size_t used = 1;
    if (!title.empty()) {
      line += dash + title;
      used += 1 + title.size();
    }
    for (; used < end - column; ++used) line += dash;
    column = end;
  }
  return line + "\n";
}

// Whether the point fits, where it does not.
std::string doubt_line(const Record& record, const Finding& peak) {
  if (record.status == Status::kOutOfMemory && peak.has("available_bytes")) {
    const int64_t missing = peak.integer("bytes") - peak.integer("available_bytes");
    return fmt::format("! does not fit: {} more than the {} that the step may use",
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
  return bars(picture) + phase_line(picture);
}

PointAnswer memory_answer(const Record& record, const StepTrace& trace, const MemoryQuery& query) {
  PointAnswer answer{.name = record.name,
                     .status = std::string(name_of(record.status)),
                     .reason = record.reason,
                     .findings = memory_findings(record, trace)};
  const std::vector<Finding>& findings = answer.findings;
  answer.say(memory_headline(findings));
  answer.draw([shares = memory_shares(findings, kNamedShares)](const TextStyle& style) {
    std::string text;
    for (const std::string& line : filled(shares, style.width)) text += line + "\n";
    return text;
  });
  const std::string peaks = phase_peaks(findings);
  const std::string saved = saved_words(findings);
  if (!peaks.empty() || !saved.empty())
    answer.say(fmt::format("  {}{}{}", peaks, peaks.empty() || saved.empty() ? "" : "; ", saved));
  if (query.verbose) {
    for (const Finding& finding : findings) {
      for (const std::string_view kind : {"phase_peak", "optimizer_memory", "residual_tensor"}) {
        if (finding.kind == kind) answer.say("  " + words(finding));
      }
    }
  }
  const bool is_summary = query.view == MemoryView::kSummary;
  if (is_summary || query.view == MemoryView::kTimeline || query.view == MemoryView::kAll) {
    answer.draw([trace, rows = is_summary ? kSummaryRows : kRows](const TextStyle& style) {
      return timeline_text(MemoryLedger(trace), rows, style);
    });
  }
  for (Table& table : memory_tables(record, trace, query)) {
    const bool is_for_people = !is_summary && table.name != "timeline";
    is_for_people ? answer.show(std::move(table)) : answer.keep(std::move(table));
  }
  answer.say(doubt_line(record, findings.front()));
  return answer;
}

}  // namespace laptime
