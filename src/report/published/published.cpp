// Parses the table of published figures.
#include "report/published/published.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

#include "base/error.h"
#include "base/json.h"
#include "base/words.h"
#include "report/published/figures_file.h"

namespace laptime {
namespace {

// The cells of the line at the front of `text`, which is taken off. Cells in quotes may hold commas and doubled quotes.
std::vector<std::string> take_line(std::string_view& text) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  size_t at = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (quoted && c == '"' && at + 1 < text.size() && text[at + 1] == '"') {
      cells.back() += c;
      ++at;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == '\n' && !quoted) {
      break;
    } else if (c == ',' && !quoted) {
      cells.emplace_back();
    } else {
      cells.back() += c;
    }
  }
  text.remove_prefix(std::min(text.size(), at + 1));
  return cells;
}

template <class Number>
std::optional<Number> number_of(const std::string& cell, std::string_view column) {
  if (cell.empty()) return std::nullopt;
  Number number{};
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number);
  if (error != std::errc() || end != cell.data() + cell.size())
    throw Error::format("column {}: {} is not a number", column, quote(cell));
  return number;
}

std::string word_of(const std::string& cell, std::string_view column, std::span<const std::string_view> known) {
  if (std::find(known.begin(), known.end(), cell) == known.end())
    throw Error::format("column {}: unknown word {}", column, quote(cell));
  return cell;
}

constexpr std::array<std::string_view, 20> kFigureColumns{
    "source", "hardware", "software",   "edition",   "model",  "context_length", "batch_size", "pass",
    "mode",   "dtype",    "arithmetic", "certainty", "warmup", "steps",          "status",     "time_s",
    "std_s",  "min_s",    "max_s",      "note"};
constexpr std::array<std::string_view, 5> kKnownPasses{"forward", "backward", "forward_backward", "step", "inference"};
constexpr std::array<std::string_view, 3> kKnownCertainties{"proven", "stated", "doubtful"};
constexpr std::array<std::string_view, 2> kKnownModes{"eager", "compile"};
constexpr std::array<std::string_view, 2> kKnownStatuses{"ok", "out_of_memory"};

PublishedFigure figure_of(const std::vector<std::string>& cells) {
  PublishedFigure figure;
  size_t next = 0;
  const auto text = [&] { return cells[next++]; };
  const auto word = [&](std::span<const std::string_view> known) {
    std::string found = word_of(cells[next], kFigureColumns[next], known);
    ++next;
    return found;
  };
  const auto count = [&] {
    const auto found = number_of<int64_t>(cells[next], kFigureColumns[next]);
    ++next;
    return found;
  };
  const auto seconds = [&] {
    const auto found = number_of<double>(cells[next], kFigureColumns[next]);
    ++next;
    return found;
  };
  figure.source = text();
  figure.hardware = text();
  figure.software = text();
  figure.edition = text();
  figure.model = text();
  figure.context_length = count();
  figure.batch_size = count();
  figure.pass = word(kKnownPasses);
  figure.mode = word(kKnownModes);
  figure.dtype = text();
  figure.arithmetic = text();
  figure.certainty = word(kKnownCertainties);
  figure.warmup = count();
  figure.steps = count();
  figure.status = word(kKnownStatuses);
  figure.seconds = seconds();
  figure.std = seconds();
  figure.min = seconds();
  figure.max = seconds();
  figure.note = text();
  if ((figure.status == "ok") != figure.seconds.has_value())
    throw Error("a row has a time if its status is ok, and none otherwise");
  return figure;
}

bool is_equal(const Json& value, const std::optional<int64_t>& number) {
  return number && value.is_number_integer() && value.get<int64_t>() == *number;
}

}  // namespace

std::vector<PublishedFigure> parse_published(std::string_view csv) {
  std::vector<PublishedFigure> figures;
  const std::vector<std::string> header = take_line(csv);
  if (!std::equal(header.begin(), header.end(), kFigureColumns.begin(), kFigureColumns.end()))
    throw Error("published figures: line 1 does not name the columns that published/README.md lists");
  for (size_t line = 2; !csv.empty(); ++line) {
    const std::vector<std::string> cells = take_line(csv);
    if (cells.size() != kFigureColumns.size()) {
      throw Error::format("published figures: line {} has {} cells, not {}", line, cells.size(), kFigureColumns.size());
    }
    try {
      figures.push_back(figure_of(cells));
    } catch (const Error& error) {
      throw Error::format("published figures: line {}: {}", line, error.what());
    }
  }
  return figures;
}

const std::vector<PublishedFigure>& published_figures() {
  static const std::vector<PublishedFigure> kFigures = parse_published(published_figures_file());
  return kFigures;
}

bool is_of_same_model(const PublishedFigure& figure, const Record& record) {
  const Json& config = record.config.json();
  return figure.model == record.config.text("model") && figure.edition == record.config.text("edition") &&
         config.contains("context_length") && config.contains("batch_size") &&
         is_equal(config.at("context_length"), figure.context_length) &&
         is_equal(config.at("batch_size"), figure.batch_size);
}

std::vector<const PublishedFigure*> published_times_of(const Record& record) {
  std::vector<const PublishedFigure*> figures;
  for (const PublishedFigure& figure : published_figures()) {
    if (figure.seconds && figure.pass == record.config.text("pass") && is_of_same_model(figure, record))
      figures.push_back(&figure);
  }
  std::stable_sort(figures.begin(), figures.end(),
                   [](const PublishedFigure* a, const PublishedFigure* b) { return *a->seconds < *b->seconds; });
  return figures;
}

}  // namespace laptime
