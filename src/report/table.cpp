// Aligned text.
#include "report/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "record/metrics.h"
#include "report/compare_command.h"
#include "report/lines.h"
#include "report/table_notes.h"
#include "table/aligned.h"
#include "table/text.h"

namespace laptime {

// Where the columns of a table stand.
struct TableLayout {
  std::vector<Column> columns;
  std::vector<std::string> hidden;
  bool is_stacked = false;  // a line for each column of a record, because a row would not fit
};

namespace {

size_t full_width(const Column& column) {
  return column.width + (column.bracket_width > 0 ? column.bracket_width + 1 : 0);
}

// Leaves out what may be left out, the least important first, until a line fits; where none does, stacks all columns.
//
// `names` are the widths of names beyond their column, which then takes the room that is left for the longest that
// fits.
TableLayout laid_out(std::vector<Column> columns, size_t terminal, const std::set<size_t>& names) {
  TableLayout layout;
  const std::vector<Column> all = columns;
  const auto needed = [&] {
    size_t sum = 0;
    for (const Column& column : columns) sum += full_width(column) + kColumnGap;
    return sum - kColumnGap;
  };
  for (Column& column : columns) {
    if (terminal == 0 || needed() <= terminal) break;
    if (!column.bracket_may_go || column.bracket_width == 0) continue;
    column.bracket_width = 0;
    layout.hidden.push_back(fmt::format("the interval of {}", column.title));
  }
  while (terminal > 0 && needed() > terminal) {
    const auto least = std::max_element(columns.begin(), columns.end(),
                                        [](const Column& a, const Column& b) { return a.drop < b.drop; });
    if (least->drop == 0) break;
    layout.hidden.push_back(least->title);
    columns.erase(least);
  }
  if (terminal > 0 && needed() > terminal && columns.size() > 1)
    return {.columns = all, .hidden = {}, .is_stacked = true};
  if (terminal > 0) {
    const size_t most = columns.front().width + terminal - std::min(terminal, needed());
    for (const size_t width : names) {
      if (width <= most) columns.front().width = std::max(columns.front().width, width);
    }
  }
  layout.columns = std::move(columns);
  return layout;
}

void append_left(std::string& line, std::string_view text, size_t width) {
  const size_t used = display_width(text);
  line += text;
  line.append(width > used ? width - used : 0, ' ');
}

void append_right(std::string& line, std::string_view text, size_t width) {
  const size_t used = display_width(text);
  line.append(width > used ? width - used : 0, ' ');
  line += text;
}

// Figures flush right, what stands in brackets behind them flush left.
void append_padded(std::string& line, std::string_view cell, const Column& column) {
  if (column.text) {
    append_left(line, cell, column.width);
    return;
  }
  const size_t bracket = cell.find(" (");
  if (column.bracket_width == 0) {
    const bool cut = column.bracket_may_go && bracket != cell.npos && cell.find("(predicted)") == cell.npos;
    append_right(line, cut ? cell.substr(0, bracket) : cell, column.width);
    return;
  }
  append_right(line, cell.substr(0, bracket), column.width);
  line += ' ';
  append_left(line, bracket == cell.npos ? std::string_view() : cell.substr(bracket + 1), column.bracket_width);
}

// A row. `append(line, i)` adds the cell of column i.
template <class Append>
std::string joined_cells(const TableLayout& layout, const Append& append) {
  std::string text;
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    if (i > 0) text.append(kColumnGap, ' ');
    append(text, i);
  }
  return without_trailing_spaces(std::move(text)) + "\n";
}

// Free text below a row, or behind its first cells; broken at spaces where a terminal is narrow.
std::string wrapped(const std::string& line, size_t width) {
  constexpr size_t kHanging = 2;
  return without_trailing_spaces(broken_at_spaces(line, width, kHanging)) + "\n";
}

// A record, a line for each of its columns, then for those of its phases, and its notes.
std::string stacked_text(const std::vector<TableLine>& lines, const TableLayout& layout, const TableStyle& style) {
  const std::vector<Column>& columns = layout.columns;
  const auto safe = [&](const std::string& text) { return terminal_text(text, style.unicode); };
  const bool is_named = columns.front().title == "name";
  std::string text;
  std::vector<Cells> rows;
  std::string notes;
  for (const TableLine& line : lines) {
    const bool has_heading = is_named || line.of_phase;
    const std::string indent(line.of_phase ? 4 : 2, ' ');
    if (has_heading && !line.cells.empty()) {
      const std::string name = safe(line.cells.front());
      if (line.of_phase) {
        rows.push_back({name});
      } else {
        text += wrapped(name, style.width);
      }
    }
    for (size_t i = has_heading ? 1 : 0; i < line.cells.size(); ++i) {
      if (line.of_phase && !columns[i].of_phase) continue;
      rows.push_back({indent + safe(columns[i].header()), safe(line.cells[i])});
    }
    if (!line.rest.empty()) notes += wrapped((line.cells.empty() ? "" : indent) + safe(line.rest), style.width);
  }
  return text + aligned(rows, {}, 0, style.width) + notes;
}

std::string line_text(TableLine line, const TableLayout& layout, const TableStyle& style) {
  const std::string rest = terminal_text(std::move(line.rest), style.unicode);
  if (line.cells.empty()) return wrapped(rest, style.width);
  for (std::string& cell : line.cells) cell = terminal_text(std::move(cell), style.unicode);
  const Column& first = layout.columns[0];
  std::string long_name;
  if (first.text && display_width(line.cells[0]) > first.width && line.cells.size() > 1) {
    long_name = line.cells[0] + "\n";
    line.cells[0].clear();
  }
  if (rest.empty()) {
    return long_name + joined_cells(layout, [&](std::string& text, size_t i) {
             append_padded(text, line.cells[i], layout.columns[i]);
           });
  }
  std::string row;
  for (size_t i = 0; i < line.cells.size(); ++i) {
    append_padded(row, line.cells[i], layout.columns[i]);
    row.append(kColumnGap, ' ');
  }
  return wrapped(row + rest, style.width);
}

std::string header(const TableLayout& layout, const TableStyle& style) {
  if (layout.is_stacked) return "";
  const std::string titles = joined_cells(layout, [&](std::string& line, size_t i) {
    const Column& column = layout.columns[i];
    if (column.bracket_width == 0) {
      append_padded(line, terminal_text(column.title, style.unicode), column);
    } else {
      append_right(line, column.title, column.width);
      const size_t width = full_width(column) - column.width;
      append_left(line, column.remark.empty() ? "" : " " + column.remark, width);
    }
  });
  return titles + joined_cells(layout, [&](std::string& line, size_t i) {
           for (size_t k = 0; k < full_width(layout.columns[i]); ++k) line += style.unicode ? "─" : "-";
         });
}

// The lines of a record, without reasons that a row before it has said already, and where a row comes from that its
// command did not measure.
std::vector<TableLine> lines_with_source(const Record& record, const TableLayout& layout, const TableStyle& style,
                                         const Heading& heading, TableNotes& notes) {
  const std::vector<std::string> fresh = style.verbose ? record.verdict.reasons : notes.take_reasons(record);
  std::vector<TableLine> lines =
      lines_of(Row(record), layout.columns,
               {.details = style.details, .verbose = style.verbose, .heading = &heading, .reasons = &fresh});
  if (style.stored_runs != nullptr && style.stored_runs->contains(record.run))
    lines.push_back({{},
                     fmt::format("  from the store, {} {}", is_predicted(record) ? "predicted" : "measured",
                                 minute_of(record.created))});
  return lines;
}

// The line before the rows of a run.
std::string run_line(const Record& first, const TableStyle& style) {
  // The name of a run begins with its date.
  const std::string text =
      fmt::format("run {}{}", first.run.empty() ? "without a name, " + minute_of(first.created) : first.run,
                  first.sweep.empty() ? "" : ", " + first.sweep);
  return wrapped(terminal_text(text, style.unicode), style.width);
}

// How to see one of several runs.
std::string runs_text(const Heading& heading, const TableStyle& style) {
  if (!style.tells_runs || heading.run_count() < 2) return "";
  const std::string text =
      fmt::format("rows of {} runs; --last shows the last one alone, and --run NAME any other (--columns name,run)",
                  heading.run_count());
  return "\n" + wrapped(text, style.width);
}

// A record as rows below a header, or stacked.
std::string record_text(std::vector<TableLine> lines, const TableLayout& layout, const TableStyle& style) {
  if (layout.is_stacked) return stacked_text(lines, layout, style);
  std::string text;
  for (TableLine& line : lines) text += line_text(std::move(line), layout, style);
  return text;
}

// The lines above a table.
std::string heading_text(const Heading& heading, const Record& first, const TableLayout& layout,
                         const TableStyle& style) {
  std::string text;
  for (const std::string& line : heading.lines(first)) text += wrapped(terminal_text(line, style.unicode), style.width);
  if (!layout.hidden.empty()) {
    const std::string hidden =
        fmt::format("hidden for want of width: {} ({})", fmt::join(layout.hidden, ", "),
                    style.store == "none" ? "--columns all shows them"
                                          : "laptime show --last --columns all" + store_words(style.store));
    text += wrapped(terminal_text(hidden, style.unicode), style.width);
  }
  return text + (text.empty() ? "" : "\n");
}

void widen_to_titles(std::vector<Column>& columns, bool unicode) {
  for (Column& column : columns) {
    column.width = std::max(column.width, display_width(terminal_text(column.title, unicode)));
    if (column.bracket_width > 0) {
      column.bracket_width = std::max(column.bracket_width, display_width(terminal_text(column.remark, unicode)));
    }
  }
}

// Widens a column to a cell. A name wider than a third of the terminal is noted in `names` instead.
void widen(Column& column, const std::string& cell, bool is_first, const TableStyle& style, std::set<size_t>& names) {
  constexpr size_t kLeastName = 16;
  constexpr size_t kMostName = 40;
  const size_t most = style.width == 0 ? kMostName : std::clamp(style.width / 3, kLeastName, kMostName);
  const std::string safe = terminal_text(cell, style.unicode);
  const std::string_view text = safe;
  const size_t bracket = column.bracket_width > 0 ? text.find(" (") : std::string::npos;
  const size_t width = display_width(text.substr(0, bracket));
  if (is_first && column.text && width > most) {
    names.insert(width);
    return;
  }
  column.width = std::max(column.width, width);
  if (bracket != std::string::npos) {
    column.bracket_width = std::max(column.bracket_width, display_width(text.substr(bracket + 1)));
  }
}

// The lines below a table.
std::string notes_text(const TableNotes& notes, const TableStyle& style) {
  std::string text;
  for (const std::string& line : notes.lines())
    text += (text.empty() ? "\n" : "") + wrapped(terminal_text(line, style.unicode), style.width);
  return text;
}

std::optional<Record> first_of(const Records& records) {
  std::optional<Record> first;
  records.each(Extent::kWhole, [&](const Record& record) {
    first = record;
    return false;
  });
  return first;
}

}  // namespace

struct TableStream::State {
  TableStyle style;
  Baselines baselines;
  std::optional<Heading> heading;
  std::optional<Record> first;  // whole, where the first record that is added need not be
  TableLayout layout;
  std::optional<TableNotes> notes;
  bool begun = false;
  std::string run;  // of the last row
};

TableStream::TableStream(const TableStyle& style, std::string_view columns, std::span<const Record> planned)
    : TableStream(style, columns, RecordList(planned)) {
  state_->first.reset();  // what is added is whole, and says more
}

TableStream::TableStream(const TableStyle& style, std::string_view column_list, const Records& planned)
    : state_(std::make_unique<State>()) {
  state_->style = style;
  state_->heading.emplace(planned);
  state_->first = first_of(planned);
  std::vector<Column> columns = columns_of(column_list, state_->baselines, planned);
  plan_baselines(columns, planned, state_->baselines);
  name_rows(columns, *state_->heading, planned);
  mark_rows(columns, *state_->heading);
  state_->heading->share(take_shared(columns, planned));
  widen_to_titles(columns, style.unicode);
  std::vector<Column*> widened;
  std::set<size_t> names;
  Extent extent = Extent::kNames;
  for (Column& column : columns) {
    if (!column.text) continue;
    widened.push_back(&column);
    extent = std::max(extent, column.extent);
  }
  planned.each(extent, [&](const Record& record) {
    for (Column* const column : widened) {
      const std::string cell = column->cell(Row(record), "", {&*state_->heading, nullptr});
      widen(*column, cell, column == columns.data(), style, names);
    }
    return !widened.empty();
  });
  state_->layout = laid_out(std::move(columns), style.width, names);
  state_->notes.emplace(state_->layout.columns, style.details, state_->baselines, style.store);
}

TableStream::TableStream(TableStream&& other) noexcept = default;
TableStream& TableStream::operator=(TableStream&& other) noexcept = default;
TableStream::~TableStream() = default;

Extent TableStream::extent() const {
  return std::max(extent_of_columns(state_->layout.columns, state_->style.details), state_->notes->extent());
}

void TableStream::add_baselines(const Records& records) {
  laptime::add_baselines(state_->layout.columns, records, state_->baselines);
}

std::string TableStream::end() const {
  return notes_text(*state_->notes, state_->style) + runs_text(*state_->heading, state_->style);
}

std::string TableStream::add(const Record& record) {
  const TableLayout& layout = state_->layout;
  const auto compares = [](const Column& column) { return column.compares; };
  if (std::any_of(layout.columns.begin(), layout.columns.end(), compares)) state_->baselines.add(record);
  state_->notes->add(record, *state_->heading);
  std::string text;
  if (!state_->begun) {
    text = heading_text(*state_->heading, state_->first ? *state_->first : record, layout, state_->style) +
           header(layout, state_->style);
  }
  const bool tells_run = state_->style.tells_runs && state_->style.details && state_->heading->run_count() > 1;
  const bool begins_run = tells_run && (!state_->begun || record.run != state_->run);
  if (state_->begun && (layout.is_stacked || begins_run)) text += "\n";
  if (begins_run) text += run_line(record, state_->style);
  state_->begun = true;
  state_->run = record.run;
  return text + record_text(lines_with_source(record, layout, state_->style, *state_->heading, *state_->notes), layout,
                            state_->style);
}

std::string table(std::span<const Record> records, const TableStyle& style, std::string_view columns) {
  std::string text;
  table(RecordList(records), style, columns, [&](std::string_view more) { text += more; });
  return text;
}

void table(const Records& records, const TableStyle& style, std::string_view column_list, const TextSink& sink) {
  Heading heading(records);
  Baselines baselines;
  std::vector<Column> columns = columns_of(column_list, baselines, records);
  plan_baselines(columns, records, baselines);
  add_baselines(columns, records, baselines);
  name_rows(columns, heading, records);
  mark_rows(columns, heading);
  heading.share(take_shared(columns, records));
  for (Column& column : columns) column.width = 0;
  for (Column& column : columns) column.bracket_width = std::min<size_t>(column.bracket_width, 1);
  widen_to_titles(columns, style.unicode);
  TableNotes notes(columns, style.details, baselines, style.store);
  const Extent extent = std::max(extent_of_columns(columns, style.details), notes.extent());
  std::set<size_t> names;
  const LineStyle lines{.details = style.details, .verbose = style.verbose, .heading = &heading};
  bool none = true;
  records.each(extent, [&](const Record& record) {
    none = false;
    for (const TableLine& line : lines_of(Row(record), columns, lines)) {
      for (size_t i = 0; i < line.cells.size(); ++i) widen(columns[i], line.cells[i], i == 0, style, names);
    }
    return true;
  });
  if (none) return;
  const TableLayout layout = laid_out(std::move(columns), style.width, names);
  sink(heading_text(heading, *first_of(records), layout, style));
  sink(header(layout, style));
  bool is_first = true;
  records.each(extent, [&](const Record& record) {
    notes.add(record, heading);
    if (layout.is_stacked && !is_first) sink("\n");
    is_first = false;
    sink(record_text(lines_with_source(record, layout, style, heading, notes), layout, style));
    return true;
  });
  sink(notes_text(notes, style) + runs_text(heading, style));
}

}  // namespace laptime
