// Writes the reports of a command's points as --output and --output-file ask.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/destination.h"
#include "cli/terminal.h"
#include "config/option_table.h"
#include "config/output_config.h"
#include "report/grid.h"

namespace laptime {

// Text on standard output appears as points finish, and at the end which columns a narrow terminal had no room for;
// everything else is written at the end. CSV has the rows of all
// points and tables, with the columns `name` and `table` first.
class GridOutput {
 public:
  explicit GridOutput(const OutputConfig& config);  // Error for a file that cannot be written

  // Whether add() shows the report at once.
  bool is_live() const { return config_.output == OutputFormat::kTable && !file_; }

  void add(PointReport report);  // OutputLost
  void finish();                 // OutputLost

 private:
  OutputConfig config_;
  OutputStream stream_ = standard_output();
  std::optional<WholeFile> file_;
  std::vector<PointReport> reports_;
  std::vector<std::string> left_out_;  // titles of columns for which the terminal is too narrow
};

// Restricts --output to the formats that a grid has.
void keep_formats_of_grids(std::vector<OptionRow>& rows);

// The same, and leaves out of a command's options those of tables of records (--columns, --verbose, --explain).
void keep_options_of_grids(std::vector<OptionRow>& rows);

// The whole of the reports in one format. Error for a format that a grid does not have.
std::string text_of(const std::vector<PointReport>& reports, OutputFormat format, const TableStyle& style);

}  // namespace laptime
