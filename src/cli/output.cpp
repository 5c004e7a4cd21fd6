// The output formats of records and answers, and the two ways to write them: incrementally or all at the end.
#include "cli/output.h"

#include <fmt/format.h>

#include "analysis/plan_findings.h"
#include "base/error.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/inputs.h"
#include "config/label.h"
#include "report/columns.h"
#include "report/words.h"
#include "table/text.h"

namespace laptime {
namespace {

// The metric that --mfu selects.
std::string share_of_peak(const OutputConfig& config) {
  return config.mfu == MfuRule::kFull ? "mfu" : fmt::format("mfu_{}", name_of(config.mfu));
}

void json_lines(const Records& records, const OutputConfig& config, const TextSink& sink) {
  JsonLines lines(config.columns, records, share_of_peak(config));
  records.all(lines.extent(), [&](const Record& record) { sink(lines.line(record)); });
}

void write_line(const std::string& text) { write_output(wrapped(text, standard_output().style(), 0)); }

std::string summary_below(std::string_view columns, const Records& records) {
  const std::string summary = summary_of_columns(columns, records);
  return summary.empty() ? "" : summary + "\n";
}

void write(const OutputConfig& config, const Records& records, const TableStyle& style, const TextSink& sink) {
  switch (config.output) {
    case OutputFormat::kTable: table(records, style, config.columns, sink); break;
    case OutputFormat::kMarkdown: markdown(records, style, config.columns, sink); break;
    case OutputFormat::kCsv: csv(records, config.columns, sink, share_of_peak(config)); break;
    case OutputFormat::kJson: json(records, sink); break;
    case OutputFormat::kJsonl: json_lines(records, config, sink); break;
    case OutputFormat::kSamples: samples_csv(records, sink); break;
  }
  if (is_table(config.output)) sink(summary_below(config.columns, records));
}

void write_whole(const Destination& destination, const OutputConfig& config, const Records& records,
                 const TableStyle& style) {
  constexpr size_t kPiece = size_t{64} << 10U;
  destination.write([&](const TextSink& sink) {
    std::string piece;
    write(config, records, style, [&](std::string_view text) {
      piece += text;
      if (piece.size() < kPiece) return;
      sink(piece);
      piece.clear();
    });
    if (!piece.empty()) sink(piece);
  });
}

TableStyle style_at(const Destination& destination, const OutputConfig& config,
                    const std::set<std::string>* stored_runs = nullptr) {
  const OutputStream file{.unicode = true};
  return table_style(destination.is_file() ? file : standard_output(), config, stored_runs);
}

}  // namespace

TableStyle table_style(const OutputStream& stream, const OutputConfig& config,
                       const std::set<std::string>* stored_runs) {
  return {.unicode = stream.unicode,
          .width = stream.width,
          .verbose = config.verbose,
          .quiet = config.quiet,
          .mfu = share_of_peak(config),
          .stored_runs = stored_runs};
}

bool is_table(OutputFormat format) { return format == OutputFormat::kTable || format == OutputFormat::kMarkdown; }

bool shows_table(const OutputConfig& config) {
  return is_table(config.output) && is_standard_output(config.output_file);
}

RecordOutput::RecordOutput(const OutputConfig& config, std::span<const Record> planned,
                           const std::set<std::string>* stored_runs)
    : config_(config), stored_runs_(stored_runs) {
  const bool to_file = !is_standard_output(config_.output_file);
  const bool is_sorted = !config_.sort.empty();
  columns_of(config_.columns, RecordList(planned));  // reports an unknown column before anything runs
  if (is_sorted) sort_records(planned, config_.sort);
  if (!is_sorted && !to_file && config_.output == OutputFormat::kTable)
    live_.emplace(table_style(standard_output(), config_, stored_runs_), config_.columns, RecordList(planned));
  if (!is_sorted && config_.output == OutputFormat::kJsonl)
    lines_.emplace(config_.columns, RecordList(planned), share_of_peak(config_));
  if (lines_ && lines_->have_late_baselines()) lines_.reset();
  if (lines_ && to_file) growing_.emplace(config_.output_file);
  if (!lines_ && !live_) whole_.emplace(config_.output_file);
}

void RecordOutput::add(const Record& record) {
  if (live_) {
    write_output(live_->add(record));
    if (have_summary(config_.columns)) records_.push_back(record);
  } else if (lines_) {
    growing_ ? growing_->append(lines_->line(record)) : write_output(lines_->line(record));
  } else {
    records_.push_back(record);
  }
}

void RecordOutput::finish() {
  if (live_) write_output(live_->end() + summary_below(config_.columns, RecordList(records_)));
  if (!whole_) return;
  constexpr bool kOfOneCommand = true;
  if (!config_.sort.empty()) records_ = sort_records(records_, config_.sort, kOfOneCommand);
  write_whole(*whole_, config_, RecordList(records_, kOfOneCommand), style_at(*whole_, config_, stored_runs_));
}

void write_records(const OutputConfig& config, const Records& records, bool tells_runs) {
  columns_of(config.columns, records);  // reports an unknown column before anything is written
  const Destination destination(config.output_file);
  TableStyle style = style_at(destination, config);
  style.tells_runs = !destination.is_file() && tells_runs && config.sort.empty();
  write_whole(destination, config, records, style);
}

AnswerOutput::AnswerOutput(const OutputConfig& config) : config_(config), destination_(config.output_file) {
  require_format(config_.output, kAnswerFormats);
}

void AnswerOutput::add(PointAnswer answer) {
  if (is_live()) write_output((answers_.empty() ? "" : "\n") + text_of(answer, destination_.style()));
  answers_.push_back(std::move(answer));
}

std::string AnswerOutput::document() const {
  if (config_.output == OutputFormat::kCsv) return csv_of(answers_);
  std::vector<std::string> texts;
  for (const PointAnswer& answer : answers_) {
    switch (config_.output) {
      case OutputFormat::kMarkdown: texts.push_back(markdown_of(answer)); break;
      case OutputFormat::kJson: texts.push_back(json_of(answer).dump()); break;
      case OutputFormat::kJsonl: texts.push_back(json_of(answer).dump() + "\n"); break;
      default: texts.push_back(text_of(answer, destination_.style())); break;
    }
  }
  if (config_.output == OutputFormat::kJson) return json_list(texts);
  return joined(texts, config_.output == OutputFormat::kJsonl ? "" : "\n");
}

void AnswerOutput::finish() {
  if (!is_live()) return destination_.write(document());
  if (!hint_.empty()) write_line(hint_);
}

void AnswerOutput::end(PointAnswer answer) {
  until_reader_goes([&] {
    add(std::move(answer));
    finish();
  });
}

std::string json_list(const std::vector<std::string>& values) {
  return fmt::format("[\n{}\n]\n", joined(values, ",\n"));
}

std::vector<OptionRow> with_formats(std::vector<OptionRow> rows, std::span<const OutputFormat> formats) {
  for (OptionRow& row : rows) {
    if (row.option.flag != "output") continue;
    row.option.help = "output format";
    row.choices = mapped(formats, name_of<OutputFormat>);
    row.is_narrowed = true;
  }
  return rows;
}

void require_format(OutputFormat format, std::span<const OutputFormat> formats) {
  if (is_among(format, formats)) return;
  throw Error::format("--output {} is not supported here; use {}", name_of(format),
                      joined(mapped(formats, name_of<OutputFormat>), ", "));
}

void TrainingLines::add(const Record& record) {
  if (!budget_.is_asked()) return;
  if (const std::optional<Finding> training = training_time(record, budget_))
    lines_.emplace_back(record.name, words(*training));
}

void TrainingLines::print() const {
  const std::string common = common_words(lines_, [](const auto& line) { return line.first; });
  for (const auto& [name, text] : lines_) {
    const std::string line = (lines_.size() > 1 ? spoken_name(name, common) + ": " : "") + text;
    is_with_table_ ? write_line(line) : print_error_text(line + "\n");
  }
}

std::vector<OptionRow> answer_options(std::vector<OptionRow> own, std::string_view left_out) {
  return with_formats(
      without(without(together(std::move(own), sweep_options()), "columns explain mfu quiet"), left_out));
}

}  // namespace laptime
