// Lays out tables on a terminal.
#include "table/table.h"

#include <algorithm>
#include <array>
#include <iterator>

namespace laptime {
namespace {

constexpr size_t kIndentOfFurther = 4;

size_t longest_word(std::string_view text) {
  size_t longest = 0;
  for (const std::string_view word : fields_of(text, ' ')) longest = std::max(longest, display_width(word));
  return longest;
}

}  // namespace

bool is_shown(const Table& table, size_t column) {
  const TableColumn& one = table.columns[column];
  if (!one.for_people || (one.drop == 0 && !one.title.empty())) return one.for_people;
  const auto has_cell = [&](const TableRow& row) { return column < row.cells.size(); };
  const auto has_value = [&](const TableRow& row) {
    if (!has_cell(row)) return false;
    const TableCell& cell = row.cells[column];
    return !cell.value.is_null() || cell.text.find_first_not_of(' ') != std::string::npos;
  };
  return std::none_of(table.rows.begin(), table.rows.end(), has_cell) ||
         std::any_of(table.rows.begin(), table.rows.end(), has_value);
}

std::vector<std::optional<Scale>> scales_of(const Table& table) {
  std::vector<std::optional<Scale>> scales;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    std::vector<double> values;
    for (const TableRow& row : table.rows) {
      if (i < row.cells.size() && row.cells[i].value.is_number()) values.push_back(row.cells[i].value.get<double>());
    }
    scales.push_back(common_scale(values, table.columns[i].unit));
  }
  return scales;
}

std::string cell_text(const TableCell& cell, const TableColumn& column, std::optional<Scale> scale) {
  if (!cell.text.empty()) return cell.text;
  return value_text(cell.value, column.unit, scale, cell.uncertainty);
}

GrowingTable::GrowingTable(const Table& table, const TextStyle& style) : table_(table), style_(style) {
  for (TableColumn& column : table_.columns) column.title = terminal_text(column.title, style.unicode);
}

std::vector<std::string> GrowingTable::texts_of(const TableRow& row) const {
  std::vector<std::string> texts(table_.columns.size());
  for (size_t i = 0; i < row.cells.size(); ++i) {
    const Json& value = row.cells[i].value;
    const Unit unit = table_.columns[i].unit;
    const bool has_own_scale = scales_[i] && value.is_number() && misfits(*scales_[i], value.get<double>(), unit);
    const std::optional<Scale> scale = has_own_scale ? std::nullopt : scales_[i];
    texts[i] = terminal_text(cell_text(row.cells[i], table_.columns[i], scale), style_.unicode);
  }
  return texts;
}

size_t GrowingTable::needed() const {
  size_t sum = 0;
  for (const Place& place : places_) sum += place.width + (sum > 0 ? kColumnGap : 0);
  return sum;
}

void GrowingTable::lay_out() {
  std::vector<std::vector<std::string>> all;
  size_t remark = 0;  // width of the widest remark that follows a complete row of cells
  for (const TableRow& row : table_.rows) {
    all.push_back(texts_of(row));
    if (row.cells.size() == table_.columns.size() && !row.remark.empty())
      remark = std::max(remark, kColumnGap + display_width(row.remark));
  }
  const size_t whole = style_.width;
  if (remark > whole / 2) remark = 0;  // a longer remark breaks into lines instead of taking the columns' space
  style_.width -= remark;
  for (size_t i = 0; i < table_.columns.size(); ++i) {
    const TableColumn& column = table_.columns[i];
    // Columns that are never dropped or have a fixed width stay even if they are empty so far, because later rows may
    // have values.
    if (!column.for_people || (column.drop > 0 && column.width == 0 && !is_shown(table_, i))) continue;
    size_t width = std::max(column.width, table_.with_header ? longest_word(column.title) : 0);
    for (const std::vector<std::string>& row : all) width = std::max(width, display_width(row[i]));
    places_.push_back({.column = i, .width = width});
  }
  const bool is_limited = style_.width > 0;
  const auto is_too_wide = [&] { return is_limited && needed() > style_.width; };
  while (is_too_wide() && drop_column()) {}
  if (is_too_wide()) shorten();
  if (is_too_wide()) fold();
  for (Place& place : places_) {  // titles get the remaining space
    if (!table_.with_header) break;
    const size_t title = std::max(place.width, display_width(table_.columns[place.column].title));
    if (!is_limited || needed() + title - place.width <= style_.width) place.width = title;
  }
  style_.width = whole;
}

// Drops the column with the largest `drop` (the rightmost of several). Returns false if no column can be dropped.
bool GrowingTable::drop_column() {
  const auto rank = [&](const Place& place) { return table_.columns[place.column].drop; };
  const auto last = std::max_element(places_.rbegin(), places_.rend(),
                                     [&](const Place& a, const Place& b) { return rank(a) < rank(b); });
  if (last == places_.rend() || rank(*last) == 0) return false;
  places_.erase(std::prev(last.base()));
  return true;
}

// Shortens the widest texts, but keeps names wide enough to be distinguishable.
void GrowingTable::shorten() {
  constexpr size_t kLeast = 16;
  while (needed() > style_.width) {
    Place* widest = nullptr;
    for (Place& place : places_) {
      const bool is_text = table_.columns[place.column].align == Align::kLeft;
      if (is_text && place.width > kLeast && (widest == nullptr || place.width > widest->width)) widest = &place;
    }
    if (widest == nullptr) return;
    const size_t excess = needed() - style_.width;
    widest->width = std::max(kLeast, widest->width > excess ? widest->width - excess : 0);
    widest->is_cut = true;
  }
}

// Moves columns that do not fit to further lines.
void GrowingTable::fold() {
  size_t used = 0;
  for (Place& place : places_) {
    const size_t gap = used == 0 ? 0 : kColumnGap;
    if (used > 0 && used + gap + place.width > style_.width) {
      place.starts_line = true;
      used = kIndentOfFurther + place.width;
    } else {
      used += gap + place.width;
    }
  }
}

// Formats the first `count` cells of a row, then the remark. A cell that is too wide uses the space that the following
// cells do not need.
std::string GrowingTable::line(const std::vector<std::string>& texts, size_t count, const std::string& remark) const {
  std::string text;
  std::string line;
  size_t end = 0;  // end of the previous column
  const auto pad_to = [&](size_t column, size_t least) {
    const size_t used = display_width(line);
    line.append(std::max(column > used ? column - used : 0, least), ' ');
  };
  for (const Place& place : places_) {
    if (place.column >= count) continue;
    const bool is_first = &place == &places_.front();
    std::string cell = texts[place.column];
    if (place.is_cut) cell = shortened(cell, place.width, style_.unicode);
    if (place.starts_line) {
      text += without_trailing_spaces(std::move(line)) + "\n";
      line = std::string(kIndentOfFurther, ' ');
      end = kIndentOfFurther;
    }
    const size_t width = display_width(cell);
    const bool is_long_name = is_first && style_.width > 0 && width > place.width && places_.size() > 1;
    if (is_long_name && width + needed() > place.width + style_.width) {
      text += cell + "\n";
      cell.clear();
    }
    const bool starts = is_first || place.starts_line;
    const size_t begin = end + (starts ? 0 : kColumnGap);
    end = begin + place.width;
    const bool is_right = table_.columns[place.column].align == Align::kRight;
    pad_to(is_right ? end - std::min(end, display_width(cell)) : begin, starts ? 0 : 1);
    line += cell;
  }
  if (!remark.empty()) {
    if (!line.empty()) pad_to(end + kColumnGap, kColumnGap);
    line += terminal_text(remark, style_.unicode);
  }
  line = without_trailing_spaces(std::move(line));
  return text + (remark.empty() ? line : broken_at_spaces(line, style_.width, kIndentOfFurther)) + "\n";
}

std::string GrowingTable::header() const {
  std::vector<std::string> titles(table_.columns.size());
  const auto lines_of = [&](const Place& place) { return fields_of(titles[place.column], '\n'); };
  size_t height = 0;
  for (const Place& place : places_) {
    titles[place.column] = broken_at_spaces(table_.columns[place.column].title, place.width);
    height = std::max(height, lines_of(place).size());
  }
  std::string text;
  for (size_t k = 0; k < height; ++k) {
    std::vector<std::string> cells(table_.columns.size());
    for (const Place& place : places_) {
      const std::vector<std::string_view> lines = lines_of(place);
      if (k + lines.size() >= height) cells[place.column] = lines[k + lines.size() - height];
    }
    text += line(cells, cells.size(), "");
  }
  return text;
}

std::string GrowingTable::add(const TableRow& row) {
  std::string text;
  if (!begun_) {
    table_.rows.push_back(row);
    scales_ = scales_of(table_);
    lay_out();
    if (!table_.title.empty()) text += wrapped(table_.title, style_);
    if (table_.with_header) text += header();
    begun_ = true;
  }
  for (size_t i = 0; i < row.cells.size(); ++i) {
    const Json& value = row.cells[i].value;
    if (!scales_[i] && value.is_number())
      scales_[i] = common_scale(std::array{value.get<double>()}, table_.columns[i].unit);
  }
  if (!row.heading.empty()) text += wrapped(row.heading, style_);
  return text + line(texts_of(row), row.cells.size(), row.remark);
}

std::string text_of(const Table& table, const TextStyle& style) {
  GrowingTable growing(table, style);
  std::string text;
  if (table.rows.empty() && !table.title.empty()) text += wrapped(table.title, style);
  for (const TableRow& row : table.rows) text += growing.add(row);
  for (const std::string& note : table.notes) text += wrapped(note, style);
  return text;
}

}  // namespace laptime
