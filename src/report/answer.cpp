// The formats of answers.
#include "report/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace laptime {

void PointAnswer::say(std::string line) {
  if (!line.empty()) say(std::vector<std::string>{std::move(line)});
}

void PointAnswer::say(std::vector<std::string> lines) {
  if (!lines.empty()) parts.push_back({.lines = std::move(lines)});
}

void PointAnswer::show(Table table) { parts.push_back({.table = std::move(table)}); }

void PointAnswer::keep(Table table) { parts.push_back({.table = std::move(table), .for_people = false}); }

void PointAnswer::draw(std::function<std::string(const TextStyle& style)> picture) {
  parts.push_back({.picture = std::move(picture)});
}

PointAnswer answer_without_result(const Record& record) {
  PointAnswer answer{.name = record.name, .status = std::string(name_of(record.status)), .reason = record.reason};
  answer.say(record.reason.empty() ? answer.status : fmt::format("{}: {}", answer.status, record.reason));
  return answer;
}

std::string text_of(const PointAnswer& answer, const TextStyle& style) {
  std::string text;
  const auto add = [&](const std::string& line) {
    text += broken_at_spaces(terminal_text(line, style.unicode), style.width) + "\n";
  };
  if (!answer.title.empty()) add(answer.title);
  for (const AnswerPart& part : answer.parts) {
    if (!part.for_people) continue;
    for (const std::string& line : part.lines) add(line);
    if (!part.table.columns.empty()) text += text_of(part.table, style);
    if (part.picture) text += part.picture(style);
  }
  return text;
}

std::string markdown_of(const PointAnswer& answer) {
  std::string text = "### " + markdown_escaped(answer.title.empty() ? answer.name : answer.title) + "\n";
  for (const AnswerPart& part : answer.parts) {
    if (!part.for_people) continue;
    for (const std::string& line : part.lines) text += "\n" + markdown_escaped(line) + "\n";
    if (!part.table.columns.empty()) text += "\n" + markdown_of(part.table);
  }
  return text;
}

Json json_of(const PointAnswer& answer) {
  Json findings = Json::array();
  for (const Finding& finding : answer.findings) findings.push_back(to_json(finding));
  Json tables = Json::object();
  for (const AnswerPart& part : answer.parts) {
    if (part.for_data && !part.table.columns.empty()) tables[part.table.name] = json_of(part.table);
  }
  return {{"name", answer.name},
          {"status", answer.status},
          {"reason", answer.reason},
          {"findings", std::move(findings)},
          {"tables", std::move(tables)}};
}

std::string csv_of(const std::vector<PointAnswer>& answers) {
  std::vector<Json> header{"name", "table"};
  const auto each_table = [&](const auto& take) {
    for (const PointAnswer& answer : answers) {
      for (const AnswerPart& part : answer.parts) {
        if (part.for_data && !part.table.columns.empty()) take(answer, part.table);
      }
    }
  };
  const auto place = [&](const std::string& key) { return std::find(header.begin() + 2, header.end(), key); };
  each_table([&](const PointAnswer&, const Table& table) {
    for (const TableColumn& column : table.columns) {
      if (column.for_data && place(column.key) == header.end()) header.emplace_back(column.key);
    }
  });
  std::string text = csv_line(header);
  each_table([&](const PointAnswer& answer, const Table& table) {
    for (const TableRow& row : table.rows) {
      std::vector<Json> line(header.size());
      line[0] = answer.name;
      line[1] = table.name;
      for (size_t i = 0; i < row.cells.size(); ++i) {
        if (table.columns[i].for_data)
          line[static_cast<size_t>(place(table.columns[i].key) - header.begin())] = row.cells[i].value;
      }
      text += csv_line(line);
    }
  });
  return text;
}

std::string bar(double share, size_t width, bool unicode) {
  constexpr size_t kEighths = 8;
  constexpr std::array kBlocks{"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const double columns = std::clamp(share, 0.0, 1.0) * static_cast<double>(width);
  if (!unicode) return std::string(static_cast<size_t>(std::lround(columns)), '#');
  const auto eighths = static_cast<size_t>(std::lround(columns * kEighths));
  std::string text;
  for (size_t i = 0; i < eighths / kEighths; ++i) text += "█";
  return text + kBlocks.at(eighths % kEighths);
}

}  // namespace laptime
