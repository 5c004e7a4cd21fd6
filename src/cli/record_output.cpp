// The table of formats, and the two ways to write: as records come, or all at the end.
#include "cli/record_output.h"

#include <algorithm>
#include <array>

#include "model/model_card.h"
#include "report/csv.h"
#include "report/filter.h"
#include "report/json.h"
#include "report/markdown.h"
#include "report/shortage.h"

namespace laptime {
namespace {

constexpr std::string_view kStandardOutput = "standard output";

std::string json_text(std::span<const Record> records, const TableStyle&, std::string_view) { return json(records); }
std::string jsonl_text(std::span<const Record> records, const TableStyle&, std::string_view) {
  std::string lines;
  for (const Record& record : records) lines += jsonl(record);
  return lines;
}
std::string csv_text(std::span<const Record> records, const TableStyle&, std::string_view columns) {
  return csv(records, columns);
}
std::string markdown_text(std::span<const Record> records, const TableStyle&, std::string_view columns) {
  return markdown(records, columns);
}

// How one value of --output writes records.
struct Writer {
  OutputFormat format;
  // All records at once; `style` is that of the terminal, or of a file.
  std::string (*all)(std::span<const Record> records, const TableStyle& style, std::string_view columns);
  std::string (*line)(const Record& record) = nullptr;  // where records are lines that do not depend on each other
  bool is_table = false;                                // for people: what did not fit is worked out below it
};

constexpr std::array kWriters{Writer{.format = OutputFormat::kTable, .all = table, .is_table = true},
                              Writer{.format = OutputFormat::kMarkdown, .all = markdown_text, .is_table = true},
                              Writer{.format = OutputFormat::kCsv, .all = csv_text},
                              Writer{.format = OutputFormat::kJson, .all = json_text},
                              Writer{.format = OutputFormat::kJsonl, .all = jsonl_text, .line = jsonl}};

constexpr bool every_format_has_a_writer() {
  for (const auto& choice : choices_of(OutputFormat{})) {
    bool found = false;
    for (const Writer& writer : kWriters) found = found || writer.format == choice.value;
    if (!found) return false;
  }
  return true;
}
static_assert(every_format_has_a_writer());

const Writer& writer_of(OutputFormat format) {
  return *std::find_if(kWriters.begin(), kWriters.end(), [&](const Writer& writer) { return writer.format == format; });
}

}  // namespace

RecordOutput::RecordOutput(const OutputConfig& config, std::span<const Record> planned) : config_(config) {
  const bool to_file = !config_.output_file.empty();
  TableStream checked(table_style(output_), config_.columns, planned);
  if (!config_.sort.empty()) sort_records(planned, config_.sort);
  lines_ = writer_of(config_.output).line != nullptr && config_.sort.empty();
  if (config_.output == OutputFormat::kTable && !to_file && config_.sort.empty()) live_ = std::move(checked);
  if (to_file && lines_) growing_ = std::make_unique<GrowingFile>(config_.output_file);
  if (to_file && !lines_) whole_.emplace(config_.output_file);
}

bool RecordOutput::shows_table() const { return writer_of(config_.output).is_table && config_.output_file.empty(); }

void RecordOutput::add(const Record& record) {
  // What a language model holds is too much to list.
  const bool is_listed = !card_of(record.config.text("model")).is_language_model;
  if (record.status == Status::kOutOfMemory && is_listed) without_memory_.push_back(record);
  if (live_) {
    write_all(output_.descriptor, live_->add(record), kStandardOutput);
  } else if (growing_) {
    growing_->append(writer_of(config_.output).line(record));
  } else if (lines_) {
    write_all(output_.descriptor, writer_of(config_.output).line(record), kStandardOutput);
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
  const TableStyle style = whole_ ? TableStyle{} : table_style(output_);
  const std::string text = writer_of(config_.output).all(records_, style, config_.columns);
  if (whole_) {
    whole_->write(text);
  } else {
    write_all(output_.descriptor, text, kStandardOutput);
  }
}

}  // namespace laptime
