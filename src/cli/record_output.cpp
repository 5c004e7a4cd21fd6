// One branch per form.
#include "cli/record_output.h"

#include "report/csv.h"
#include "report/filter.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/shortage.h"

namespace laptime {
namespace {

constexpr std::string_view kStandardOutput = "standard output";

}  // namespace

RecordOutput::RecordOutput(const OutputConfig& config, std::span<const Record> planned) : config_(config) {
  const bool to_file = !config_.output_file.empty();
  TableStream checked(table_style(output_), config_.columns, planned);
  if (!config_.sort.empty()) sort_records(planned, config_.sort);
  lines_ = config_.output == OutputFormat::kJsonl && config_.sort.empty();
  if (config_.output == OutputFormat::kTable && !to_file && config_.sort.empty()) live_ = std::move(checked);
  if (to_file && lines_) growing_ = std::make_unique<GrowingFile>(config_.output_file);
  if (to_file && !lines_) whole_.emplace(config_.output_file);
}

void RecordOutput::add(const Record& record) {
  if (record.status == Status::kOutOfMemory) without_memory_.push_back(record);
  if (live_) {
    write_all(output_.descriptor, live_->add(record), kStandardOutput);
  } else if (growing_) {
    growing_->append(jsonl(record));
  } else if (lines_) {
    write_all(output_.descriptor, jsonl(record), kStandardOutput);
  } else {
    records_.push_back(record);
  }
}

void RecordOutput::finish() {
  if (!live_ && !lines_) write_records();
  if (shows_table()) write_all(output_.descriptor, explain_shortage(without_memory_), kStandardOutput);
}

void RecordOutput::write_records() {
  if (!config_.sort.empty()) records_ = sort_records(records_, config_.sort);
  const std::string text = text_of(records_);
  if (whole_) {
    whole_->write(text);
  } else {
    write_all(output_.descriptor, text, kStandardOutput);
  }
}

std::string RecordOutput::text_of(std::span<const Record> records) const {
  switch (config_.output) {
    case OutputFormat::kTable: {
      const bool to_file = whole_.has_value();
      return table(records, to_file ? TableStyle{} : table_style(output_), config_.columns);
    }
    case OutputFormat::kMarkdown: return markdown(records, config_.columns);
    case OutputFormat::kCsv: return csv(records, config_.columns);
    case OutputFormat::kJson: return json(records);
    case OutputFormat::kJsonl: {
      std::string lines;
      for (const Record& record : records) lines += jsonl(record);
      return lines;
    }
  }
  return {};
}

}  // namespace laptime
