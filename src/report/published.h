// Times that other people published for the models that laptime knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "record/record.h"

namespace laptime {

// A row of published/figures.csv, whose columns published/README.md explains.
struct PublishedFigure {
  std::string source, hardware, software, edition, model;
  std::optional<int64_t> context_length, batch_size;
  std::string pass, mode, dtype;
  std::string arithmetic;  // that ran, as far as it is known
  std::string certainty;   // of the arithmetic: "proven", "stated" or "doubtful"
  std::optional<int64_t> warmup, steps;
  std::string status;                                 // as of a record: "ok", "out_of_memory"
  std::optional<double> time_s, std_s, min_s, max_s;  // of a pass; the mean, and its spread
  std::string note;

  LAPTIME_FIELDS(source, hardware, software, edition, model, context_length, batch_size, pass, mode, dtype, arithmetic,
                 certainty, warmup, steps, status, time_s, std_s, min_s, max_s, note)
};

// Error that names the line for a text with other columns, an unknown word or a malformed number.
std::vector<PublishedFigure> parse_published(std::string_view csv);

// The text of published/figures.csv, which cmake/embedded_files.cmake compiles into the program, and its figures.
std::string_view published_figures_file();
const std::vector<PublishedFigure>& published_figures();

// Whether the figure is of the same model, edition, context and batch as the record; the pass may be another.
bool is_of_same_model(const PublishedFigure& figure, const Record& record);
// The times of the same model and the same pass, the shortest first.
std::vector<const PublishedFigure*> published_times_of(const Record& record);

}  // namespace laptime
