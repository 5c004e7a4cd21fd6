// Writes the records of a command as --output and --output-file ask.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "cli/destination.h"
#include "cli/terminal.h"
#include "config/output_config.h"
#include "record/record.h"
#include "report/record_files.h"
#include "report/record_table.h"

namespace laptime {

// A table on standard output and JSON lines grow with every record; other formats, and everything that is sorted, are
// written at the end.
class RecordOutput {
 public:
  // Error for a file that cannot be written and for an unknown column in --columns or --sort. `planned` are the records
  // to come, as far as they are known.
  // `stored_runs` are those of TableStyle, and must outlive it.
  RecordOutput(const OutputConfig& config, std::span<const Record> planned,
               const std::set<std::string>* stored_runs = nullptr);

  // Whether standard output shows each record as it comes, for people.
  bool is_live_table() const { return live_.has_value(); }

  // Whether standard output gets the records as a table, now or at the end.
  bool shows_table() const;

  void add(const Record& record);  // OutputLost
  void finish();                   // OutputLost

 private:
  void write_all_records();

  TableStyle style_of_output() const;

  OutputConfig config_;
  const std::set<std::string>* stored_runs_;
  OutputStream output_ = standard_output();
  std::optional<TableStream> live_;
  std::optional<WholeFile> whole_;
  std::unique_ptr<GrowingFile> growing_;
  std::optional<JsonLines> lines_;  // each record is written as it comes
  std::vector<Record> records_;     // written at the end, or summed up below a table that grows
};

// Writes all records at once, as --output and --output-file ask, in their order. With `tells_runs` a table on standard
// output has a line before the records of each run if there are several. Throws Error for an unknown column, and
// OutputLost.
void write_records(const OutputConfig& config, const Records& records, bool tells_runs);

// Whether standard output gets the records as a table for people.
bool shows_table(const OutputConfig& config);

}  // namespace laptime
