// A Markdown table in the manner of llama-bench, with a row for each pass and phase of a training step.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "export/writers.h"
#include "record/metrics.h"
#include "table/text.h"

namespace laptime {
namespace {

struct BenchColumn {
  const char* title;
  size_t width;
  bool right;
};

// llama-bench's widths, where it has the column.
constexpr std::array kColumns{
    BenchColumn{"model", 30, false},  BenchColumn{"params", 10, true}, BenchColumn{"ctx", 6, true},
    BenchColumn{"bs", 4, true},       BenchColumn{"dtype", 8, true},   BenchColumn{"mode", 8, true},
    BenchColumn{"test", 15, true},    BenchColumn{"ms", 20, true},     BenchColumn{"tok/s", 20, true},
    BenchColumn{"peak GiB", 8, true}, BenchColumn{"MFU", 7, true}};
using TableCells = std::array<std::string, kColumns.size()>;

std::string line_of(const TableCells& cells) {
  std::string line = "|";
  for (size_t i = 0; i < cells.size(); ++i) {
    line += kColumns.at(i).right ? fmt::format(" {:>{}} |", cells.at(i), kColumns.at(i).width)
                                 : fmt::format(" {:<{}} |", cells.at(i), kColumns.at(i).width);
  }
  return line + "\n";
}

std::string header() {
  TableCells titles;
  std::string rule = "|";
  for (size_t i = 0; i < kColumns.size(); ++i) {
    titles.at(i) = kColumns.at(i).title;
    rule += fmt::format(" {}{} |", std::string(kColumns.at(i).width - 1, '-'), kColumns.at(i).right ? ":" : "-");
  }
  return line_of(titles) + rule + "\n";
}

// Parameters are float32, whatever autocast makes of them.
std::string parameter_count(const Record& record) {
  const auto bytes = record.memory.parts.find("parameter");
  if (bytes == record.memory.parts.end()) return "";
  const double count = static_cast<double>(bytes->second) / sizeof(float);
  return count >= 1e9 ? fmt::format("{:.2f} B", count / 1e9) : fmt::format("{:.2f} M", count / 1e6);
}

std::string_view test_of(std::string_view pass) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kTests{
      {{"forward", "fwd"}, {"backward", "bwd"}, {"optimizer", "opt"}, {"forward_backward", "fwd+bwd"}}};
  for (const auto& [name, test] : kTests) {
    if (name == pass) return test;
  }
  return pass;
}

std::string with_deviation(double mean, const std::optional<double>& deviation) {
  return deviation ? fmt::format("{:.2f} ± {:.2f}", mean, *deviation) : fmt::format("{:.2f}", mean);
}

// Tokens of one sample, by the rate of the pass that was asked for.
std::optional<double> tokens_of(const Record& record) {
  const TimeStats* const time = record.main_time();
  if (time == nullptr || !record.tokens_per_second) return std::nullopt;
  return *record.tokens_per_second * time->median;
}

// Mean and deviation of the rates of the samples, as llama-bench has them.
std::string rate(const TimeStats& time, double tokens) {
  double sum = 0;
  double squares = 0;
  for (const double seconds : time.samples) {
    sum += tokens / seconds;
    squares += tokens / seconds * (tokens / seconds);
  }
  const auto count = static_cast<double>(time.samples.size());
  const double mean = sum / count;
  if (time.samples.size() < 2) return with_deviation(mean, std::nullopt);
  return with_deviation(mean, std::sqrt(std::max(0.0, squares - count * mean * mean) / (count - 1)));
}

std::string test_row(const Record& record, const std::string& pass, const TimeStats& time) {
  const bool is_main = &time == record.main_time();
  const std::optional<double> tokens = tokens_of(record);
  std::string model = record.config.text("model");
  for (const std::string& more : {record.config.text("edition"), system_of(record)})
    model += model.empty() || more.empty() ? more : " " + more;
  TableCells cells{markdown_escaped(model),
                   parameter_count(record),
                   markdown_escaped(record.config.text("context_length")),
                   markdown_escaped(record.config.text("batch_size")),
                   markdown_escaped(record.config.text("dtype")),
                   markdown_escaped(record.config.text("mode")),
                   std::string(test_of(pass)),
                   with_deviation(time.mean * 1e3, time.std ? std::optional(*time.std * 1e3) : std::nullopt),
                   tokens && !time.samples.empty() ? rate(time, *tokens) : "",
                   "",
                   ""};
  if (is_main && record.memory.peak_bytes)
    cells[9] = fmt::format("{:.2f}", static_cast<double>(*record.memory.peak_bytes) / (int64_t{1} << 30U));
  if (is_main && record.flops.mfu_measured) cells[10] = fmt::format("{:.1f} %", *record.flops.mfu_measured * 100);
  return line_of(cells);
}

// Phases in the order in which they run, the pass that was asked for last.
std::vector<std::string> passes_of(const Record& record) {
  std::vector<std::string> passes;
  for (const char* const phase : {"forward", "backward", "optimizer"}) {
    if (record.time.contains(phase)) passes.emplace_back(phase);
  }
  for (const auto& [pass, time] : record.time) {
    if (std::find(passes.begin(), passes.end(), pass) == passes.end()) passes.push_back(pass);
  }
  return passes;
}

}  // namespace

std::string llama_bench(std::span<const TracedRecord> records, const ExportOptions& /*options*/) {
  std::string text = header();
  std::string builds;
  for (const TracedRecord& traced : records) {
    const Record& record = traced.record;
    if (record.status != Status::kOk) continue;
    for (const std::string& pass : passes_of(record)) text += test_row(record, pass, record.time.at(pass));
    const std::string build = fmt::format("build: {} ({})\n", markdown_escaped(record.binary.commit),
                                          markdown_escaped(record.binary.version));
    if (builds.find(build) == std::string::npos) builds += build;
  }
  return text + "\n" + builds;
}

}  // namespace laptime
