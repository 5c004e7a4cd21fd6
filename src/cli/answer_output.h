// Writes the answers of a command's points as --output and --output-file ask.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/destination.h"
#include "cli/terminal.h"
#include "config/option_table.h"
#include "config/output_config.h"
#include "report/answer.h"

namespace laptime {

// Text on standard output appears as points finish; everything else is written at the end.
class AnswerOutput {
 public:
  explicit AnswerOutput(
      const OutputConfig& config);  // Error for a format of records alone and for a file that cannot be written

  // Whether add() shows the answer at once.
  bool is_live() const { return config_.output == OutputFormat::kTable && !file_; }

  void add(PointAnswer answer);  // OutputLost
  void finish();                 // OutputLost
  // A last line for people; nothing in the other formats.
  void hint(std::string line) { hint_ = std::move(line); }

 private:
  TextStyle text_style() const { return {.unicode = stream_.unicode, .width = stream_.width}; }
  std::string document(const TextStyle& style) const;

  OutputConfig config_;
  OutputStream stream_ = standard_output();
  std::optional<WholeFile> file_;
  std::vector<PointAnswer> answers_;
  std::string hint_;
};

// Restricts --output to the formats that an answer has.
void keep_formats_of_answers(std::vector<OptionRow>& rows);

// Also leaves out the options of record tables (--columns, --explain).
void keep_options_of_answers(std::vector<OptionRow>& rows);

}  // namespace laptime
