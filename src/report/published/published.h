// Times that other people published for the models that laptime knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace laptime {

// A row of published/figures.csv, whose columns published/README.md explains.
struct PublishedFigure {
  std::string source;
  std::string hardware;
  std::string software;
  std::string edition;
  std::string model;
  std::optional<int64_t> context_length;
  std::optional<int64_t> batch_size;
  std::string pass;
  std::string mode;
  std::string dtype;       // as the source calls it
  std::string arithmetic;  // that ran, as far as it is known
  std::string certainty;   // of the arithmetic: "proven", "stated" or "doubtful"
  std::optional<int64_t> warmup;
  std::optional<int64_t> steps;
  std::string status;                   // as of a record: "ok", "out_of_memory"
  std::optional<double> seconds;        // of a pass, the mean
  std::optional<double> std, min, max;  // seconds
  std::string note;
};

// Error that names the line for a text with other columns, an unknown word or a number that is none.
std::vector<PublishedFigure> parse_published(std::string_view csv);

// The figures that the program carries.
const std::vector<PublishedFigure>& published_figures();

// Whether the figure is of the same model, edition, context and batch as the record; the pass may be another.
bool is_of_same_model(const PublishedFigure& figure, const Record& record);
// The times of the same model and the same pass, the shortest first.
std::vector<const PublishedFigure*> published_times_of(const Record& record);

}  // namespace laptime
