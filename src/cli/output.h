// Writes the records and answers of a command according to --output and --output-file.
#pragma once

#include <array>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/destination.h"
#include "config/option_table.h"
#include "config/output_config.h"
#include "config/training_options.h"
#include "record/record.h"
#include "report/answer.h"
#include "report/record_files.h"
#include "report/record_table.h"

namespace laptime {

// The style of record tables on `stream`. `stored_runs` must outlive the style.
TableStyle table_style(const OutputStream& stream, const OutputConfig& config,
                       const std::set<std::string>* stored_runs = nullptr);

bool is_table(OutputFormat format);            // whether the format is meant to be read by people
bool shows_table(const OutputConfig& config);  // whether standard output shows a table for people

// Writes a table on standard output and JSON lines record by record. Other formats, sorted output, and rows that are
// compared with a later row are written at the end.
class RecordOutput {
 public:
  // Throws Error for a file that cannot be written and for an unknown column in --columns or --sort. `planned` are the
  // expected records, as far as they are known. `stored_runs` is passed to TableStyle and must outlive this object.
  RecordOutput(const OutputConfig& config, std::span<const Record> planned,
               const std::set<std::string>* stored_runs = nullptr);

  bool is_live_table() const { return live_.has_value(); }  // standard output shows each record immediately

  void add(const Record& record);  // throws OutputLost
  void finish();                   // throws OutputLost

 private:
  OutputConfig config_;
  const std::set<std::string>* stored_runs_;
  std::optional<TableStream> live_;
  std::optional<Destination> whole_;
  std::optional<GrowingFile> growing_;
  std::optional<JsonLines> lines_;  // each record is written immediately
  std::vector<Record> records_;     // written at the end, or summarized below a live table
};

// Writes all records at once. With `tells_runs`, a table on standard output has a line before each run's records if
// there are several runs. Throws Error for an unknown column, and OutputLost.
void write_records(const OutputConfig& config, const Records& records, bool tells_runs);

// Text on standard output appears as points finish; files and other formats are written at the end.
class AnswerOutput {
 public:
  // Throws Error for a format that answers do not support and for a file that cannot be written.
  explicit AnswerOutput(const OutputConfig& config);

  void add(PointAnswer answer);  // throws OutputLost
  void finish();                 // throws OutputLost
  void end(PointAnswer answer);  // adds the last answer and finishes; goes on if the reader has gone
  void hint(std::string line) { hint_ = std::move(line); }  // a last line, shown only to people

 private:
  bool is_live() const { return config_.output == OutputFormat::kTable && !destination_.is_file(); }
  std::string document() const;

  OutputConfig config_;
  Destination destination_;
  std::vector<PointAnswer> answers_;
  std::string hint_;
};

// Prints how long the requested training takes at each record's rate: below a table on standard output, otherwise on
// standard error.
class TrainingLines {
 public:
  TrainingLines(const OutputConfig& config, const TrainingBudget& budget)
      : is_with_table_(shows_table(config)), budget_(budget) {}

  void add(const Record& record);
  void print() const;

 private:
  bool is_with_table_;
  TrainingBudget budget_;
  std::vector<std::pair<std::string, std::string>> lines_;  // record name and text
};

// "[\n...,\n...\n]\n": a list of JSON values, one per line.
std::string json_list(const std::vector<std::string>& values);

// The output formats of an answer. Answers have no samples, so the format `samples` is left out.
inline constexpr std::array kAnswerFormats{OutputFormat::kTable, OutputFormat::kMarkdown, OutputFormat::kCsv,
                                           OutputFormat::kJson, OutputFormat::kJsonl};

// Restricts the values of --output to the formats that a command supports.
std::vector<OptionRow> with_formats(std::vector<OptionRow> rows,
                                    std::span<const OutputFormat> formats = kAnswerFormats);

// Throws Error unless the format is one of `formats`; the --config file may have set any format.
void require_format(OutputFormat format, std::span<const OutputFormat> formats);

// The options of a command that answers questions about the points of a sweep: its own options and the sweep's, except
// `left_out` and the options of record tables (--columns, --explain, --mfu, --quiet).
std::vector<OptionRow> answer_options(std::vector<OptionRow> own, std::string_view left_out = {});

}  // namespace laptime
