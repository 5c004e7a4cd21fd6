// Writes the records and the answers of a command as --output and --output-file ask.
#pragma once

#include <array>
#include <initializer_list>
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

// How tables of records look in this terminal. `stored_runs` must outlive the style.
TableStyle table_style(const OutputStream& stream, const OutputConfig& config,
                       const std::set<std::string>* stored_runs = nullptr);

bool shows_table(const OutputConfig& config);  // on standard output, for people

// A table on standard output and JSON lines grow with every record; other formats, and everything that is sorted, are
// written at the end.
class RecordOutput {
 public:
  // Error for a file that cannot be written and for an unknown column in --columns or --sort. `planned` are the records
  // to come, as far as they are known. `stored_runs` are those of TableStyle, and must outlive it.
  RecordOutput(const OutputConfig& config, std::span<const Record> planned,
               const std::set<std::string>* stored_runs = nullptr);

  bool is_live_table() const { return live_.has_value(); }  // standard output shows each record as it comes

  void add(const Record& record);  // OutputLost
  void finish();                   // OutputLost

 private:
  OutputConfig config_;
  const std::set<std::string>* stored_runs_;
  std::optional<TableStream> live_;
  std::optional<Destination> whole_;
  std::optional<GrowingFile> growing_;
  std::optional<JsonLines> lines_;  // each record is written as it comes
  std::vector<Record> records_;     // written at the end, or summed up below a table that grows
};

// Writes all records at once. With `tells_runs` a table on standard output has a line before the records of each run if
// there are several. Error for an unknown column, and OutputLost.
void write_records(const OutputConfig& config, const Records& records, bool tells_runs);

// Text on standard output appears as points finish; files and other formats are written at the end.
class AnswerOutput {
 public:
  // Error for a format that answers do not have and for a file that cannot be written.
  explicit AnswerOutput(const OutputConfig& config);

  void add(PointAnswer answer);                             // OutputLost
  void finish();                                            // OutputLost
  void hint(std::string line) { hint_ = std::move(line); }  // a last line for people alone

 private:
  bool is_live() const { return config_.output == OutputFormat::kTable && !destination_.is_file(); }
  std::string document() const;

  OutputConfig config_;
  Destination destination_;
  std::vector<PointAnswer> answers_;
  std::string hint_;
};

// Below a table on standard output, or on standard error beside another format: how long the training that was asked for takes at the rate of each record.
class TrainingLines {
 public:
  TrainingLines(const OutputConfig& config, const TrainingBudget& budget)
      : is_with_table_(shows_table(config)), budget_(budget) {}

  void add(const Record& record);
  void print() const;

 private:
  bool is_with_table_;
  TrainingBudget budget_;
  std::vector<std::pair<std::string, std::string>> lines_;  // name of the record, and the words
};

// "[\n...,\n...\n]\n": a list of JSON values, one on each line.
std::string json_list(const std::vector<std::string>& values);

// The formats of an answer, which has no samples of its own.
inline constexpr std::array kAnswerFormats{OutputFormat::kTable, OutputFormat::kMarkdown, OutputFormat::kCsv,
                                           OutputFormat::kJson, OutputFormat::kJsonl};

// Restricts the values of --output to the formats that a command writes.
std::vector<OptionRow> with_formats(std::vector<OptionRow> rows,
                                    std::span<const OutputFormat> formats = kAnswerFormats);

// Error for another format, which the file of --config may ask for.
void require_format(OutputFormat format, std::span<const OutputFormat> formats);

// The options of a command that answers about the points of a sweep: its own and those of the sweep, except `left_out`
// and those of tables of records (--columns, --explain).
std::vector<OptionRow> answer_options(std::vector<OptionRow> own,
                                      std::initializer_list<std::string_view> left_out = {});

}  // namespace laptime
