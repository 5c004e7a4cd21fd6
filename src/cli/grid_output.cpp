// The formats of reports made of grids.
#include "cli/grid_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "cli/sweep_words.h"
#include "report/record_table.h"
#include "table/table.h"
#include "table/text.h"

namespace laptime {
namespace {

std::string table_text(const PointReport& report, const TableStyle& style, std::vector<std::string>* left_out) {
  const auto line = [&](const std::string& text) {
    return broken_at_spaces(printable(text, !style.unicode), style.width) + "\n";
  };
  std::string text = line(report.name);
  for (const std::string& sentence : report.lines) text += line(sentence);
  for (const Grid& grid : report.grids) text += "\n" + grid_text(grid, style, left_out);
  return text;
}

std::string tables(const std::vector<PointReport>& reports, const TableStyle& style) {
  std::string text;
  for (const PointReport& report : reports) text += (text.empty() ? "" : "\n") + table_text(report, style, nullptr);
  return text;
}

std::string markdown_text(const std::vector<PointReport>& reports, const TableStyle&) {
  std::string text;
  for (const PointReport& report : reports) {
    text += (text.empty() ? "### " : "\n### ") + markdown_escaped(report.name) + "\n";
    for (const std::string& line : report.lines) text += "\n" + markdown_escaped(line) + "\n";
    for (const Grid& grid : report.grids) text += "\n" + grid_markdown(grid);
  }
  return text;
}

// Every column that a grid of the reports has, in the order of their first appearance.
std::vector<std::string> all_keys(const std::vector<PointReport>& reports) {
  std::vector<std::string> keys;
  for (const PointReport& report : reports) {
    for (const Grid& grid : report.grids) {
      for (const GridColumn& column : grid.columns) {
        if (std::find(keys.begin(), keys.end(), column.key) == keys.end()) keys.push_back(column.key);
      }
    }
  }
  return keys;
}

std::string csv_text(const std::vector<PointReport>& reports, const TableStyle&) {
  const std::vector<std::string> keys = all_keys(reports);
  std::vector<Json> header{"name", "table"};
  for (const std::string& key : keys) header.emplace_back(key);
  std::string text = csv_line(header);
  for (const PointReport& report : reports) {
    for (const Grid& grid : report.grids) {
      for (const std::vector<Json>& row : grid.rows) {
        std::vector<Json> line{report.name, grid.name};
        line.resize(2 + keys.size());
        for (size_t i = 0; i < row.size(); ++i) {
          const auto at = std::find(keys.begin(), keys.end(), grid.columns[i].key) - keys.begin();
          line[static_cast<size_t>(at) + 2] = row[i];
        }
        text += csv_line(line);
      }
    }
  }
  return text;
}

Json json_of(const PointReport& report) {
  Json grids = Json::object();
  for (const Grid& grid : report.grids) grids[grid.name] = grid_json(grid);
  Json json{{"name", report.name}, {"conclusions", report.lines}, {"tables", std::move(grids)}};
  if (!report.verdict.empty()) json["verdict"] = report.verdict;
  return json;
}

std::string json_text(const std::vector<PointReport>& reports, const TableStyle&) {
  std::string text = "[\n";
  for (const PointReport& report : reports)
    text += ascii_text(json_of(report)) + (&report == &reports.back() ? "\n" : ",\n");
  return text + "]\n";
}

std::string jsonl_text(const std::vector<PointReport>& reports, const TableStyle&) {
  std::string text;
  for (const PointReport& report : reports) text += ascii_text(json_of(report)) + "\n";
  return text;
}

struct Format {
  OutputFormat format;
  std::string (*text)(const std::vector<PointReport>& reports, const TableStyle& style);
};
// A grid has no samples of its own.
constexpr std::array kFormats{Format{OutputFormat::kTable, tables}, Format{OutputFormat::kMarkdown, markdown_text},
                              Format{OutputFormat::kCsv, csv_text}, Format{OutputFormat::kJson, json_text},
                              Format{OutputFormat::kJsonl, jsonl_text}};

constexpr std::array kGridFormats = [] {
  std::array<OutputFormat, kFormats.size()> formats{};
  for (size_t i = 0; i < formats.size(); ++i) formats[i] = kFormats[i].format;
  return formats;
}();

const Format& format_of(OutputFormat format) {
  const auto* const found =
      std::find_if(kFormats.begin(), kFormats.end(), [&](const Format& one) { return one.format == format; });
  if (found != kFormats.end()) return *found;
  std::vector<std::string_view> names;
  names.reserve(kFormats.size());
  for (const Format& one : kFormats) names.push_back(name_of(one.format));
  throw Error::format("--output {}: tables are written as {}", name_of(format), fmt::join(names, ", "));
}

}  // namespace

std::string text_of(const std::vector<PointReport>& reports, OutputFormat format, const TableStyle& style) {
  return format_of(format).text(reports, style);
}

void keep_formats_of_grids(std::vector<OptionRow>& rows) { keep_formats(rows, kGridFormats); }

void keep_options_of_grids(std::vector<OptionRow>& rows) {
  leave_out(rows, {"columns", "verbose", "quiet", "explain"});
  keep_formats_of_grids(rows);
}

GridOutput::GridOutput(const OutputConfig& config) : config_(config) {
  format_of(config_.output);  // reports one that a grid does not have before anything runs
  if (!config_.output_file.empty()) file_.emplace(config_.output_file);
}

void GridOutput::add(PointReport report) {
  if (is_live()) {
    const std::string text = (reports_.empty() ? "" : "\n") + table_text(report, table_style(stream_), &left_out_);
    write_all(stream_.descriptor, text, kStandardOutput);
  }
  reports_.push_back(std::move(report));
}

void GridOutput::finish() {
  if (is_live()) {
    if (left_out_.empty()) return;
    const std::string note =
        fmt::format("hidden for want of width: {} (--output csv has them)", fmt::join(left_out_, ", "));
    write_all(stream_.descriptor, "\n" + broken_at_spaces(note, table_style(stream_).width) + "\n", kStandardOutput);
    return;
  }
  const std::string text = text_of(reports_, config_.output, file_ ? TableStyle{} : table_style(stream_));
  file_ ? file_->write(text) : write_all(stream_.descriptor, text, kStandardOutput);
}

}  // namespace laptime
