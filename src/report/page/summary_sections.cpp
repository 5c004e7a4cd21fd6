// The header, the conclusion and the tables of a page.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <utility>

#include "base/units.h"
#include "base/words.h"
#include "config/model_presets.h"
#include "distribution/verdict.h"
#include "record/metrics.h"
#include "report/column_sets/column_sets.h"
#include "report/column_sets/readers.h"
#include "report/lines.h"
#include "report/memory/memory_report.h"
#include "report/model_name.h"
#include "report/page/gains.h"
#include "report/page/memory_peaks.h"
#include "report/page/page_sections.h"
#include "report/page/page_words.h"
#include "report/page/pass_bound.h"
#include "report/page/traced_time.h"
#include "report/profile/profile_report.h"
#include "report/speedup.h"
#include "table/value_text.h"

namespace laptime {
namespace {

// "stable 6, noisy 2".
std::string counted_words(const std::map<std::string, size_t>& counts) {
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [word, count] : counts)
    parts.push_back(counts.size() == 1 ? word : fmt::format("{} {}", count, word));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// "layers 12, d_model 768, d_ff 3072, heads 12"; empty where a record has none.
std::string dimensions_of(const Record& record) {
  constexpr std::array<std::pair<const char*, std::string_view>, 4> kDimensions{
      {{"num_layers", "layers"}, {"d_model", "d_model"}, {"d_ff", "d_ff"}, {"num_heads", "heads"}}};
  std::vector<std::string> dimensions;
  for (const auto& [key, name] : kDimensions) {
    if (const std::optional<int64_t> value = config_number(record, key))
      dimensions.push_back(fmt::format("{} {}", name, *value));
  }
  return fmt::format("{}", fmt::join(dimensions, ", "));
}

// "small", "a custom model (2 layers, d_model 256, d_ff 1024, 4 heads)".
std::string model_of(const Record& record) {
  std::string model = model_text(record);
  if (model.empty()) return "a model that is not known";
  if (model != kCustomModel) return model;
  const std::string dimensions = dimensions_of(record);
  return dimensions.empty() ? "a custom model" : fmt::format("a custom model ({})", dimensions);
}

// What a record measured, in words: "step of small, context 256, batch 4".
std::string work_of(const Record& record) {
  const std::optional<int64_t> context = config_number(record, "context_length");
  const std::optional<int64_t> batch = config_number(record, "batch_size");
  return fmt::format("{} of {}{}{}", record.config.text("pass"), model_of(record),
                     context ? fmt::format(", context {}", *context) : "",
                     batch ? fmt::format(", batch {}", *batch) : "");
}

// "float32 eager", "float32 in pytorch": what is known of how it ran.
std::string manner_of(const Record& record) {
  std::vector<std::string> words{record.config.text("dtype"), record.config.text("mode")};
  if (const std::string system = system_of(record); !system.empty()) words.push_back("in " + system);
  std::erase(words, "");
  return fmt::format("{}", fmt::join(words, " "));
}

// "812.4 ms (95 % interval 805.1 .. 820.0)"
std::string time_with_interval(const Record& record) {
  std::string text = cell_of("median", record);
  const TimeStats& time = *record.main_time();
  if (const size_t at = text.find(" ("); at != std::string::npos && time.ci_low && !is_predicted(record))
    text.insert(at + 2, "95 % interval ");
  return text;
}

std::string time_sentence(const PageView& view, const Record& record) {
  std::string text = fmt::format("{}, {}: {}", work_of(record), manner_of(record), time_with_interval(record));
  if (record.tokens_per_second) text += fmt::format(", {} tokens/s", cell_of("tokens/s", record));
  if (const std::string mfu = cell_of("mfu", record); mfu != "-")
    text += fmt::format(", {} of the {}", mfu, peak_name(record));
  if (const std::optional<TimeRatio> speedup = view.baselines().speedup(record, "");
      speedup && !view.baselines().is_baseline(record)) {
    text += fmt::format(", {:.2f} times as fast as {}", speedup->value, view.baselines().description_for(record));
  }
  if (!is_predicted(record) && record.verdict.rating != name_of(Stability::kStable))
    text += fmt::format(" ({})", verdict_and_reason(record));
  return text + ".";
}

// "Forward 28.60 ms (30 %), backward 55.20 ms (59 %), optimizer 10.30 ms (11 %)."; empty for a pass of one phase.
std::string phases_sentence(const Record& record) {
  std::vector<std::string> phases;
  for (const PhaseShare& share : record.phases) {
    const auto time = record.time.find(share.phase);
    if (time != record.time.end() && &time->second != record.main_time())
      phases.push_back(fmt::format("{} {} ({})", share.phase, format_seconds(time->second.median),
                                   percent_text(time->second.median / record.main_time()->median)));
  }
  return phases.empty() ? "" : fmt::format("{}.", fmt::join(phases, ", "));
}

// "By steps traced launch by launch (76.3 ms, 2.33 times ...)"
std::string traced_how(const Record& record, const StepTrace& trace) {
  if (is_predicted(record)) return "As predicted";
  const double traced = totals_of(trace).step;
  return fmt::format("By steps traced launch by launch ({}, {})", format_seconds(traced),
                     against_measured(traced, record.main_time()->median));
}

std::string verdict_sentence(const Record& record) {
  if (is_predicted(record)) return "This is a prediction: nothing was measured.";
  const std::string verdict = verdict_text(record);
  const std::string reasons = fmt::format("{}", fmt::join(record.verdict.reasons, "; "));
  if (record.verdict.rating != name_of(Stability::kStable))
    return fmt::format("{}{}{}.", verdict, reasons.empty() ? "" : ": ", reasons);
  // Nothing speaks against a stable time, so what stands beside it are remarks.
  return fmt::format("{}: {}.{}", verdict, stability_words().front().meaning,
                     reasons.empty() ? "" : fmt::format(" Remark: {}.", reasons));
}

// The shortest time of the headline's pass, how many times of that pass and of the page cannot be relied on, and why.
std::string sureness_sentence(const PageView& view, const Record& headline) {
  const Record* shortest = nullptr;
  std::map<std::string, size_t> unreliable;  // of the pass, by verdict
  size_t of_pass = 0;
  size_t unreliable_of_pass = 0;
  size_t of_page = 0;
  size_t unreliable_of_page = 0;
  for (const Record* const record : view.timed()) {
    if (is_predicted(*record)) continue;
    ++of_page;
    const std::string verdict = verdict_against_comparing(*record);
    unreliable_of_page += verdict.empty() ? 0U : 1U;
    if (record->config.text("pass") != headline.config.text("pass")) continue;
    ++of_pass;
    if (shortest == nullptr || record->main_time()->median < shortest->main_time()->median) shortest = record;
    if (verdict.empty()) continue;
    ++unreliable_of_pass;
    ++unreliable[verdict];
  }
  if (shortest == nullptr || of_page < 2) return "";
  const std::string pass = headline.config.text("pass");
  std::string text = fmt::format("The shortest {} of this page is {} with {} ({}).", pass, view.name(*shortest),
                                 time_with_interval(*shortest), verdict_and_reason(*shortest));
  const size_t reliable = of_pass - unreliable_of_pass;
  text += fmt::format(" {} {} of {}{} can be relied on",
                      unreliable_of_pass == 0 ? "All" : fmt::format("{} of the", reliable), counted(of_pass, "time"),
                      pass == "step" ? "a " : "", pass);
  if (unreliable_of_pass > 0) text += fmt::format(", {} cannot ({})", unreliable_of_pass, counted_words(unreliable));
  if (of_page > of_pass)
    text += fmt::format("; {} of all {} measured times can", of_page - unreliable_of_page, of_page);
  return text + ". Each verdict has its reason beside the time.";
}

// "2 cores, 24.0 GiB" of the machine that ran the record's point; empty where another device did or would.
std::string cores_and_memory(const Record& record) {
  if (is_predicted(record) || !device_card_name(record).empty()) return "";
  const auto number = [&](const char* key) -> int64_t {
    const auto found = record.machine.json().find(key);
    return found != record.machine.json().end() && found->is_number_integer() ? found->get<int64_t>() : 0;
  };
  std::vector<std::string> parts;
  if (const int64_t cores = number("physical_cores"); cores > 0) parts.push_back(counted(cores, "core"));
  if (const int64_t bytes = number("memory_total_bytes"); bytes > 0) parts.push_back(format_bytes(bytes));
  return fmt::format("{}", fmt::join(parts, ", "));
}

// How many samples the time of a record is the median of; empty for a prediction.
std::string samples_text(const Record& record) {
  const TimeStats* const time = record.main_time();
  return time == nullptr || time->count == 0 || is_predicted(record) ? "" : std::to_string(time->count);
}

// Why times are too long and vary, where more wanted to run than there were threads; else empty.
std::string busy_note(const Record& record) {
  constexpr double kBusy = 1.5;  // of the threads
  const auto load = record.machine.json().find("load_average");
  const std::optional<int64_t> threads = config_number(record, "threads");
  if (load == record.machine.json().end() || !load->is_array() || load->empty() || !load->front().is_number())
    return "";
  const double waiting = load->front().get<double>();
  if (!threads || waiting < kBusy * static_cast<double>(*threads)) return "";
  return fmt::format("other programs ran on the machine (load {:.1f} on {}): times are too long and vary", waiting,
                     counted(*threads, "thread"));
}

// Where the time of the headline goes, what bounds it, and what it needs in memory.
void add_traced_answers(const PageView& view, const Record& headline, std::vector<PageAnswer>& answers) {
  const std::string name = view.name(headline);
  for (const TracedPoint& point : view.traced()) {
    if (point.name != name) continue;
    if (!point.trace->steps.empty()) {
      const std::string doubt = phases_doubt(headline, *point.trace);
      answers.push_back({"where time goes",
                         fmt::format("{}: {}.{}", traced_how(headline, *point.trace), profile_conclusion(*point.trace),
                                     doubt.empty() ? "" : fmt::format(" But the {}.", doubt))});
      if (std::string bound = bound_sentence(point); !bound.empty())
        answers.push_back({"what bounds it", std::move(bound)});
    }
    answers.push_back({"memory", peak_sentence(*point.record, *point.trace)});
  }
  const std::vector<Peak> peaks = peaks_of(view);
  const std::vector<ContextLine> lines = context_lines(view, peaks);
  if (!lines.empty() && lines.front().has_headline)
    answers.push_back({"memory by context", growth_sentence(lines.front())});
}

// Tables in the columns of the source documents (docs/walkthrough.md), whose rows are language models alone or
// attention alone. A reader of the page need not know the documents.
struct DocumentTable {
  std::string_view columns;
  std::string_view title;
  bool of_attention = false;
};
constexpr std::array kDocumentTables{
    DocumentTable{"avg_std", "Warm-up and measured steps, mean and standard deviation"},
    DocumentTable{"min_max", "Minimum, maximum, mean and standard deviation"},
    DocumentTable{"forward_backward", "Forward, backward and both: mean and standard deviation"},
    DocumentTable{"all_times", "Every sample, with mean, median, minimum, maximum and sum"},
    DocumentTable{"attention_memory", "Attention alone: forward and backward, and the memory they hold", true}};

}  // namespace

Json page_header(const PageView& view) {
  const Record& first = view.records().front();
  Json facts = Json::array();
  const auto add = [&](std::string_view label, const std::string& text) {
    if (!text.empty()) facts.push_back({{"label", label}, {"text", text}});
  };
  for (const HeadingFact& fact : view.heading().facts(first)) add(fact.label, fact.text);
  // Adds a fact only if it is the same for all points.
  const auto add_shared = [&](std::string_view label, auto&& text_of) {
    const std::string text = text_of(first);
    if (std::all_of(view.points().begin(), view.points().end(),
                    [&](const Record* record) { return text_of(*record) == text; }))
      add(label, text);
  };
  add_shared("cores and memory", cores_and_memory);
  add_shared("model", dimensions_of);
  add_shared("samples of a point", samples_text);
  std::map<std::string, size_t> arithmetic;
  std::map<std::string, size_t> verdicts;
  std::map<std::string, size_t> states;
  for (const Record* const record : view.points()) {
    ++states[std::string(name_of(record->status))];
    if (const Json mode = cells::arithmetic_of(Row(*record), ""); mode.is_string())
      ++arithmetic[mode.get<std::string>()];
    if (const std::string verdict = verdict_text(*record); record->status == Status::kOk && !verdict.empty())
      ++verdicts[verdict];
  }
  add("busy", busy_note(first));
  add("arithmetic", counted_words(arithmetic));
  add("verdicts", counted_words(verdicts));
  if (states.size() > 1 || !states.contains("ok")) add("points", counted_words(states));
  std::string count = counted(view.points().size(), "point");
  if (view.points().size() > 1) count += ", one for each combination of options";
  if (view.repeated() > 0) {
    count +=
        fmt::format("; of the {} records of these points the page shows the newest of each that can have an interval",
                    view.records().size());
  }
  std::vector<PageWord> words;
  const bool some_measured = std::any_of(view.timed().begin(), view.timed().end(),
                                         [](const Record* record) { return !is_predicted(*record); });
  if (some_measured) words.push_back(interval_word());
  for (PageWord& word : verdict_words(view.points())) words.push_back(std::move(word));
  for (PageWord& word : arithmetic_words(view.points())) words.push_back(std::move(word));
  return {{"title", "laptime report"},
          {"shared", view.heading().shared_text(first)},
          {"count", std::move(count)},
          {"facts", std::move(facts)},
          {"words", words_json(words)}};
}

std::vector<PageAnswer> page_conclusion(const PageView& view) {
  const Record* const headline = view.headline();
  if (headline == nullptr) return {{"", "No point has a time: the tables say why."}};
  std::vector<PageAnswer> answers{{"", time_sentence(view, *headline)}, {"how sure", verdict_sentence(*headline)}};
  const auto add = [&](std::string label, std::string text) {
    if (!text.empty()) answers.push_back({std::move(label), std::move(text)});
  };
  add("of this page", sureness_sentence(view, *headline));
  if (const std::vector<SlowInference>& slow = view.slow_inferences(); !slow.empty())
    add("disturbed", fmt::format("{}. Inference does no more work, so the machine was slower during one of the two: "
                                 "measure both again before you compare them.",
                                 slow_inference_text(view, slow.front())));
  add("by phase", phases_sentence(*headline));
  add_traced_answers(view, *headline, answers);
  for (GainSentence& sentence : gain_sentences(view)) add(std::move(sentence.gain), std::move(sentence.text));
  add("how it compares", comparison_sentence(view, *headline));
  return answers;
}

PageSection tables_section(const PageView& view) {
  PageSection section{.id = "tables", .title = "Tables"};
  const auto is_attention = [](const Record* record) { return record->config.text("model") == "attention"; };
  const auto add = [&](std::string_view columns_named, std::string_view title, const std::vector<const Record*>& chosen,
                       bool is_open) {
    if (chosen.empty()) return;
    std::vector<Record> rows;
    rows.reserve(chosen.size());
    for (const Record* const record : chosen) rows.push_back(*record);
    const RecordList list(rows);
    std::vector<Column> columns = columns_of(columns_named, view.baselines(), list);
    Baselines planned;
    plan_baselines(columns, list, planned);
    mark_rows(columns, view.heading());
    section.figures.push_back(
        {.title = std::string(title), .table = page_table("", columns, list, view.heading()), .is_open = is_open});
  };
  const std::vector<const Record*>& points = view.points();
  const bool compares = !view.baselines().descriptions().empty();
  add(compares ? "default,speedup" : "default", "Time, rate, memory and verdict of each point", points, true);
  std::vector<const Record*> models;
  std::vector<const Record*> attention;
  for (const Record* const record : points) (is_attention(record) ? attention : models).push_back(record);
  for (const DocumentTable& table : kDocumentTables)
    add(table.columns, table.title, table.of_attention ? attention : models, false);
  return section;
}

}  // namespace laptime
