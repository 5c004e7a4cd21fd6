// Times published by others for the models that laptime knows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "record/record.h"

namespace laptime {

// A row of published/figures.csv; published/README.md explains the columns.
struct PublishedFigure {
  std::string source, hardware, software, edition, model;
  std::optional<int64_t> context_length, batch_size;
  std::string pass, mode, dtype;
  std::string arithmetic;  // arithmetic that ran, as far as it is known
  std::string certainty;   // certainty of the arithmetic: "proven", "stated" or "doubtful"
  std::optional<int64_t> warmup, steps;
  std::string status;                                 // as in a record: "ok", "out_of_memory"
  std::optional<double> time_s, std_s, min_s, max_s;  // mean time of a pass, and its spread
  std::string note;

  LAPTIME_FIELDS(source, hardware, software, edition, model, context_length, batch_size, pass, mode, dtype, arithmetic,
                 certainty, warmup, steps, status, time_s, std_s, min_s, max_s, note)
};

// Throws Error that names the line if the text has other columns, an unknown word, a malformed number, or a time that
// contradicts the status.
std::vector<PublishedFigure> parse_published(std::string_view csv, std::string_view name);

// The text of published/figures.csv, compiled into the program by cmake/embedded_files.cmake, and its figures.
std::string_view published_figures_file();
const std::vector<PublishedFigure>& published_figures();

// Whether the figure has the same model, edition, context and batch as the record; the pass may differ.
bool is_of_same_model(const PublishedFigure& figure, const Record& record);
// Published times of the same model and pass, shortest first.
std::vector<const PublishedFigure*> published_times_of(const Record& record);

}  // namespace laptime
