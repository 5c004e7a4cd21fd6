// The topics of laptime list, each printed as a table.
#include "cli/help.h"

#include <array>

#include "base/words.h"
#include "cli/destination.h"
#include "config/known_models.h"
#include "config/model_presets.h"
#include "config/ready_sweeps.h"
#include "distribution/verdict.h"
#include "export/formats.h"
#include "model/gpt/editions.h"
#include "model/parameters.h"
#include "points/resolve.h"
#include "prepare/device.h"
#include "record/metrics.h"
#include "report/columns.h"
#include "table/text.h"
#include "table/value_text.h"

namespace laptime {
namespace {

std::string note(std::string_view text, size_t width) {
  constexpr size_t kUnlimited = 120;
  return "\n" + broken_at_spaces(text, width == 0 ? kUnlimited : width) + "\n";
}

// A table with one line per row; `cells` are members of the row, or functions of it.
template <class Rows, class... Cell>
std::string listing(size_t width, Cells header, const Rows& rows, const Cell&... cells) {
  std::vector<Cells> lines{std::move(header)};
  for (const auto& row : rows) lines.push_back({std::string(std::invoke(cells, row))...});
  return aligned(lines, {}, 0, width);
}

Cells model_line(const std::string& name, std::string_view alias, std::string_view edition, const ModelConfig& model) {
  return {name,
          std::string(alias),
          std::string(edition),
          grouped_digits(std::to_string(summarize(model).parameter_count)),
          std::to_string(model.d_model),
          std::to_string(model.d_ff),
          std::to_string(model.num_layers),
          std::to_string(model.num_heads),
          std::to_string(model.kv_heads())};
}

// Lists the sizes in the source documents, followed by well-known models. A size that exists in only one edition is
// shown in that edition, any other size in the default edition.
std::string models(size_t width) {
  std::vector<Cells> lines{
      {"model", "alias", "edition", "parameters", "d_model", "d_ff", "layers", "heads", "kv heads"}};
  for (const ModelPreset& model : model_presets()) {
    std::vector<GivenOption> given{{"model", model.name}};
    if (model.only) given.push_back({"edition", name_of(*model.only)});
    lines.push_back(model_line(std::string(model.name), model.alias, model.only ? name_of(*model.only) : "any",
                               resolve(given).config.model));
  }
  for (const KnownModel& model : known_models())
    lines.push_back(model_line(std::string(model.name), "", name_of(model.edition), config_of(model)));
  constexpr std::string_view kMore =
      "Models of edition `any` exist in several editions; parameters are those of edition 2025. --model also takes a "
      "config.json, or a folder with one.";
  return aligned(lines, {false, false, false, true, true, true, true, true, true}, 0, width) + note(kMore, width);
}

std::string devices(size_t width) {
  return listing(width, {"device", "description"}, list_devices(), &DeviceSummary::name,
                 [](const DeviceSummary& device) { return device.text(); });
}

std::string kernels(size_t width) {
  return listing(width, {"op", "device", "kernels, preferred first"}, list_kernels(), &KernelText::op,
                 &KernelText::device, [](const KernelText& op) { return joined(op.kernels, ", "); });
}

std::string metric_table(size_t width) {
  return listing(
      width, {"metric", "unit", "better", "description", "formula"}, metrics(), &Metric::tag,
      [](const Metric& metric) { return name_of(metric.unit); },
      [](const Metric& metric) { return name_of(metric.better); }, &Metric::description, &Metric::formula);
}

std::string editions(size_t width) {
  const auto name = [](const GptEdition& edition) { return name_of(edition.edition); };
  const auto sizes = [](const GptEdition& edition) {
    return fmt::format("{} x {}", edition.defaults.batch_size, edition.defaults.context_length);
  };
  return listing(width, {"edition", "batch x context", "description"}, gpt_editions(), name, sizes,
                 &GptEdition::about) +
         note("The editions define different models under the same names, so their times cannot be compared.", width);
}

// Lists the sets of columns, then every column name that --columns, --sort and filters accept.
std::string columns(size_t width) {
  constexpr std::string_view kMore =
      "Every name can be used in --columns, --sort and filters, in quotes if it has spaces or brackets: laptime show "
      "\"'Min (s)' < 1\". Any key of a record can be used by its path, as in time.forward.median or machine.cpu_model "
      "(docs/record_schema.md).";
  return listing(width, {"set of columns", "also", "what it shows"}, column_sets(), &ColumnSet::name, &ColumnSet::alias,
                 &ColumnSet::help) +
         "\n" +
         listing(width, {"column", "unit", "description"}, column_words(), &ColumnWord::name, &ColumnWord::unit,
                 &ColumnWord::help) +
         note(kMore, width);
}

std::string exports(size_t width) {
  return listing(
      width, {"format", "made from", "description"}, export_formats(), &ExportFormat::name,
      [](const ExportFormat& format) { return name_of(format.needs); }, &ExportFormat::help);
}

std::string verdicts(size_t width) {
  std::vector<Cells> lines{{"verdict", "what it means", "how to improve it"}};
  for (const StabilityWord& word : stability_words())
    lines.push_back({std::string(word.name), std::string(word.meaning), std::string(word.advice)});
  lines.push_back({kPredicted, "a device model predicted the time; nothing was measured", ""});
  constexpr std::string_view kMore =
      "--verbose prints the reasons for a verdict below its row. The worst verdict that applies is shown; all limits "
      "are "
      "in docs/measurement.md.";
  return aligned(lines, {}, 0, width) + note(kMore, width);
}

std::string sweeps(size_t width) {
  constexpr std::string_view kMore =
      "laptime bench --config NAME runs a sweep and prints its table, laptime report NAME --html FILE makes a page "
      "from it, and laptime profile, memory and attention take --config too. Options on the command line override "
      "the sweep's: laptime bench --config end_to_end --model small. A sweep that reproduces a table of a source "
      "document prints that document's columns; --columns mean_std shows the same runs with every phase, minimum, "
      "maximum and verdict.";
  return listing(width, {"sweep", "what it measures"}, ready_sweeps(), &ReadySweep::name, &ReadySweep::about) +
         note(kMore, width);
}

constexpr std::array kTopics{ListTopic{"models", "named models, for --model", models},
                             ListTopic{"editions", "sources of model definitions, for --edition", editions},
                             ListTopic{"sweeps", "built-in sweeps, for --config and laptime report", sweeps},
                             ListTopic{"devices", "devices of this machine, and machines to predict for", devices},
                             ListTopic{"kernels", "kernels of each op, per device", kernels},
                             ListTopic{"columns", "table columns, for --columns, --sort and filters", columns},
                             ListTopic{"metrics", "metrics of records, with their formulas", metric_table},
                             ListTopic{"verdicts", "meanings of stable, untested, noisy, ...", verdicts},
                             ListTopic{"options", "all options of laptime bench, with their keys", options_listing},
                             ListTopic{"exports", "formats of laptime export", exports}};

std::vector<WordHelp> topic_choices() { return words_of(kTopics, &ListTopic::name, &ListTopic::help); }

CommandAction parse_list(const CommandWords& words) {
  const ListTopic& topic = kTopics.at(chosen(words, "topic", topic_choices()));
  reject_positionals(words, 1);
  return printing(topic.text(standard_output().width));
}

}  // namespace

std::span<const ListTopic> list_topics() { return kTopics; }

std::vector<WordHelp> named_columns() { return words_of(column_words(), &ColumnWord::name, &ColumnWord::help); }

constinit const Command kList{
    .name = "list",
    .arguments = "TOPIC",
    .summary = "list models, devices, columns, sweeps and other names",
    .parse = parse_list,
    .choices = topic_choices,
};

}  // namespace laptime
