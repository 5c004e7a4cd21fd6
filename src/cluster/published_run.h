// PublishedRun: a figure that somebody published of a training run, with the words in which it is described.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"

namespace laptime {

// A row of published/clusters.csv, whose columns published/README.md explains. Cells are kept as they are written.
struct PublishedRun {
  std::string id, source, source_commit_or_date, hardware, gpus, nodes, interconnect, model_family, model_name;
  std::string parameters, layers, d_model, d_ff, heads, kv_heads, vocab, sequence_length, micro_batch;
  std::string global_batch_tokens, dtype, mode, flash_attention, parallelism, activation_checkpointing;
  std::string quantity, value, note;

  LAPTIME_FIELDS(id, source, source_commit_or_date, hardware, gpus, nodes, interconnect, model_family, model_name,
                 parameters, layers, d_model, d_ff, heads, kv_heads, vocab, sequence_length, micro_batch,
                 global_batch_tokens, dtype, mode, flash_attention, parallelism, activation_checkpointing, quantity,
                 value, note)

  // Who collected the figure doubts it, and says so in the note.
  bool is_flagged() const { return note.find("FLAG") != std::string::npos; }
};

inline constexpr size_t kMaxPublishedBytes = size_t{16} << 20U;

// Columns may stand in any order; a table in the columns of published/figures.csv is read as well, its rows as runs of
// one GPU, without those that ran out of memory. Error that names `name` and the line for a missing or unknown column,
// a line with another number of cells, and a value that is no number.
std::vector<PublishedRun> parse_published_runs(std::string_view csv, std::string_view name);

// The figures of a table, or of records in a file whose name ends in .json or .jsonl. Error as parse_published_runs and
// read_records, and if the file cannot be read.
std::vector<PublishedRun> read_published_runs(const std::string& path);

// Begins the family of a model that is a size of an edition: "edition 2025".
inline constexpr std::string_view kEditionFamily = "edition ";

// The first number of a text, such as 80 of "80 GB"; none without one.
std::optional<double> number_in(std::string_view text);

}  // namespace laptime
