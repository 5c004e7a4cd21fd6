// The table of formats, and the two ways to write: as records come, or all at the end.
#include "cli/record_output.h"

#include <algorithm>
#include <array>

#include "report/columns.h"
#include "report/filter.h"
#include "report/record_files.h"
#include "report/record_table.h"

namespace laptime {
namespace {

// How one value of --output writes records.
struct Writer {
  OutputFormat format;
  // All records at once; `style` is that of the terminal, or of a file.
  void (*all)(const Records& records, const TableStyle& style, std::string_view columns, const TextSink& sink);
  bool grows = false;     // each record is a line of JSON, written as it comes
  bool is_table = false;  // for people
};

constexpr std::array kWriters{
    Writer{.format = OutputFormat::kTable, .all = table, .is_table = true},
    Writer{.format = OutputFormat::kMarkdown,
           .all = [](const Records& records, const TableStyle&, std::string_view columns,
                     const TextSink& sink) { markdown(records, columns, sink); },
           .is_table = true},
    Writer{.format = OutputFormat::kCsv,
           .all = [](const Records& records, const TableStyle&, std::string_view columns,
                     const TextSink& sink) { csv(records, columns, sink); }},
    Writer{.format = OutputFormat::kJson,
           .all = [](const Records& records, const TableStyle&, std::string_view,
                     const TextSink& sink) { json(records, sink); }},
    Writer{.format = OutputFormat::kJsonl,
           .all =
               [](const Records& records, const TableStyle&, std::string_view columns, const TextSink& sink) {
                 JsonLines lines(columns, records);
                 lines.add_speedups(records);
                 records.each(lines.extent(), [&](const Record& record) {
                   sink(lines.line(record));
                   return true;
                 });
               },
           .grows = true},
    Writer{.format = OutputFormat::kSamples,
           .all = [](const Records& records, const TableStyle&, std::string_view, const TextSink& sink) {
             samples_csv(records, sink);
           }}};

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

// The summary line below a table with these columns; empty for columns without a summary.
std::string summary_below(std::string_view columns, const Records& records) {
  const std::string summary = summary_of_columns(columns, records);
  return summary.empty() ? "" : summary + "\n";
}

void write(const Writer& writer, const Records& records, const TableStyle& style, std::string_view columns,
           const TextSink& sink) {
  writer.all(records, style, columns, sink);
  if (writer.is_table) sink(summary_below(columns, records));
}

// Calls `produce` with a sink whose text goes on to `sink` in large pieces.
void in_pieces(const TextSink& sink, const std::function<void(const TextSink&)>& produce) {
  constexpr size_t kPiece = size_t{64} << 10U;
  std::string piece;
  produce([&](std::string_view text) {
    piece += text;
    if (piece.size() < kPiece) return;
    sink(piece);
    piece.clear();
  });
  if (!piece.empty()) sink(piece);
}

}  // namespace

RecordOutput::RecordOutput(const OutputConfig& config, std::span<const Record> planned,
                           const std::set<std::string>* stored_runs)
    : config_(config), stored_runs_(stored_runs) {
  const bool to_file = !config_.output_file.empty();
  TableStream checked(style_of_output(), config_.columns, planned);
  if (!config_.sort.empty()) sort_records(planned, config_.sort);
  if (writer_of(config_.output).grows && config_.sort.empty()) lines_.emplace(config_.columns, RecordList(planned));
  if (config_.output == OutputFormat::kTable && !to_file && config_.sort.empty()) live_ = std::move(checked);
  if (to_file && lines_) growing_ = std::make_unique<GrowingFile>(config_.output_file);
  if (to_file && !lines_) whole_.emplace(config_.output_file);
}

bool shows_table(const OutputConfig& config) { return writer_of(config.output).is_table && config.output_file.empty(); }

TableStyle RecordOutput::style_of_output() const {
  TableStyle style = whole_ ? TableStyle{} : table_style(output_);
  style.verbose = config_.verbose;
  style.quiet = config_.quiet;
  style.stored_runs = stored_runs_;
  return style;
}

bool RecordOutput::shows_table() const { return laptime::shows_table(config_); }

void RecordOutput::add(const Record& record) {
  if (live_) {
    write_all(output_.descriptor, live_->add(record), kStandardOutput);
    if (!summary_of_columns(config_.columns, RecordList(std::span(&record, 1))).empty()) records_.push_back(record);
  } else if (growing_) {
    growing_->append(lines_->line(record));
  } else if (lines_) {
    write_all(output_.descriptor, lines_->line(record), kStandardOutput);
  } else {
    records_.push_back(record);
  }
}

void RecordOutput::finish() {
  if (!live_ && !lines_) write_all_records();
  if (live_)
    write_all(output_.descriptor, live_->end() + summary_below(config_.columns, RecordList(records_)), kStandardOutput);
}

void RecordOutput::write_all_records() {
  if (!config_.sort.empty()) records_ = sort_records(records_, config_.sort);
  const TableStyle style = style_of_output();
  const RecordList records(records_);
  const auto produce = [&](const TextSink& sink) {
    const Writer& writer = writer_of(config_.output);
    in_pieces(sink, [&](const TextSink& pieces) { write(writer, records, style, config_.columns, pieces); });
  };
  if (whole_) {
    whole_->write(produce);
  } else {
    produce([&](std::string_view text) { write_all(output_.descriptor, text, kStandardOutput); });
  }
}

void write_records(const OutputConfig& config, const Records& records, bool tells_runs) {
  const Speedups none;
  columns_of(config.columns, none, records);  // an unknown column is an error before anything is written
  const Writer& writer = writer_of(config.output);
  const auto produce = [&](const TableStyle& style, const TextSink& sink) {
    in_pieces(sink, [&](const TextSink& pieces) { write(writer, records, style, config.columns, pieces); });
  };
  if (!config.output_file.empty()) {
    WholeFile(config.output_file).write([&](const TextSink& sink) {
      produce(TableStyle{.verbose = config.verbose, .quiet = config.quiet}, sink);
    });
    return;
  }
  const OutputStream output = standard_output();
  TableStyle style = table_style(output, config.verbose);
  style.quiet = config.quiet;
  style.tells_runs = tells_runs && config.sort.empty();
  produce(style, [&](std::string_view text) { write_all(output.descriptor, text, kStandardOutput); });
}

}  // namespace laptime
