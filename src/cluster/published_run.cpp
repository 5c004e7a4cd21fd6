// Reads published figures from tables, and the figures of stored records.
#include "cluster/published_run.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "cluster/recorded_runs.h"
#include "data/input_file.h"
#include "data/json_documents.h"
#include "record/record.h"
#include "report/published.h"
#include "table/text.h"

namespace laptime {
namespace {

// The number that the whole text states, if it is positive.
std::optional<double> positive_number(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number > 0 && std::isfinite(number) ? std::optional(number) : std::nullopt;
}

// Columns that count something.
constexpr std::array<std::string_view, 12> kCounts{
    "gpus",  "nodes",    "parameters", "layers",          "d_model",     "d_ff",
    "heads", "kv_heads", "vocab",      "sequence_length", "micro_batch", "global_batch_tokens"};

// Throws Error, beginning with `where`, if a cell does not hold the kind of number that its column needs.
void check_numbers(const PublishedRun& run, std::string_view where) {
  PublishedRun::visit_fields(run, [&](const char* column, const std::string& cell) {
    if (cell.empty() || std::ranges::find(kCounts, column) == kCounts.end()) return;
    const std::optional<double> number = positive_number(cell);
    if (!number || *number != std::floor(*number))
      throw Error::format("{}: {}: {} is not a positive whole number; write it in digits, or leave the cell empty",
                          where, column, quote(cell));
  });
  const std::optional<double> value = positive_number(run.value);
  if (!value || *value >= 1e30)
    throw Error::format("{}: value: {} is not a positive number; leave out rows without a value", where,
                        quote(run.value));
}

void check_columns(const std::vector<std::string>& header, std::string_view name) {
  std::vector<std::string_view> known;
  const PublishedRun any;
  PublishedRun::visit_fields(any, [&](const char* column, const auto&) { known.emplace_back(column); });
  for (const std::string& column : header) {
    if (std::ranges::find(known, column) == known.end())
      throw Error::format("{}:1: unknown column {}{} (columns: {})", name, quote(column), did_you_mean(column, known),
                          joined(known, ", "));
    if (std::ranges::count(header, column) > 1)
      throw Error::format("{}:1: the column {} occurs twice; remove one", name, quote(column));
  }
  for (const std::string_view column : known) {
    if (std::ranges::find(header, column) == header.end())
      throw Error::format("{}:1: the column '{}' is missing; published/README.md lists them all", name, column);
  }
}

bool is_table_of_figures(std::string_view csv) {
  const std::vector<std::string> header = take_csv_line(csv);
  return std::ranges::find(header, "time_s") != header.end();
}

std::vector<PublishedRun> runs_of_figures(const std::vector<PublishedFigure>& figures) {
  const auto text = [](const auto& number) { return number ? fmt::format("{}", *number) : std::string(); };
  std::vector<PublishedRun> runs;
  runs.reserve(figures.size());
  size_t line = 1;
  for (const PublishedFigure& figure : figures) {
    ++line;
    if (!figure.time_s) continue;
    PublishedRun run;
    run.id = fmt::format("line {}", line);
    run.source = figure.source;
    run.hardware = figure.hardware;
    run.gpus = "1";
    run.model_family = fmt::format("{}{}", kEditionFamily, figure.edition);
    run.model_name = figure.model;
    run.sequence_length = text(figure.context_length);
    run.micro_batch = text(figure.batch_size);
    run.dtype = figure.arithmetic;
    run.mode = figure.mode;
    run.flash_attention = "no";
    run.parallelism = "none";
    run.activation_checkpointing = "none";
    run.quantity = fmt::format("{}_time_s", figure.pass);
    run.value = text(figure.time_s);
    run.note = figure.note;
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace

std::optional<double> number_in(std::string_view text) {
  size_t begin = text.find_first_of("0123456789");
  if (begin == std::string_view::npos) return std::nullopt;
  if (begin > 0 && text[begin - 1] == '.') --begin;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data() + begin, text.data() + text.size(), number);
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

std::vector<PublishedRun> parse_published_runs(std::string_view csv, std::string_view name) {
  if (is_table_of_figures(csv)) return runs_of_figures(parse_published(csv, name));
  const std::vector<std::string> header = take_csv_line(csv);
  check_columns(header, name);
  std::vector<PublishedRun> runs;
  for (size_t line = 2; !csv.empty(); ++line) {
    const size_t before = csv.size();
    const std::string_view text = csv;
    const std::vector<std::string> cells = take_csv_line(csv);
    const std::string_view taken = text.substr(0, before - csv.size());
    const size_t begin = line;
    line += static_cast<size_t>(std::max<std::ptrdiff_t>(0, std::ranges::count(taken, '\n') - 1));
    if (cells.size() == 1 && cells[0].empty()) continue;
    if (cells.size() != header.size())
      throw Error::format("{}:{}: {} cells, but the header has {}; quote cells that contain commas", name, begin,
                          cells.size(), header.size());
    PublishedRun run;
    PublishedRun::visit_fields(run, [&](const char* column, std::string& cell) {
      cell = cells[static_cast<size_t>(std::ranges::find(header, column) - header.begin())];
    });
    check_numbers(run, fmt::format("{}:{}", name, begin));
    runs.push_back(std::move(run));
  }
  return runs;
}

std::vector<PublishedRun> read_published_runs(const std::string& path) {
  if (path.ends_with(".jsonl") || path.ends_with(".json"))
    return runs_of_records(read_records(
        {.path = path, .purpose = "records to predict", .advice = "give what laptime show --output json printed"}));
  const InputFile file(path, "table of published figures");
  return parse_published_runs(file.read_all(kMaxPublishedBytes, "name a smaller table"), path);
}

}  // namespace laptime
