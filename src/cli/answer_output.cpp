// The formats of answers.
#include "cli/answer_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/words.h"
#include "cli/sweep_words.h"
#include "table/text.h"

namespace laptime {
namespace {

// An answer has no samples of its own.
constexpr std::array kAnswerFormats{OutputFormat::kTable, OutputFormat::kMarkdown, OutputFormat::kCsv,
                                    OutputFormat::kJson, OutputFormat::kJsonl};

}  // namespace

void keep_formats_of_answers(std::vector<OptionRow>& rows) { keep_formats(rows, kAnswerFormats); }

void keep_options_of_answers(std::vector<OptionRow>& rows) {
  leave_out(rows, {"columns", "explain"});
  keep_formats_of_answers(rows);
}

AnswerOutput::AnswerOutput(const OutputConfig& config) : config_(config) {
  if (std::find(kAnswerFormats.begin(), kAnswerFormats.end(), config_.output) == kAnswerFormats.end()) {
    std::vector<std::string_view> names;
    names.reserve(kAnswerFormats.size());
    for (const OutputFormat format : kAnswerFormats) names.push_back(name_of(format));
    throw Error::format("--output {}: write {}", name_of(config_.output), joined(names, ", "));
  }
  if (!config_.output_file.empty()) file_.emplace(config_.output_file);
}

void AnswerOutput::add(PointAnswer answer) {
  if (is_live()) {
    const std::string text = (answers_.empty() ? "" : "\n") + text_of(answer, text_style());
    write_all(stream_.descriptor, text, kStandardOutput);
  }
  answers_.push_back(std::move(answer));
}

std::string AnswerOutput::document(const TextStyle& style) const {
  std::string text;
  switch (config_.output) {
    case OutputFormat::kMarkdown:
      for (const PointAnswer& answer : answers_) text += (text.empty() ? "" : "\n") + markdown_of(answer);
      return text;
    case OutputFormat::kCsv: return csv_of(answers_);
    case OutputFormat::kJson:
      for (const PointAnswer& answer : answers_) text += (text.empty() ? "" : ",\n") + json_of(answer).dump();
      return fmt::format("[\n{}\n]\n", text);
    case OutputFormat::kJsonl:
      for (const PointAnswer& answer : answers_) text += json_of(answer).dump() + "\n";
      return text;
    default:
      for (const PointAnswer& answer : answers_) text += (text.empty() ? "" : "\n") + text_of(answer, style);
      return text;
  }
}

void AnswerOutput::finish() {
  if (is_live()) {
    if (!hint_.empty()) {
      const TextStyle style = text_style();
      write_all(stream_.descriptor, broken_at_spaces(terminal_text(hint_, style.unicode), style.width) + "\n",
                kStandardOutput);
    }
    return;
  }
  const std::string text = document(file_ ? TextStyle{} : text_style());
  file_ ? file_->write(text) : write_all(stream_.descriptor, text, kStandardOutput);
}

}  // namespace laptime
