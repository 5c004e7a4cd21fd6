// Aligned text.
#include "report/table.h"

#include <algorithm>
#include <utility>

#include "report/lines.h"
#include "report/text.h"

namespace laptime {
namespace {

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Safe for the terminal, our own signs with an ASCII form where need be.
std::string shown(const std::string& text, bool unicode) {
  if (unicode) return printable(text);
  std::string ascii = text;
  replace_all(ascii, "±", "+/-");
  replace_all(ascii, "→", "->");
  return printable(ascii, /*ascii=*/true);
}

// Leaves out columns, the least important first, until a line fits.
void fit(std::vector<Column>& columns, const std::vector<size_t>& widths, size_t terminal) {
  std::vector<bool> kept(columns.size(), true);
  const auto needed = [&] {
    size_t sum = 0;
    for (size_t i = 0; i < columns.size(); ++i) sum += kept[i] ? widths[i] + kColumnGap : 0;
    return sum - kColumnGap;
  };
  while (terminal > 0 && needed() > terminal) {
    size_t least = columns.size();
    for (size_t i = 0; i < columns.size(); ++i) {
      const bool droppable = kept[i] && columns[i].drop > 0;
      if (droppable && (least == columns.size() || columns[i].drop >= columns[least].drop)) least = i;
    }
    if (least == columns.size()) break;
    kept[least] = false;
  }
  std::vector<Column> left;
  for (size_t i = 0; i < columns.size(); ++i) {
    if (kept[i]) left.push_back(std::move(columns[i]));
  }
  columns = std::move(left);
}

std::string line_text(const TableLine& line, const std::vector<Column>& columns, bool unicode) {
  std::string text;
  for (size_t i = 0; i < line.cells.size(); ++i) {
    const std::string cell = shown(line.cells[i], unicode);
    const size_t width = display_width(cell);
    const size_t padding = columns[i].width > width ? columns[i].width - width : 0;
    if (i > 0) text.append(kColumnGap, ' ');
    if (!columns[i].text) text.append(padding, ' ');
    text += cell;
    if (columns[i].text) text.append(padding, ' ');
  }
  if (!line.rest.empty()) text += (line.cells.empty() ? "" : std::string(kColumnGap, ' ')) + shown(line.rest, unicode);
  return without_trailing_spaces(std::move(text)) + "\n";
}

std::string header(const std::vector<Column>& columns, bool unicode) {
  TableLine titles;
  titles.cells.reserve(columns.size());
  std::string rule;
  for (const Column& column : columns) {
    titles.cells.push_back(column.title);
    if (!rule.empty()) rule += std::string(kColumnGap, ' ');
    for (size_t i = 0; i < column.width; ++i) rule += unicode ? "─" : "-";
  }
  return line_text(titles, columns, unicode) + rule + "\n";
}

void widen_to_titles(std::vector<Column>& columns, bool unicode) {
  for (Column& column : columns) column.width = std::max(column.width, display_width(shown(column.title, unicode)));
}

std::vector<size_t> widths_of(const std::vector<Column>& columns) {
  std::vector<size_t> widths;
  widths.reserve(columns.size());
  for (const Column& column : columns) widths.push_back(column.width);
  return widths;
}

}  // namespace

struct TableStream::State {
  TableStyle style;
  Baselines baselines;
  std::vector<Column> columns;
  bool begun = false;
};

TableStream::TableStream(const TableStyle& style, std::string_view columns, std::span<const Record> planned)
    : TableStream(style, columns, RecordList(planned)) {}

TableStream::TableStream(const TableStyle& style, std::string_view columns, const Records& planned)
    : state_(std::make_unique<State>()) {
  state_->style = style;
  state_->columns = columns_of(columns, state_->baselines, planned);
  widen_to_titles(state_->columns, style.unicode);
  std::vector<Column*> widened;
  Extent extent = Extent::kNames;
  for (Column& column : state_->columns) {
    if (!column.text || column.then_reason) continue;
    widened.push_back(&column);
    extent = std::max(extent, column.extent);
  }
  planned.each(extent, [&](const Record& record) {
    for (Column* const column : widened) {
      const std::string cell = column->cell(Row(record), "");
      column->width = std::max(column->width, display_width(shown(cell, style.unicode)));
    }
    return !widened.empty();
  });
  fit(state_->columns, widths_of(state_->columns), style.width);
}

TableStream::TableStream(TableStream&& other) noexcept = default;
TableStream& TableStream::operator=(TableStream&& other) noexcept = default;
TableStream::~TableStream() = default;

Extent TableStream::extent() const { return extent_of_columns(state_->columns, state_->style.details); }

std::string TableStream::add(const Record& record) {
  const auto compares = [](const Column& column) { return column.compares; };
  if (std::any_of(state_->columns.begin(), state_->columns.end(), compares)) state_->baselines.add(record);
  std::string text = state_->begun ? "" : header(state_->columns, state_->style.unicode);
  state_->begun = true;
  for (const TableLine& line : lines_of(Row(record), state_->columns, state_->style.details)) {
    text += line_text(line, state_->columns, state_->style.unicode);
  }
  return text;
}

std::string table(std::span<const Record> records, const TableStyle& style, std::string_view columns) {
  std::string text;
  table(RecordList(records), style, columns, [&](std::string_view more) { text += more; });
  return text;
}

void table(const Records& records, const TableStyle& style, std::string_view column_list, const TextSink& sink) {
  Baselines baselines;
  std::vector<Column> columns = columns_of(column_list, baselines, records);
  add_baselines(columns, records, baselines);
  for (Column& column : columns) column.width = 0;
  widen_to_titles(columns, style.unicode);
  const Extent extent = extent_of_columns(columns, style.details);
  bool none = true;
  records.each(extent, [&](const Record& record) {
    none = false;
    for (const TableLine& line : lines_of(Row(record), columns, style.details)) {
      for (size_t i = 0; i < line.cells.size(); ++i) {
        const bool overhangs = !line.rest.empty() && i + 1 == line.cells.size();  // a long status may overhang
        const size_t width = display_width(shown(line.cells[i], style.unicode));
        if (!overhangs) columns[i].width = std::max(columns[i].width, width);
      }
    }
    return true;
  });
  if (none) return;
  std::vector<Column> kept = columns;
  fit(kept, widths_of(columns), style.width);
  sink(header(kept, style.unicode));
  records.each(extent, [&](const Record& record) {
    for (const TableLine& line : lines_of(Row(record), kept, style.details)) sink(line_text(line, kept, style.unicode));
    return true;
  });
}

}  // namespace laptime
