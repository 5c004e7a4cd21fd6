// Defines the columns and column sets, and how each column is read; lists all column names.
#include "report/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/words.h"
#include "config/option_table.h"
#include "config/run_config.h"
#include "config/synonyms.h"

namespace laptime {
namespace {

// ---- Cells for people

std::string name_text(const Record& record, std::string_view, const Heading* heading) {
  if (heading != nullptr) return heading->short_name(record);
  return record.label.empty() ? record.name : record.label;
}

std::string plus_minus(const Record& record, std::string_view phase, const Heading*) {
  const std::optional<double> doubt = uncertainty_of(record, phase);
  return doubt ? plus_minus_text(*doubt) : "";
}

std::string mean_text(const Record& record, std::string_view phase, const Heading*) {
  const TimeStats* const time = time_of(record, phase);
  if (time == nullptr) return "-";
  const std::string mean = value_text(time->mean, Unit::kSeconds);
  return !time->std || is_predicted(record) ? mean : mean + " ± " + value_text(*time->std, Unit::kSeconds);
}

// "9.2575 → 0.0191", or a single loss if there is only one.
std::string loss_text(const Record& record, std::string_view, const Heading*) {
  const Json first = value_of(record, "loss_first");
  const Json last = value_of(record, "loss_last");
  const std::string text = value_text(last, Unit::kNats);
  return record.loss.values.size() < 2 || first == last ? text : value_text(first, Unit::kNats) + " → " + text;
}

std::string verdict_text(const Record& record, std::string_view, const Heading*) {
  const std::string& rating = record.verdict.rating;
  return is_predicted(record) || rating.empty() ? "-" : rating;
}

// "812.4, 815.0 ms": the samples in the unit of their median.
std::string times_text(const Record& record, std::string_view phase, const Heading*) {
  const TimeStats* const time = time_of(record, phase);
  if (time == nullptr || time->samples.empty() || !std::isfinite(time->median)) return "-";
  const Scale scale = *scale_of(time->median, Unit::kSeconds);
  std::vector<std::string> texts;
  for (const double sample : time->samples) texts.push_back(format_in(scale, sample, time->median));
  return fmt::format("{} {}", joined(texts, ", "), scale.name);
}

// ---- The tables

enum Flags : unsigned { kText = 1, kSetting = 2, kOfPhase = 4, kDoubt = 8 };
constexpr std::string_view kSample = "std divides by n - 1 (sample)";

// If `source` is empty, the title is the source.
struct Definition {
  std::string_view title;
  std::string_view source = {};  // see resolved_column
  Unit unit = Unit::kNone;
  unsigned flags = 0;
  size_t width = 6;
  std::string_view help = {};  // empty for a column that only column sets use, many with a header of a source document
  std::string (*text_of)(const Record& record, std::string_view phase, const Heading* heading) = nullptr;
  std::string_view note = {};
  std::string_view shown = {};
  std::string_view id = {};  // name by which column sets refer to this column, if another column has the same title
};

constexpr Unit kPlain = Unit::kNone;
constexpr Unit kSeconds = Unit::kSeconds;
constexpr std::string_view kWarmup = "stopping.warmup|config.warmup";  // warm-up steps taken, or else those requested
constexpr std::string_view kPhase = "median time of this phase";

// clang-format off
constexpr std::array<Definition, 67> kDefinitions{{
    {"name", "", kPlain, kText | kSetting, 8, "the row's name without the parts that all rows share", name_text},
    {"median", ":median", kSeconds, kOfPhase | kDoubt, 6, "median time of a sample"},
    {"uncertainty", "=uncertainty", kPlain, kText | kOfPhase, 5, "distance from the median to the farther end of its 95 % interval, as a fraction of the median", plus_minus},
    {"mean", ":mean", kSeconds, kOfPhase, 15, "mean time and standard deviation of the samples", mean_text, kSample},
    {"std", ":std", kSeconds, kOfPhase, 6, "standard deviation of the samples (divides by n - 1)", nullptr, kSample},
    {"min", ":min", kSeconds, kOfPhase, 6, "shortest sample"},
    {"max", ":max", kSeconds, kOfPhase, 6, "longest sample"},
    {"n", ":count", kPlain, kOfPhase, 3, "number of samples"},
    {"tokens/s", "", Unit::kTokensPerSecond, 0, 6, "tokens per batch divided by the median time"},
    {"peak", "", Unit::kBytes, 0, 8, "peak bytes of live tensors"},
    {"mfu", "", Unit::kFraction, 0, 5, "model FLOPs per second as a share of the peak: measured, or else from the data sheet"},
    {"loss", "loss_last", Unit::kNats, 0, 15, "loss of the first and last step", loss_text},
    {"verdict", "", kPlain, kText, 15, "how reliable the time is", verdict_text},
    {"arithmetic", "=arithmetic", kPlain, kText, 17, "arithmetic of the matrix products"},
    {"device", "", kPlain, kText | kSetting, 10, "device that ran the point, or for which it was predicted"},
    {"system", "", kPlain, kText | kSetting, 8, "the program that ran the steps"},
    {"status", "", kPlain, kText, 6, "ok, or the reason for a missing time"},
    {"forward_s", "forward:median", kSeconds, kDoubt, 6, kPhase, nullptr, "", "forward"},
    {"backward_s", "backward:median", kSeconds, kDoubt, 6, kPhase, nullptr, "", "backward"},
    {"optimizer_s", "optimizer:median", kSeconds, kDoubt, 6, kPhase, nullptr, "", "optimizer"},
    {"name", "label|name", kPlain, kText | kSetting, 40, "", nullptr, "", "", "whole name"},
    {"computation", "pass", kPlain, kText | kSetting, 16},
    {"times", ":samples", kPlain, kText, 6, "", times_text},
    {"mean_time", ":mean", kSeconds},
    {"median_time", ":median", kSeconds},
    {"std_dev", ":std_population", kSeconds, 0, 6, "", nullptr, kPopulationNote},
    {"min_time", ":min", kSeconds},
    {"max_time", ":max", kSeconds},
    {"total_time", ":total", kSeconds},
    {"profile_steps", "=steps"},
    {"model", "", kPlain, kText | kSetting},
    {"forward_only", "=forward_only", kPlain, kText | kSetting},
    {"warmup_steps", kWarmup},
    {"benchmark_steps", "=steps"},
    {"avg", ":mean", kSeconds},
    {"std", ":std_population", kSeconds, 0, 6, "", nullptr, kPopulationNote, "", "std of all"},
    {"Model", "model", kPlain, kText | kSetting},
    {"Pass", "pass", kPlain, kText | kSetting, 16},
    {"Warmup", kWarmup},
    {"Min (s)", ":min"},
    {"Max (s)", ":max"},
    {"Avg (s)", ":mean"},
    {"Std (s)", ":std_population", kPlain, 0, 6, "", nullptr, kPopulationNote},
    {"context_length", "context", kPlain, kSetting},
    {"fwd avg (sec)", "forward:mean"},
    {"fwd std (sec)", "forward:std", kPlain, 0, 6, "", nullptr, kSample},
    {"back avg (sec)", "backward:mean"},
    {"back std (sec)", "backward:std"},
    {"fws & back avg (sec)", "forward_backward:mean"},
    {"fws & back std (sec)", "forward_backward:std"},
    {"dtype", "", kPlain, kText | kSetting},
    {"batch_size", "batch", kPlain, kSetting},
    {"compile", "=compiled", kPlain, kText | kSetting},
    {"profile_memory", "=never", kPlain, kText},
    {"model mem", "memory.resident_bytes", Unit::kBytes},
    {"model+fwd mem", "memory.after_forward_bytes", Unit::kBytes},
    {"model+fwd+back mem", "memory.after_backward_bytes", Unit::kBytes},
    {"fwd mem", "forward_memory", Unit::kBytes},
    {"back mem", "backward_memory", Unit::kBytes},
    {"mode", "=mode", kPlain, kText | kSetting, 7},
    {"forward", "forward:median", kSeconds},
    {"backward", "backward:median", kSeconds},
    {"warmup", kWarmup},
    {"mean", ":mean", kSeconds, kOfPhase, 8, "", nullptr, kSample, "", "mean alone"},
    {"sample 1", ":samples.0", kSeconds},
    {"sample 2", ":samples.1", kSeconds},
    {"sample 3", ":samples.2", kSeconds}}};
// clang-format on

constexpr std::string_view kAverages = "model,forward_only,warmup_steps,benchmark_steps,avg,std of all";

constexpr std::array kSets{
    ColumnSet{"default", "", "time with its phases, rate and memory",
              "name,median,uncertainty,forward_s@2,backward_s@2,optimizer_s@2,tokens/s@3,mfu@4,peak@5", true},
    ColumnSet{"all", "", "adds mean, minimum, maximum, loss and verdict; in files, every key of a record",
              "name,median,uncertainty,mean@8,min@7,max@7,n@6,tokens/s@2,peak@3,mfu@4,loss@5,verdict@9,arithmetic@10",
              true},
    ColumnSet{
        "attention", "",
        "attention by itself: time of each phase, and memory (resident and before_backward are model mem and "
        "model+fwd mem in the source documents); on a terminal, one row per size, with the modes side by side",
        "context,d_model,dtype@2,mode,forward,backward,resident@4,+forward@3,before_backward@1,+backward@5,peak@1,"
        "verdict@6"},
    ColumnSet{"first_steps", "", "effect of warm-up: mean, standard deviation and the first samples",
              "name,warmup,n@2,mean,sample 1,sample 2,sample 3,median@3,verdict@1"},
    ColumnSet{"prediction", "", "predicted and measured time and memory",
              "name,predicted_time,median,prediction_error,peak@1,peak_error,verdict@2"},
    ColumnSet{"all_times", "2024",
              "table of a university course of 2024: every sample of a row, with mean, standard deviation "
              "(divided by n), median, minimum, maximum and sum",
              "whole name,computation,times,mean_time,median_time,std_dev,min_time,max_time,total_time,profile_steps"},
    ColumnSet{"mean_std", "",
              "each phase of each row: mean and standard deviation (divided by n - 1) over n steps, minimum, maximum, "
              "and the verdict",
              "name,warmup@3,n@2,mean alone,std,min,max,verdict@4", true},
    ColumnSet{
        "avg_std", "2025a",
        "table of a university course of 2025: warm-up and measured steps, mean and standard deviation (divided by n)",
        kAverages},
    ColumnSet{"avg_std", "2025b", "table of a second university course of 2025, with the columns of 2025a", kAverages},
    ColumnSet{"min_max", "2025c",
              "table of a university course of 2025: minimum, maximum, mean and standard deviation (divided by n)",
              "Model,Pass,Warmup,Min (s),Max (s),Avg (s),Std (s)"},
    ColumnSet{"forward_backward", "2025d",
              "table of a university course of 2025: mean and standard deviation (divided by n - 1) of forward, "
              "backward and both",
              "model,context_length,fwd avg (sec),fwd std (sec),back avg (sec),back std (sec),fws & back avg (sec),"
              "fws & back std (sec),status,dtype,device,batch_size,compile,profile_memory"},
    ColumnSet{"attention_memory", "2025d_attention",
              "table of a university course of 2025 for attention alone: the times of forward_backward and the memory "
              "of model, model+fwd, model+fwd+back, fwd and back",
              "context_length,d_model,fwd avg (sec),fwd std (sec),back avg (sec),back std (sec),fws & back avg (sec),"
              "fws & back std (sec),model mem,model+fwd mem,model+fwd+back mem,fwd mem,back mem,status,dtype,"
              "device,batch_size,compile"}};

Column column_of(const Definition& definition) {
  const std::string_view source = definition.source.empty() ? definition.title : definition.source;
  const auto has = [&](Flags flag) { return (definition.flags & flag) != 0; };
  const ColumnValue value(source);
  // Extent::kListed has only the counts and medians of phases, so other figures of a phase need Extent::kWithConfig.
  const bool is_listed = !has(kOfPhase) || source == ":median" || source == ":count";
  return {.title = std::string(definition.title),
          .shown = std::string(definition.shown),
          .unit = definition.unit,
          .text = has(kText),
          .of_phase = has(kOfPhase),
          .setting = has(kSetting),
          .extent = is_listed ? value.extent() : std::max(value.extent(), Extent::kWithConfig),
          .width = definition.width,
          .value = value,
          .text_of = definition.text_of,
          .uncertain_phase = has(kDoubt) ? std::optional(source.substr(0, source.find(':'))) : std::nullopt,
          .note = definition.note};
}

const Definition* find_definition(std::string_view id) {
  const auto found = std::ranges::find_if(
      kDefinitions, [&](const Definition& one) { return id == (one.id.empty() ? one.title : one.id); });
  return found == kDefinitions.end() ? nullptr : &*found;
}

// The alternative names of an option besides its key: "context", "ctx", "seq-len".
std::vector<std::string> names_of(const OptionRow& row) {
  std::vector<std::string> names;
  if (row.option.flag != row.option.key) names.emplace_back(row.option.flag);
  for (const Synonym& synonym : synonyms()) {
    if (synonym.flag.empty() && synonym.meant == row.option.flag) names.emplace_back(synonym.word);
  }
  return names;
}

}  // namespace

std::optional<std::string_view> header_source(std::string_view header) {
  const Definition* const found = find_definition(header);
  return found == nullptr ? std::nullopt : std::optional(found->source.empty() ? found->title : found->source);
}

std::span<const ColumnSet> column_sets() { return kSets; }

std::vector<Column> ColumnSet::columns() const {
  std::vector<Column> columns;
  for (const std::string_view entry : fields_of(list, ',')) {
    const size_t at = entry.find('@');
    const std::string_view id = entry.substr(0, at);
    const Definition* const found = find_definition(id);
    Column& column = columns.emplace_back(found != nullptr ? column_of(*found) : plain_column(id, false));
    if (at != std::string_view::npos) column.drop = std::stoi(std::string(entry.substr(at + 1)));
    column.of_phase = column.of_phase && has_phases;
  }
  return columns;
}

std::optional<Column> table_column(std::string_view header) {
  const Definition* const found = find_definition(header);
  if (found == nullptr) return std::nullopt;
  const bool is_chosen = !found->help.empty() || resolved_column(header) == resolved_column(*header_source(header));
  return is_chosen ? std::optional(column_of(*found)) : std::nullopt;
}

const ColumnSet* find_column_set(std::string_view name) {
  const auto* const found = std::ranges::find_if(
      kSets, [&](const ColumnSet& set) { return set.name == name || (!set.alias.empty() && set.alias == name); });
  return found == kSets.end() ? nullptr : found;
}

std::vector<ColumnWord> column_words() {
  std::vector<ColumnWord> words;
  std::set<std::string> listed;
  const auto add = [&](std::string_view name, std::string_view unit, std::string_view help) {
    if (listed.emplace(name).second)
      words.push_back({std::string(name), unit.empty() ? "-" : std::string(unit), std::string(help)});
  };
  for (const Definition& column : kDefinitions) {
    if (!column.help.empty()) add(column.title, name_of(column.unit), column.help);
  }
  add("speedup", name_of(Unit::kRatio), "baseline median divided by the row's median, with its 95 % interval");
  add("gain", name_of(Unit::kRatio), "row median divided by the median of the step with no composite lowered");
  for (const RatioColumn& ratio : ratio_columns())
    add(ratio.name, name_of(Unit::kRatio), "end of the 95 % interval of speedup or gain: low or high");
  add("predicted", "", "true if a device model predicted the times");
  for (const Metric& metric : metrics()) add(metric.tag, name_of(metric.unit), metric.description);
  for (const ShortName& name : short_names()) {
    const Metric* const metric = find_metric(name.path);
    const std::string_view help = name.help.empty() && metric != nullptr ? metric->description : name.help;
    if (!help.empty()) add(name.name, name_of(unit_of(name.name)), help);
  }
  for (const OptionRow& row : option_rows<RunConfig>()) {
    const std::vector<std::string> names = names_of(row);
    const std::string also = names.empty() ? "" : fmt::format("; also {}", joined(names, ", "));
    add(row.option.key, row.option.unit, fmt::format("{}{}", row.option.help, also));
    listed.insert(names.begin(), names.end());
  }
  for (const ColumnSet& set : column_sets()) {
    for (const Column& column : set.columns())
      add(column.title, name_of(column.unit), fmt::format("a header in --columns {}", set.name));
  }
  return words;
}

}  // namespace laptime
