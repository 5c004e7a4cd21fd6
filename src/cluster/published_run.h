// PublishedRun: a published figure of a training run, with its published description.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/key.h"

namespace laptime {

// A row of published/clusters.csv, whose columns published/README.md explains. Cells keep their original text.
struct PublishedRun {
  std::string id, source, source_commit_or_date, hardware, gpus, nodes, interconnect, model_family, model_name;
  std::string parameters, layers, d_model, d_ff, heads, kv_heads, vocab, sequence_length, micro_batch;
  std::string global_batch_tokens, dtype, mode, flash_attention, parallelism, activation_checkpointing;
  std::string quantity, value, note;
  // Only records have these; tables have no such columns.
  std::vector<std::pair<std::string, std::string>> options;  // flags and values of further options
  std::string refusal;                                       // why the run cannot be described; empty if it can

  LAPTIME_FIELDS(id, source, source_commit_or_date, hardware, gpus, nodes, interconnect, model_family, model_name,
                 parameters, layers, d_model, d_ff, heads, kv_heads, vocab, sequence_length, micro_batch,
                 global_batch_tokens, dtype, mode, flash_attention, parallelism, activation_checkpointing, quantity,
                 value, note)

  // True if the person who collected the figure doubts it; the note says why.
  bool is_flagged() const { return note.find("FLAG") != std::string::npos; }
};

inline constexpr size_t kMaxPublishedBytes = size_t{16} << 20U;

// Columns may be in any order. Also reads tables with the columns of published/figures.csv, as runs of one GPU, but
// skips rows without a time (runs that ran out of memory). Throws Error for a missing or unknown column, a line with a
// wrong number of cells, and a malformed number. The message states `name` and the line.
std::vector<PublishedRun> parse_published_runs(std::string_view csv, std::string_view name);

// Reads the figures of a table, or of records in a file whose name ends in .json or .jsonl. Throws Error like
// parse_published_runs and read_records, and if the file cannot be read.
std::vector<PublishedRun> read_published_runs(const std::string& path);

// Prefix of PublishedRun::model_family if the model is a named size of one of laptime's editions: "edition 2025".
inline constexpr std::string_view kEditionFamily = "edition ";

// The value of PublishedRun::flash_attention if no kernel is stated: the implementation in PublishedRun::mode decides.
inline constexpr std::string_view kUsualAttention = "usual";

// The first number in a text, without a sign: 80 in "80 GB", 9.5e-05 in "9.5e-05"; none if the text has no number.
std::optional<double> number_in(std::string_view text);

}  // namespace laptime
