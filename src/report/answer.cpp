// Writes answers in each output format.
#include "report/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "base/words.h"
#include "report/words.h"

namespace laptime {
namespace {

std::string filled(const AnswerPart& part, const TextStyle& style) {
  std::vector<std::string> lines;
  for (const std::string& word : part.words) {
    if (!lines.empty() && (style.width == 0 || display_width(lines.back() + word) + 3 <= style.width)) {
      lines.back() += "   " + word;
    } else {
      lines.push_back(lines.empty() && !part.is_indented ? word : "  " + word);
    }
  }
  std::string text;
  for (const std::string& line : lines) text += terminal_text(line, style.unicode) + "\n";
  return text;
}

// Draws the bar's share of `width` columns, in eighths of a column if the terminal supports Unicode.
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

}  // namespace

void PointAnswer::say(std::string line) {
  if (!line.empty()) parts.push_back({.line = std::move(line)});
}

void PointAnswer::show(Table table) { parts.push_back({.table = std::move(table)}); }

void PointAnswer::keep(Table table) { parts.push_back({.table = std::move(table), .for_people = false}); }

void PointAnswer::draw(std::function<std::string(const TextStyle& style)> picture) {
  parts.push_back({.picture = std::move(picture)});
}

void PointAnswer::fill(std::vector<std::string> words, bool is_indented) {
  std::erase(words, "");
  if (!words.empty()) parts.push_back({.words = std::move(words), .is_indented = is_indented});
}

void PointAnswer::say_findings(std::initializer_list<std::string_view> kinds) {
  for (const Finding& finding : findings) {
    if (is_among(finding.kind, kinds)) say("  " + words(finding));
  }
}

PointAnswer answer_about(const Record& record) {
  return {.name = record.name, .status = std::string(name_of(record.status)), .reason = record.reason};
}

PointAnswer answer_without_result(const Record& record) {
  PointAnswer answer = answer_about(record);
  if (answer.reason.empty()) answer.reason = joined(record.verdict.reasons, "; ");
  answer.say(answer.reason.empty() ? answer.status : fmt::format("{}: {}", answer.status, answer.reason));
  return answer;
}

std::string text_of(const PointAnswer& answer, const TextStyle& style) {
  std::string text;
  const auto add = [&](const std::string& line) { text += wrapped(line, style, 0); };
  if (!answer.title.empty()) add(answer.title);
  for (const AnswerPart& part : answer.parts) {
    if (!part.for_people) continue;
    if (!part.line.empty()) add(part.line);
    text += filled(part, style);
    if (!part.table.columns.empty()) text += text_of(part.table, style);
    if (part.picture) text += part.picture(style);
  }
  return text;
}

std::string markdown_of(const PointAnswer& answer) {
  std::string text = "### " + markdown_escaped(answer.title.empty() ? answer.name : answer.title) + "\n";
  for (const AnswerPart& part : answer.parts) {
    if (!part.for_people) continue;
    if (!part.line.empty()) text += "\n" + markdown_escaped(part.line) + "\n";
    if (!part.words.empty()) text += "\n" + markdown_escaped(joined(part.words, ", ")) + "\n";
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
  Table all{.columns = columns_from("<name; <table")};
  std::map<std::string, size_t> places;  // indices in all.columns by key, except the first two columns
  for (const PointAnswer& answer : answers) {
    for (const AnswerPart& part : answer.parts) {
      if (!part.for_data) continue;
      for (const TableColumn& column : part.table.columns) {
        if (column.for_data && places.emplace(column.key, all.columns.size()).second) all.columns.push_back(column);
      }
      for (const TableRow& row : part.table.rows) {
        std::vector<TableCell> cells(all.columns.size());
        cells[0] = answer.name;
        cells[1] = part.table.name;
        for (size_t i = 0; i < row.cells.size(); ++i) {
          const TableColumn& column = part.table.columns[i];
          if (column.for_data) cells[places.at(column.key)] = row.cells[i].value;
        }
        all.add(std::move(cells));
      }
    }
  }
  return csv_of(all);
}

Unit unit_of_key(std::string_view key) {
  constexpr std::array<std::pair<std::string_view, Unit>, 13> kEnds{{{"flops_per_second", Unit::kFlopsPerSecond},
                                                                     {"bytes_per_second", Unit::kBytesPerSecond},
                                                                     {"tokens_per_second", Unit::kTokensPerSecond},
                                                                     {"_s", Unit::kSeconds},
                                                                     {"bytes", Unit::kBytes},
                                                                     {"share", Unit::kFraction},
                                                                     {"of_roofline", Unit::kFraction},
                                                                     {"of_difference", Unit::kFraction},
                                                                     {"error", Unit::kFraction},
                                                                     {"flops", Unit::kFlops},
                                                                     {"speedup", Unit::kRatio},
                                                                     {"speedup_low", Unit::kRatio},
                                                                     {"speedup_high", Unit::kRatio}}};
  const auto* const found = std::ranges::find_if(kEnds, [&](const auto& end) { return key.ends_with(end.first); });
  return found == kEnds.end() ? Unit::kNone : found->second;
}

std::vector<TableColumn> columns_from(std::string_view list) {
  std::vector<TableColumn> columns;
  while (!list.empty()) {
    std::string_view column = list.substr(0, list.find("; "));
    list.remove_prefix(std::min(list.size(), column.size() + 2));
    TableColumn& made = columns.emplace_back();
    if (column.starts_with('<')) {
      made.align = Align::kLeft;
      column.remove_prefix(1);
    }
    if (const size_t at = column.find('@'); at != std::string_view::npos) {
      made.drop = column[at + 1] - '0';
      column = column.substr(0, at);
    }
    const size_t equals = column.find('=');
    made.key = column.substr(0, equals);
    made.for_people = equals != std::string_view::npos;
    if (made.for_people) made.title = column.substr(equals + 1);
    made.unit = made.align == Align::kLeft ? Unit::kNone : unit_of_key(made.key);
  }
  return columns;
}

Json share_of(double part, double whole) { return whole > 0 ? Json(part / whole) : Json(nullptr); }

std::string bars_text(const std::vector<Bar>& bars, size_t widest, const TextStyle& style) {
  double most = 0;
  size_t label = 0;
  size_t number = 0;
  size_t after = 0;
  for (const Bar& one : bars) {
    most = std::max(most, one.value);
    label = std::max(label, display_width(one.label));
    number = std::max(number, display_width(one.number) + (one.number.empty() ? 0 : kColumnGap));
    after = std::max(after, display_width(one.after));
  }
  const size_t taken = label + number + after + 2 * kColumnGap;
  const size_t width = style.width == 0 ? widest : std::min(widest, style.width - std::min(style.width, taken));
  std::string text;
  for (const Bar& one : bars) {
    std::string line = terminal_text(pad_right(one.label, label), style.unicode) + pad_left(one.number, number);
    line += "  " + bar(most > 0 ? std::max(0.0, one.value) / most : 0, width, style.unicode);
    if (number > 0) line = pad_right(line, label + number + kColumnGap + width);
    text += without_trailing_spaces(line + "  " + one.after) + "\n";
  }
  return text;
}

}  // namespace laptime
