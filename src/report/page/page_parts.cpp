// Tables with one unit per column, and the JSON of sections.
#include "report/page/page_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "report/column_sets/column_sets.h"
#include "report/row.h"
#include "table/value_text.h"

namespace laptime {
namespace {

// The unit in which most values of a column have few digits: that of their geometric mean.
class CommonScale {
 public:
  void add(const Json& value) {
    if (!value.is_number() || value.get<double>() == 0) return;
    logarithms_ += std::log(std::fabs(value.get<double>()));
    ++count_;
  }
  std::optional<Scale> scale(Unit unit) const {
    if (count_ == 0) return std::nullopt;
    return scale_of(std::exp(logarithms_ / static_cast<double>(count_)), unit);
  }

 private:
  double logarithms_ = 0;
  int64_t count_ = 0;
};

// "Total, ms"; a title that is the unit itself gives way to its multiple.
std::string with_unit(const std::string& title, Unit unit, const std::optional<Scale>& scale) {
  if (!scale) return title;
  return title == name_of(unit) ? std::string(scale->name) : fmt::format("{}, {}", title, scale->name);
}

std::string shown_text(const Json& value, const GridColumn& column, const std::optional<Scale>& scale) {
  if (column.shown) return column.shown(value);
  if (value.is_string()) return value.get<std::string>();
  if (scale && value.is_number()) return format_in(*scale, value.get<double>(), value.get<double>());
  return format_value(value, column.unit);
}

// A header of a table as a key of a CSV: "tokens/s" -> "tokens_per_s", "median" in seconds -> "median_s".
std::string key_of(const Column& column) {
  std::string key;
  for (const char c : column.title) {
    if (c == '/') {
      key += "_per_";
    } else {
      key += c == ' ' ? '_' : c;
    }
  }
  if (column.unit == Unit::kSeconds) return key + "_s";
  return column.unit == Unit::kBytes ? key + "_bytes" : key;
}

Json table_json(const PageTable& table) {
  Json columns = Json::array();
  for (const PageTable::Column& column : table.columns)
    columns.push_back({{"key", column.key}, {"title", column.title}, {"text", column.text}});
  // A text that is the value itself is not repeated.
  Json shown = Json::array();
  for (size_t row = 0; row < table.rows.size(); ++row) {
    Json cells = Json::array();
    for (size_t i = 0; i < table.rows[row].size(); ++i) {
      const Json& value = table.rows[row][i];
      const std::string& text = table.shown[row][i];
      cells.push_back(value.is_string() && value == text ? Json(nullptr) : Json(text));
    }
    shown.push_back(std::move(cells));
  }
  return {{"title", table.title},
          {"columns", std::move(columns)},
          {"rows", table.rows},
          {"shown", std::move(shown)},
          {"notes", table.notes}};
}

}  // namespace

PageTable page_table(const Grid& grid) {
  PageTable table{.title = grid.title, .columns = {}, .rows = grid.rows, .shown = {}, .notes = grid.notes};
  std::vector<CommonScale> means(grid.columns.size());
  for (const std::vector<Json>& row : grid.rows) {
    for (size_t i = 0; i < row.size(); ++i) means[i].add(row[i]);
  }
  std::vector<std::optional<Scale>> scales;
  for (size_t i = 0; i < grid.columns.size(); ++i) {
    const GridColumn& column = grid.columns[i];
    scales.push_back(column.shown ? std::nullopt : means[i].scale(column.unit));
    table.columns.push_back({column.key, with_unit(column.title, column.unit, scales.back()), column.text});
  }
  for (const std::vector<Json>& row : grid.rows) {
    std::vector<std::string>& cells = table.shown.emplace_back();
    for (size_t i = 0; i < row.size(); ++i) cells.push_back(shown_text(row[i], grid.columns[i], scales[i]));
  }
  return table;
}

PageTable page_table(std::string_view title, const std::vector<Column>& columns, const Records& records,
                     const Heading& heading) {
  PageTable table{.title = std::string(title), .columns = {}, .rows = {}, .shown = {}, .notes = {}};
  std::vector<CommonScale> means(columns.size());
  records.each(Extent::kWhole, [&](const Record& record) {
    std::vector<Json>& cells = table.rows.emplace_back();
    for (size_t i = 0; i < columns.size(); ++i) {
      cells.push_back(columns[i].read(Row(record), ""));
      means[i].add(cells.back());
    }
    return true;
  });
  std::vector<std::optional<Scale>> scales;
  for (size_t i = 0; i < columns.size(); ++i) {
    scales.push_back(means[i].scale(columns[i].unit));
    table.columns.push_back(
        {key_of(columns[i]), with_unit(columns[i].header(), columns[i].unit, scales.back()), columns[i].text});
  }
  records.each(Extent::kWhole, [&](const Record& record) {
    std::vector<std::string>& cells = table.shown.emplace_back();
    for (size_t i = 0; i < columns.size(); ++i) {
      const CellContext context{.heading = &heading, .scale = scales[i] ? &*scales[i] : nullptr};
      cells.push_back(columns[i].cell(Row(record), "", context));
    }
    if (record.status != Status::kOk) {
      table.notes.push_back(
          fmt::format("{}: {}: {}", heading.short_name(record), name_of(record.status), reason_of(record)));
    }
    return true;
  });
  return table;
}

Json words_json(const std::vector<PageWord>& words) {
  Json json = Json::array();
  for (const PageWord& word : words) json.push_back({word.word, word.meaning});
  return json;
}

Json parts_json(const std::vector<ChartPart>& parts) {
  Json json = Json::array();
  for (const ChartPart& part : parts) {
    json.push_back(
        {{"key", part.key}, {"name", part.name}, {"color", part.look.color}, {"pattern", part.look.pattern}});
  }
  return json;
}

Json looks_json(std::span<const NamedLook> looks) {
  Json json = Json::object();
  for (const NamedLook& one : looks)
    json[std::string(one.name)] = {{"color", one.look.color}, {"pattern", one.look.pattern}};
  return json;
}

Json page_json(const PageSection& section) {
  Json questions = Json::array();
  for (const PageQuestion& question : section.questions)
    questions.push_back(
        {{"question", question.question}, {"answers", question.answers}, {"conclusion", question.conclusion}});
  Json figures = Json::array();
  for (const PageFigure& figure : section.figures) {
    figures.push_back({{"title", figure.title},
                       {"reading", figure.reading},
                       {"summary", figure.summary},
                       {"chart", figure.chart},
                       {"words", words_json(figure.words)},
                       {"table", table_json(figure.table)},
                       {"open", figure.is_open}});
  }
  return {{"id", section.id},
          {"title", section.title},
          {"lines", section.lines},
          {"questions", std::move(questions)},
          {"figures", std::move(figures)},
          {"words", words_json(section.words)}};
}

std::string cell_of(std::string_view header, const Record& record) {
  const Column* const column = table_column(header);
  return column == nullptr ? "" : column->cell(Row(record), "");
}

void note_left_out(Grid& grid, size_t shown, size_t all) {
  if (shown < all) grid.notes.push_back(fmt::format("The first {} of {} points.", shown, all));
}

std::string left_out_sentence(size_t shown, size_t all) {
  if (shown >= all) return "";
  return fmt::format(" The first {} of {} points are drawn, as many as can be told apart in one chart.", shown, all);
}

Json axis_of(double most, Unit unit) {
  const std::optional<Scale> scale = scale_of(most, unit);
  if (!scale) return {{"unit", ""}, {"factor", 1}};
  return {{"unit", scale->name}, {"factor", scale->factor}};
}

}  // namespace laptime
