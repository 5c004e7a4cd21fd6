// The records of a command on their way to where --output and --output-file say.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/destination.h"
#include "cli/terminal.h"
#include "config/output_config.h"
#include "record/record.h"
#include "report/table.h"

namespace laptime {

// The table, and the records as JSON lines, grow with every record; the other forms, and whatever is sorted, are
// written at the end. Below a table on standard output stands in words what did not fit (report/shortage.h).
class RecordOutput {
 public:
  // Error for a file that cannot be written, an unknown column, or an order that the form cannot have. `planned` are
  // the records to come, as far as they are known.
  RecordOutput(const OutputConfig& config, std::span<const Record> planned);

  // Whether standard output shows each record as it comes, for people.
  bool is_live_table() const { return live_.has_value(); }

  // Whether standard output gets the records as a table, now or at the end.
  bool shows_table() const {
    const bool is_table = config_.output == OutputFormat::kTable || config_.output == OutputFormat::kMarkdown;
    return is_table && config_.output_file.empty();
  }

  void add(const Record& record);  // OutputLost
  void finish();                   // OutputLost

  const std::vector<Record>& without_memory() const { return without_memory_; }  // of those added: out_of_memory

 private:
  void write_records();
  std::string text_of(std::span<const Record> records) const;

  OutputConfig config_;
  Stream output_ = standard_output();
  std::optional<TableStream> live_;
  std::optional<WholeFile> whole_;
  std::unique_ptr<GrowingFile> growing_;
  bool lines_ = false;  // one JSON record per line, at once
  std::vector<Record> records_;
  std::vector<Record> without_memory_;
};

}  // namespace laptime
