// Parses the table of published figures.
#include "report/published.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "base/error.h"
#include "base/json_path.h"
#include "base/words.h"
#include "config/fields_json.h"
#include "config/run_config.h"
#include "table/text.h"

namespace laptime {
namespace {

// The words that a column accepts, each between commas; other text columns accept any word.
constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kKnownWords{
    {{"pass", ",forward,backward,forward_backward,step,inference,"},
     {"certainty", ",proven,stated,doubtful,"},
     {"mode", ",eager,compile,"},
     {"status", ",ok,out_of_memory,"}}};

void read(std::string_view column, const std::string& cell, std::string& word) {
  for (const auto& [name, words] : kKnownWords) {
    if (name == column && words.find("," + cell + ",") == std::string_view::npos)
      throw Error::format("column {}: unknown word {}", column, quote(cell));
  }
  word = cell;
}

template <class Number>
void read(std::string_view column, const std::string& cell, std::optional<Number>& number) {
  if (cell.empty()) return;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), number.emplace());
  if (error != std::errc() || end != cell.data() + cell.size() || !(*number >= 0))
    throw Error::format("column {}: {} is not a number of at least 0", column, quote(cell));
}

bool is_equal(const JsonObject& config, std::string_view key, const std::optional<int64_t>& number) {
  return number && number_at(config, key) == static_cast<double>(*number);
}

// Whether these options of the record have their defaults, as in the models of the published figures.
bool has_usual_model(const Record& record) {
  static const JsonObject kDefaults(to_json(RunConfig()));
  constexpr std::array kOptions{"vocab_size", "weight_tie", "bias", "crop_context"};
  return std::ranges::all_of(kOptions, [&](const char* key) {
    const std::string value = record.config.text(key);
    return value.empty() || value == kDefaults.text(key);
  });
}

}  // namespace

std::vector<PublishedFigure> parse_published(std::string_view csv, std::string_view name) {
  std::vector<std::string> header;
  const PublishedFigure any;
  PublishedFigure::visit_fields(any, [&](const char* key, const auto&) { header.emplace_back(key); });
  if (take_csv_line(csv) != header)
    throw Error::format("{}:1: wrong header; name the columns that published/README.md lists", name);
  std::vector<PublishedFigure> figures;
  for (size_t line = 2; !csv.empty(); ++line) {
    const std::vector<std::string> cells = take_csv_line(csv);
    if (cells.size() != header.size())
      throw Error::format("{}:{}: {} cells; expected {}", name, line, cells.size(), header.size());
    try {
      PublishedFigure& figure = figures.emplace_back();
      size_t next = 0;
      PublishedFigure::visit_fields(figure, [&](const char* key, auto& field) { read(key, cells[next++], field); });
      if ((figure.status == "ok") != figure.time_s.has_value())
        throw Error("a row must have a time if its status is ok, and none otherwise");
    } catch (const Error& error) {
      throw Error::format("{}:{}: {}", name, line, error.what());
    }
  }
  return figures;
}

const std::vector<PublishedFigure>& published_figures() {
  static const std::vector<PublishedFigure> kFigures =
      parse_published(published_figures_file(), "published/figures.csv");
  return kFigures;
}

bool is_of_same_model(const PublishedFigure& figure, const Record& record) {
  return figure.model == record.config.text("model") && figure.edition == record.config.text("edition") &&
         has_usual_model(record) && has_default_key_heads(record) &&
         is_equal(record.config, "context_length", figure.context_length) &&
         is_equal(record.config, "batch_size", figure.batch_size);
}

std::vector<const PublishedFigure*> published_times_of(const Record& record) {
  std::vector<const PublishedFigure*> figures;
  for (const PublishedFigure& figure : published_figures()) {
    if (figure.time_s && figure.pass == record.config.text("pass") && is_of_same_model(figure, record))
      figures.push_back(&figure);
  }
  std::ranges::stable_sort(figures, {}, [](const PublishedFigure* figure) { return *figure->time_s; });
  return figures;
}

}  // namespace laptime
