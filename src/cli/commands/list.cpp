// The topics of laptime list, each a table of its own, and the names of columns, gathered from the tables of columns,
// metrics, short names and options.
#include "cli/help.h"

#include <fmt/format.h>

#include <array>
#include <functional>
#include <set>

#include "base/words.h"
#include "cli/destination.h"
#include "config/known_models.h"
#include "config/model_presets.h"
#include "config/option_table.h"
#include "config/ready_sweeps.h"
#include "config/run_config.h"
#include "config/synonyms.h"
#include "distribution/verdict.h"
#include "export/formats.h"
#include "model/gpt/editions.h"
#include "model/parameters.h"
#include "points/resolve.h"
#include "prepare/device.h"
#include "record/metrics.h"
#include "record/record.h"
#include "report/columns.h"
#include "table/aligned.h"
#include "table/text.h"
#include "table/value_text.h"

namespace laptime {
namespace {

// A paragraph below a table.
std::string note(std::string_view text, size_t width) {
  constexpr size_t kUnlimited = 120;
  return "\n" + broken_at_spaces(text, width == 0 ? kUnlimited : width) + "\n";
}

// "context", "ctx", "seq-len": the names of an option beside its key.
std::vector<std::string> names_of(const OptionRow& row) {
  std::vector<std::string> names;
  if (row.option.flag != row.option.key) names.emplace_back(row.option.flag);
  for (const Synonym& synonym : synonyms()) {
    if (synonym.flag.empty() && synonym.meant == row.option.flag) names.emplace_back(synonym.word);
  }
  return names;
}

// "; also context, ctx"
std::string other_names(const OptionRow& row) {
  const std::vector<std::string> names = names_of(row);
  return names.empty() ? "" : fmt::format("; also {}", joined(names, ", "));
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

// Sizes of the source documents in the edition that each selects, and in the default edition otherwise; then the
// well-known models.
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
  return aligned(lines, {false, false, false, true, true, true, true, true, true}, 0, width) +
         note(
             "Parameters of `any` are those of the edition 2025. --model also takes a config.json, or the folder of a "
             "model with one.",
             width);
}

std::string devices(size_t width) {
  std::vector<Cells> lines{{"device", "what it is"}};
  for (const DeviceSummary& device : list_devices()) lines.push_back({device.name, device.text()});
  return aligned(lines, {}, 0, width);
}

std::string kernels(size_t width) {
  std::vector<Cells> lines{{"op", "device", "kernels, the preferred first"}};
  for (const KernelText& op : list_kernels()) {
    lines.push_back({op.op, op.device, joined(op.kernels, ", ")});
  }
  return aligned(lines, {}, 0, width);
}

std::string metric_table(size_t width) {
  std::vector<Cells> lines{{"metric", "unit", "better", "what it is", "formula"}};
  for (const Metric& metric : metrics()) {
    lines.push_back({std::string(metric.tag), std::string(name_of(metric.unit)), std::string(name_of(metric.better)),
                     std::string(metric.description), std::string(metric.formula)});
  }
  return aligned(lines, {}, 0, width);
}

std::string editions(size_t width) {
  std::vector<Cells> lines{{"edition", "batch x context", "what it is"}};
  for (const GptEdition& edition : gpt_editions()) {
    lines.push_back({std::string(name_of(edition.edition)),
                     fmt::format("{} x {}", edition.defaults.batch_size, edition.defaults.context_length),
                     std::string(edition.about)});
  }
  return aligned(lines, {}, 0, width) +
         note("The editions define different models under the same names, so their figures are not compared.", width);
}

// Sets of columns, then every column that has a name of its own.
std::string columns(size_t width) {
  std::vector<Cells> sets{{"set of columns", "also", "what it shows"}};
  for (const ColumnSet& set : column_sets()) {
    sets.push_back({std::string(set.name), std::string(set.alias), std::string(set.help)});
  }
  std::vector<Cells> lines{{"column", "unit", "what it is"}};
  for (const ColumnWord& column : column_words()) lines.push_back({column.name, column.unit, column.help});
  constexpr std::string_view kMore =
      "Every name can stand in --columns, --sort and filters, in quotes where it has spaces or brackets: laptime show "
      "\"'Min (s)' < 1\". So can any key of a record by its path, as in time.forward.median or machine.cpu_model "
      "(docs/record_schema.md).";
  return aligned(sets, {}, 0, width) + "\n" + aligned(lines, {}, 0, width) + note(kMore, width);
}

std::string exports(size_t width) {
  std::vector<Cells> lines{{"format", "made from", "what it is"}};
  for (const ExportFormat& format : export_formats())
    lines.push_back({std::string(format.name), std::string(name_of(format.needs)), std::string(format.help)});
  return aligned(lines, {}, 0, width);
}

std::string verdicts(size_t width) {
  std::vector<Cells> lines{{"verdict", "the time of a row", "what makes it better"}};
  for (const StabilityWord& word : stability_words())
    lines.push_back({std::string(word.name), std::string(word.meaning), std::string(word.advice)});
  lines.push_back({kPredicted, "was given by a device model; nothing was measured", ""});
  constexpr std::string_view kMore =
      "Below a row stand the reasons of its verdict. The worst that applies is the word; all limits are in "
      "docs/measurement.md.";
  return aligned(lines, {}, 0, width) + note(kMore, width);
}

std::string sweeps(size_t width) {
  std::vector<Cells> lines{{"sweep", "what it measures"}};
  for (const ReadySweep& sweep : ready_sweeps()) lines.push_back({std::string(sweep.name), std::string(sweep.about)});
  constexpr std::string_view kMore =
      "laptime bench --config NAME runs one and prints its table, laptime report NAME --html FILE makes a page of it, "
      "and laptime profile, memory and attention take --config too. Options given beside the name replace its own: "
      "laptime bench --config end_to_end --model small. A table of a source document has that document's columns; "
      "--columns mean_std shows the same runs with every phase, minimum, maximum and verdict.";
  return aligned(lines, {}, 0, width) + note(kMore, width);
}

constexpr std::array kTopics{ListTopic{"models", "named sizes of models", models},
                             ListTopic{"editions", "definitions of the model", editions},
                             ListTopic{"sweeps", "ready-made tables, for --config and laptime report", sweeps},
                             ListTopic{"devices", "what runs here, and machines to predict for", devices},
                             ListTopic{"kernels", "implementations of each op", kernels},
                             ListTopic{"columns", "of tables, for --columns, --sort and filters", columns},
                             ListTopic{"metrics", "figures of records, with their formulas", metric_table},
                             ListTopic{"verdicts", "what stable, untested, noisy, ... say of a time", verdicts},
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

std::vector<ColumnWord> column_words() {
  std::vector<ColumnWord> words;
  std::set<std::string, std::less<>> listed;
  const auto add = [&](std::string_view name, std::string_view unit, std::string_view help) {
    if (listed.emplace(name).second) words.push_back({std::string(name), std::string(unit), std::string(help)});
  };
  const auto add_with_unit = [&](std::string_view name, Unit unit, std::string_view help) {
    add(name, unit == Unit::kNone ? "-" : name_of(unit), help);
  };
  for (const Column& column : table_columns()) add_with_unit(column.title, column.unit, column.help);
  add_with_unit("speedup", Unit::kRatio, "median of the run's baseline over that of the row, with its 95 % interval");
  add_with_unit("gain", Unit::kRatio, "median of the row over that of the step with every composite whole");
  for (const std::string_view name : comparing_columns()) add_with_unit(name, Unit::kRatio, "an end of its interval");
  add_with_unit("predicted", Unit::kNone, "true where a device model gave the times");
  for (const Metric& metric : metrics()) add_with_unit(metric.tag, metric.unit, metric.description);
  for (const ShortName& name : short_names()) {
    if (!name.help.empty()) add_with_unit(name.name, unit_of(name.name), name.help);
  }
  for (const OptionRow& row : option_rows<RunConfig>()) {
    add(row.option.key, row.option.unit.empty() ? "-" : row.option.unit,
        fmt::format("{}{}", row.option.help, other_names(row)));
    for (const std::string& name : names_of(row)) listed.insert(name);
  }
  for (const ColumnSet& set : column_sets()) {
    for (const Column& column : set.columns())
      add_with_unit(column.title, column.unit, fmt::format("a header of --columns {}", set.name));
  }
  return words;
}

std::vector<WordHelp> named_columns() { return words_of(column_words(), &ColumnWord::name, &ColumnWord::help); }

constinit const Command kList{
    .name = "list",
    .arguments = "TOPIC",
    .summary = "list models, devices, columns, sweeps and other names",
    .parse = parse_list,
    .choices = topic_choices,
};

}  // namespace laptime
