// Cells of a grid, and the formats that show them.
#include "report/grid.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "report/record_table.h"
#include "report/row.h"
#include "table/aligned.h"
#include "table/table.h"
#include "table/text.h"

namespace laptime {
namespace {

std::string cell_text(const Json& value, const GridColumn& column) {
  if (column.shown) return column.shown(value);
  return value.is_string() ? value.get<std::string>() : format_value(value, column.unit);
}

Cells titles_of(const Grid& grid) {
  Cells titles;
  for (const GridColumn& column : grid.columns) titles.push_back(column.title);
  return titles;
}

// Header and rows.
std::vector<Cells> cells_of(const Grid& grid) {
  std::vector<Cells> cells{titles_of(grid)};
  for (const std::vector<Json>& row : grid.rows) {
    Cells& line = cells.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) line.push_back(cell_text(row[i], grid.columns[i]));
  }
  return cells;
}

size_t column_width(const std::vector<Cells>& cells, size_t column) {
  size_t width = 0;
  for (const Cells& row : cells) width = std::max(width, display_width(row[column]));
  return width;
}

size_t table_width(const std::vector<Cells>& cells) {
  size_t total = 0;
  for (size_t column = 0; column < cells.front().size(); ++column)
    total += column_width(cells, column) + (column > 0 ? kColumnGap : 0);
  return total;
}

// The width of a table whose texts are shortened to half of the terminal where they are longer, and whole ones moved
// out where they take more than a fifth.
size_t width_with_short_texts(const std::vector<Cells>& cells, const Grid& grid, const TableStyle& style) {
  size_t total = 0;
  for (size_t column = 0; column < grid.columns.size(); ++column) {
    const size_t width = column_width(cells, column);
    const size_t share = grid.columns[column].whole ? style.width / 5 : style.width / 2;
    total += (grid.columns[column].text ? std::min(width, share) : width) + (column > 0 ? kColumnGap : 0);
  }
  return total;
}

// Leaves out optional columns until the table fits. Returns their titles.
std::vector<std::string> drop_optional(std::vector<Cells>& cells, Grid& grid, const TableStyle& style) {
  std::vector<std::string> dropped;
  while (style.width > 0 && width_with_short_texts(cells, grid, style) > style.width) {
    size_t first = 0;
    for (size_t column = 1; column < grid.columns.size(); ++column) {
      if (grid.columns[column].optional >= grid.columns[first].optional) first = column;
    }
    if (grid.columns[first].optional == 0) break;
    dropped.push_back(grid.columns[first].title);
    grid.columns.erase(grid.columns.begin() + static_cast<std::ptrdiff_t>(first));
    for (Cells& row : cells) row.erase(row.begin() + static_cast<std::ptrdiff_t>(first));
  }
  std::reverse(dropped.begin(), dropped.end());
  return dropped;
}

// Shortens the widest column of text until the table fits, but not below a width at which names can be told apart.
void fit(std::vector<Cells>& cells, const Grid& grid, const TableStyle& style) {
  constexpr size_t kLeast = 16;
  for (size_t total = table_width(cells); style.width > 0 && total > style.width; total = table_width(cells)) {
    size_t widest = 0;
    size_t widest_width = kLeast;
    for (size_t column = 0; column < grid.columns.size(); ++column) {
      const size_t width = column_width(cells, column);
      if (grid.columns[column].text && !grid.columns[column].whole && width > widest_width) {
        widest = column;
        widest_width = width;
      }
    }
    if (widest_width == kLeast) return;
    const size_t excess = total - style.width;
    const size_t width = std::max(kLeast, widest_width > excess ? widest_width - excess : 0);
    for (Cells& row : cells) row[widest] = shortened(row[widest], width, style.unicode);
  }
}

// Takes the texts of the first column out of their cells where the table is too wide for them. The text of each row
// that is taken out, else empty.
std::vector<std::string> take_long_texts(std::vector<Cells>& cells, const TableStyle& style) {
  constexpr size_t kLeastRoom = 12;
  std::vector<std::string> taken(cells.size());
  const size_t total = table_width(cells);
  if (style.width == 0 || total <= style.width) return taken;
  const size_t others = total - column_width(cells, 0);
  const size_t room = others < style.width ? std::max(kLeastRoom, style.width - others) : kLeastRoom;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (display_width(cells[i].front()) > room) cells[i].front().swap(taken[i]);
  }
  return taken;
}

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}

// Rows with the texts of their first column whole, on a line to themselves where they are long, and further lines for
// the columns that find no room.
std::string folded(std::vector<Cells> cells, const std::vector<bool>& right, const TableStyle& style) {
  constexpr size_t kIndentOfFurther = 4;
  const std::vector<std::string> long_texts = take_long_texts(cells, style);
  std::vector<std::vector<std::string>> blocks;  // of each line of a row: that of all rows
  for (size_t first = 0; first < right.size();) {
    const size_t indent = first == 0 ? 0 : kIndentOfFurther;
    size_t used = indent + column_width(cells, first);
    size_t end = first + 1;
    while (end < right.size() && (style.width == 0 || used + kColumnGap + column_width(cells, end) <= style.width))
      used += kColumnGap + column_width(cells, end++);
    const auto part = [&](const auto& all) {
      return std::decay_t<decltype(all)>(all.begin() + static_cast<std::ptrdiff_t>(first),
                                         all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    std::vector<Cells> of_line;
    of_line.reserve(cells.size());
    for (const Cells& row : cells) of_line.push_back(part(row));
    blocks.push_back(lines_in(aligned(of_line, part(right), indent)));
    first = end;
  }
  std::string text;
  for (size_t row = 0; row < cells.size(); ++row) {
    if (!long_texts[row].empty()) text += broken_at_spaces(long_texts[row], style.width) + "\n";
    for (const std::vector<std::string>& block : blocks)
      text += &block != &blocks.front() && block[row] == "\n" ? "" : block[row];
  }
  return text;
}

// Without the optional columns that have no value in any row.
void drop_valueless(Grid& grid) {
  for (size_t column = grid.columns.size(); column-- > 1;) {
    const bool has_value = std::any_of(grid.rows.begin(), grid.rows.end(),
                                       [&](const std::vector<Json>& row) { return !row[column].is_null(); });
    if (has_value || grid.rows.empty() || grid.columns[column].optional == 0) continue;
    const auto at = static_cast<std::ptrdiff_t>(column);
    grid.columns.erase(grid.columns.begin() + at);
    for (std::vector<Json>& row : grid.rows) row.erase(row.begin() + at);
  }
}

// The rows in aligned columns.
std::string rows_text(Grid grid, const TableStyle& style, std::vector<std::string>* left_out) {
  drop_valueless(grid);
  std::vector<Cells> cells = cells_of(grid);
  for (Cells& row : cells) {
    for (std::string& cell : row) cell = printable(cell, !style.unicode);
  }
  for (std::string& title : drop_optional(cells, grid, style)) {
    if (left_out != nullptr && std::find(left_out->begin(), left_out->end(), title) == left_out->end())
      left_out->push_back(std::move(title));
  }
  std::vector<bool> right;
  for (const GridColumn& column : grid.columns) right.push_back(!column.text);
  if (grid.columns.front().whole) return folded(std::move(cells), right, style);
  fit(cells, grid, style);
  return aligned(cells, right);
}

}  // namespace

GridColumn text_column(std::string key, std::string title) {
  return {.key = std::move(key), .title = std::move(title), .unit = Unit::kNone, .text = true};
}

GridColumn whole_column(GridColumn column) {
  column.whole = true;
  return column;
}

GridColumn optional_column(int rank, GridColumn column) {
  column.optional = rank;
  return column;
}

GridColumn bytes_column(std::string key, std::string title) {
  return {.key = std::move(key), .title = std::move(title), .unit = Unit::kBytes};
}

std::string grid_text(const Grid& grid, const TableStyle& style, std::vector<std::string>* left_out) {
  const auto line = [&](const std::string& text) {
    return broken_at_spaces(printable(text, !style.unicode), style.width) + "\n";
  };
  std::string text = grid.title.empty() ? "" : line(grid.title);
  text += grid.picture ? grid.picture(style) : rows_text(grid, style, left_out);
  for (const std::string& note : grid.notes) text += line(note);
  return text;
}

std::string grid_markdown(const Grid& grid) {
  Table table{.title = grid.title, .notes = grid.notes};
  for (const GridColumn& column : grid.columns)
    table.columns.push_back(
        {.key = column.key, .title = column.title, .align = column.text ? Align::kLeft : Align::kRight});
  for (const std::vector<Json>& row : grid.rows) {
    TableRow& cells = table.rows.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) cells.cells.emplace_back(row[i], cell_text(row[i], grid.columns[i]));
  }
  if (!grid.picture) return markdown_of(table);
  std::string text = grid.title.empty() ? "" : markdown_escaped(grid.title) + "\n\n";
  text += "```text\n" + grid.picture({}) + "```\n";
  for (const std::string& note : grid.notes) text += "\n" + markdown_escaped(note) + "\n";
  return text;
}

std::string grid_csv(const Grid& grid) {
  std::vector<Json> keys;
  for (const GridColumn& column : grid.columns) keys.emplace_back(column.key);
  std::string text = csv_line(keys);
  for (const std::vector<Json>& row : grid.rows) text += csv_line(row);
  return text;
}

Json grid_json(const Grid& grid) {
  Json rows = Json::array();
  for (const std::vector<Json>& row : grid.rows) {
    Json object = Json::object();
    for (size_t i = 0; i < row.size(); ++i) object[grid.columns[i].key] = row[i];
    rows.push_back(std::move(object));
  }
  return {{"title", grid.title}, {"rows", std::move(rows)}, {"notes", grid.notes}};
}

}  // namespace laptime
