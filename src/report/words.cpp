// Turns findings into sentences.
#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/words.h"
#include "report/answer.h"
#include "table/value_text.h"

namespace laptime {
namespace {

// The interval of a data-sheet prediction comes from published runs.
std::string training_time(const Finding& f) {
  const bool has_bounds = f.has("low_s") && f.has("high_s");
  const std::string low = long_time(f.number("low_s"));
  const std::string high = long_time(f.number("high_s"));
  std::string text = fmt::format("{} tokens: ", count_words(f.number("tokens")));
  if (f.has("steps")) text += fmt::format("{} steps, ", count_words(f.number("steps")));
  text += long_time(f.number("time_s"));
  if (f.text("is_bound") == "true") {
    if (has_bounds) text += fmt::format(" at best, {} to {} judging by published runs", low, high);
  } else if (has_bounds && low != high) {
    text += fmt::format(" ({} to {})", low, high);
  }
  if (f.has("price")) {
    const std::string least = price_words(f.number("price_low"));
    const std::string most = price_words(f.number("price_high"));
    text += ", " + price_words(f.number("price"));
    if (f.has("price_high") && least != most) text += fmt::format(" ({} to {})", least, most);
    text += fmt::format(" at {:g}/h", f.number("price_per_hour"));
  }
  if (f.has("kwh")) text += fmt::format(", {:.3g} kWh", f.number("kwh"));
  return text;
}

// "21 %", "1.3 times", "57 times": a ratio above 1 is not a share.
std::string multiple(double ratio) {
  if (ratio <= 1) return percent_text(ratio);
  return fixed_text(ratio, ratio < 10 ? 1 : 0) + " times";
}

// " (95 %: +1.2 to +3.4 %)": the interval of the ratio minus `shift`, in percent; empty without an interval.
std::string percent_interval(const Finding& finding, double shift) {
  const double low = 100 * (finding.number("ratio_low") - shift);
  const double high = 100 * (finding.number("ratio_high") - shift);
  const bool is_known = finding.has("ratio_low") && std::isfinite(low) && std::isfinite(high);
  return is_known ? fmt::format(" (95 %: {:+.1f} to {:+.1f} %)", low, high) : "";
}

std::string ratio_words(const Finding& f, const std::string& key) {
  const double ratio = f.number(key);
  if (f.has(key + "_low")) return ratio_with_interval(ratio, f.number(key + "_low"), f.number(key + "_high"));
  return std::isfinite(ratio) ? fmt::format("{:.2g}x", ratio) : "-";
}

// Formats a number in the unit of its key's suffix or, if a template gives a format after the key, in the format `how`.
std::string number_words(const Finding& f, std::string_view key, std::string_view how) {
  const double number = f.number(key);
  if (how == "long") return long_time(number);
  if (how == "+") return fmt::format("{}{}", number < 0 ? "-" : "+", brief_seconds(std::abs(number)));
  if (how == "%") return whole_percent_text(number);
  if (how == ".1") return fixed_text(number, 1);
  if (how == ",") return grouped(f.integer(key));
  if (how == "-1") return change_text(number - 1);
  if (how == "percent") return fixed_text(100 * number, 1) + " %";
  if (how == "ratio") return ratio_words(f, std::string(key));
  if (!how.empty()) return counted(f.integer(key), how);
  if (key.ends_with("_ratio")) return multiple(number);
  if (key == "of_bound") return percent_text(number);
  const Unit unit = unit_of_key(key);
  if (unit == Unit::kBytes) return brief_bytes(f.integer(key));
  if (unit != Unit::kNone) return value_text(number, unit);
  return key == "change" ? change_text(number) : fmt::to_string(f.integer(key));
}

std::string value_words(const Finding& f, std::string_view key, std::string_view how) {
  if (key == "subject") return how == "category" ? spaced(f.subject) : f.subject;
  if (key == "interval") return percent_interval(f, how == "1" ? 1 : 0);
  if (key == "usable") return usable_words(f);
  if (how == "place") return f.text(key) == "optimizer" ? "the optimizer" : f.text(key);
  const Json* const value = f.values.json().find(key);
  return value == nullptr || value->is_number() ? number_words(f, key, how) : f.text(key);
}

// Whether to show a part of a template: its `key` has a value ('?'), has none or is false ('!'), is above 0 ('>') or is
// 0 ('=').
bool is_shown(const Finding& f, std::string_view key, char test) {
  if (test == '>') return f.number(key) > 0;
  if (test == '=') return f.number(key) == 0;
  const std::string text = key == "subject" ? f.subject : f.has(key) ? f.text(key) : "";
  return (text.empty() || text == "false") == (test == '!');
}

// Fills a template: "{key}" and "{key:how}" are values (number_words), and "[key?...]" is a conditional part
// (is_shown). Consumes `rest` up to its end, or up to the end of the enclosing part.
std::string fill(const Finding& f, std::string_view& rest) {
  std::string text;
  const auto take = [&](size_t end) {
    const std::string_view taken = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    return taken;
  };
  while (true) {
    const size_t mark = std::min(rest.find_first_of("{[]"), rest.size());
    const char kind = mark < rest.size() ? rest[mark] : ']';
    text += take(mark);
    if (kind == ']') return text;
    if (kind == '{') {
      const std::string_view value = take(rest.find('}'));
      const size_t colon = std::min(value.find(':'), value.size());
      text += value_words(f, value.substr(0, colon), value.substr(std::min(value.size(), colon + 1)));
    } else {
      const size_t end = rest.find_first_of("?!>=");
      const char test = rest[end];
      const std::string_view key = take(end);
      const std::string part = fill(f, rest);
      if (is_shown(f, key, test)) text += part;
    }
  }
}

// ---- Sentences that a template cannot express

std::string against_bound(const Finding& f) {
  if (!f.has("of_bound")) return "";
  const std::string_view bound = f.text("bound") == "compute" ? "peak" : "bandwidth";
  if (f.number("of_bound") <= 1) return fmt::format(", at {} of the {}", percent_text(f.number("of_bound")), bound);
  return fmt::format(", above the {}{}", bound, f.text("in_cache") == "true" ? ": operands stay in the caches" : "");
}

std::string class_share(const Finding& f) {
  return fmt::format("{} {}{}", f.subject, percent_text(f.number("share")), against_bound(f));
}

std::string fit(const Finding& f) {
  const std::string peak = f.has("peak_bytes") ? brief_bytes(f.integer("peak_bytes")) : "unknown";
  std::string text = fmt::format("{}: {}", f.text("fits") == "true" ? "fits" : "does not fit", peak);
  if (f.has("available_bytes")) text += fmt::format(" of {}", usable_words(f));
  if (f.has("missing_bytes")) text += fmt::format(", {} too much", brief_bytes(f.integer("missing_bytes")));
  if (f.has("recompute")) text += fmt::format(", recompute: {}", f.text("recompute"));
  const std::string fitting = f.text("fitting_recompute");
  if (fitting.empty()) return text;
  return text +
         (fitting == "nothing fits" ? "; no value of --recompute makes it fit" : "; fits with --recompute " + fitting);
}

std::string pass_bound(const Finding& f) {
  const double all = f.number("arithmetic_s") + f.number("memory_s");
  return fmt::format("at these rates the launches take at least {}, {} of the {} ({} of it arithmetic)",
                     brief_seconds(all), percent_text(f.number("of_bound")), f.subject,
                     all > 0 ? percent_text(f.number("arithmetic_s") / all) : "-");
}

std::string launch_bound(const Finding& f) {
  const std::string until = !f.has("below_context") ? "launch-bound at any context"
                            : f.integer("below_context") == 1
                                ? "not launch-bound at any context"
                                : fmt::format("launch-bound below context {}", f.integer("below_context"));
  return fmt::format("{} launches x {} take {} of the {}: {}", f.integer("launches"),
                     brief_seconds(f.number("launch_s")), percent_text(f.number("share")), f.subject, until);
}

struct WordsOfKind {
  std::string_view kind;
  std::string_view text;  // a template; empty if a function produces the words
  std::string (*words)(const Finding& finding) = nullptr;
};
constexpr std::array kWords{
    WordsOfKind{"pass_time", "{total_s} per {subject} in {launches} launches, {residue_s} between them"},
    WordsOfKind{"class_share", "", class_share},
    WordsOfKind{"phase_time", "{subject} {total_s}: {class} {class_share}"},
    WordsOfKind{"rates",
                "[from?predicted with ][peak_flops_per_second?peak of matrix products "
                "{peak_flops_per_second}[bandwidth_bytes_per_second?, ]]"
                "[bandwidth_bytes_per_second?memory bandwidth {bandwidth_bytes_per_second}]"},
    WordsOfKind{"pass_bound", "", pass_bound},
    WordsOfKind{"tracing",
                "{traced_steps:traced step} alternating with {untraced_steps} untraced: median {traced_s} against "
                "{untraced_s}, {ratio:-1}{interval:1}"},
    WordsOfKind{"launch_sum", "launches add up to {launches_s}, {ratio:percent} of an untraced step{interval:0}"},
    WordsOfKind{"marks",
                "a timestamp takes {mark_s}; the timestamps of {launches} launches take {share} of the traced time"},
    WordsOfKind{"launch_starts", "launching {launches} kernels takes {share} of the {subject}"},
    WordsOfKind{"data_sheet_floor",
                "at the data sheet's {peak_flops_per_second} and {bandwidth_bytes_per_second} the launches take at "
                "least {floor_s}, {share} of an untraced step"},
    WordsOfKind{
        "device_idle",
        "[share?[is_launch_bound!not ]launch-bound: ][share!steps ran from a graph, ][watched_steps>{kernels:kernel}]"
        "[watched_steps={kernels} launches][copies> and {copies:memory operation}][share!; idle time unknown: "
        "{missing}][share?, the device idles [is_graph?at least ]{share} of a step"
        "[graph_s?; as a graph a step takes {graph_s}] "
        "(according to [watched_steps>{records}, {watched_steps:step}][watched_steps=events; no records: {missing}])]"},
    WordsOfKind{
        "communication",
        "communication between ranks takes {total_s} ({launches:collective}, {bytes} sent per rank); computation "
        "waits {exposed_s} for it"},
    WordsOfKind{"softmax_against_products",
                "softmax takes {time_ratio} as long as the two products of attention (forward: {softmax_s} against "
                "{products_s}), for {flops_ratio} of their FLOPs"},
    WordsOfKind{"top_kernel",
                "{subject}: {kernel} takes the most time, {share} in {calls:call}[products_share?; all matrix products "
                "{products_share} in {products_calls:call}]"},
    WordsOfKind{"cast_cost",
                "{subject}: casts take {cast_share} of the step[speedup?; {to} is {speedup:ratio} as fast as {from}]"},
    WordsOfKind{"memory_peak", "{bytes} at the peak[phase?, in {phase:place}][op?, by {op}[scope? at {scope}]]"},
    WordsOfKind{"memory_share", "{subject:category} {bytes} {share}"},
    WordsOfKind{"phase_peak", "{subject} peaks at {bytes}, by {op}[scope? at {scope}]"},
    WordsOfKind{"saved_for_backward",
                "forward saves {bytes}[layer_bytes?, {layer_bytes} per layer[model_layers? in {layer_count} of "
                "{model_layers:layer}]][copies_bytes>; {copies_bytes} of the total are autocast copies]"},
    WordsOfKind{"optimizer_memory",
                "the optimizer adds {state_bytes} of state[temporaries_bytes? and {temporaries_bytes} of temporaries]"},
    WordsOfKind{"residual_tensor", "one tensor of the residual stream: {dtype} {shape}, {bytes}"},
    WordsOfKind{"fit", "", fit},
    WordsOfKind{"predicted_time", "{time_s} per {subject}[is_bound? at best][low_s? ({low_s} to {high_s})]"},
    WordsOfKind{"published_runs",
                "published runs took {low:.1} to {high:.1} times the bound ({times} runs, median {median:.1})"},
    WordsOfKind{"measured_times", "{times} measured times, median error {median_error}"},
    WordsOfKind{"training_time", "", training_time},
    WordsOfKind{"launch_bound", "", launch_bound},
    WordsOfKind{"largest",
                "[batch?[batch=no batch fits][batch>largest batch {batch:,}[batch_without_recompute? (without "
                "recomputation {batch_without_recompute:,})]]][batch?[context?, ]][context?[context=no context fits]"
                "[context>largest context {context:,}[context_without_recompute? (without recomputation "
                "{context_without_recompute:,})]]]"},
    WordsOfKind{"compile_mode",
                "--mode compile [only_it_fits?fits][only_it_fits!is faster]: [time_s?{time_s}][time_s?[peak_bytes?, "
                "]][peak_bytes?{peak_bytes}]"},
    WordsOfKind{"level_changes",
                "{subject} [changes>{change} at {commit} ({created})[direction?: {direction}]; {changes:change} ]over "
                "{figures} {by}s[changes=: [is_too_short?too few to find a change][is_too_short!no change of level]]"},
    WordsOfKind{"calibration",
                "{launches:,} launch times known[disturbed_launches>, {disturbed_launches:,} of them from a disturbed "
                "machine]"},
    WordsOfKind{"detectable_difference",
                "[is_within_budget!too noisy to detect a difference of {difference:%} within {budget_s:long}: that "
                "takes about {rounds} rounds, {time_s:long}][is_within_budget?detects a difference of {difference:%} "
                "within {time_s:long} ({rounds} rounds)]"},
    WordsOfKind{"largest_op_difference",
                "the op that differs most is {subject}: {difference_s:+} of {step_difference_s:+}"},
    WordsOfKind{"largest_part_difference",
                "the part that differs most is {subject}: {difference_s:+} of {step_difference_s:+}"}};

}  // namespace

std::string words(const Finding& finding) {
  const auto* const found =
      std::ranges::find_if(kWords, [&](const WordsOfKind& one) { return one.kind == finding.kind; });
  LAPTIME_CHECK(found != kWords.end(), "no words for findings of kind {}", finding.kind);
  std::string_view text = found->text;
  return found->words != nullptr ? found->words(finding) : fill(finding, text);
}

std::string words_of(const std::vector<Finding>& findings, std::string_view kind) {
  const Finding* const finding = find(findings, kind);
  return finding == nullptr ? "" : words(*finding);
}

std::string profile_headline(const std::vector<Finding>& findings) {
  constexpr double kWorthNaming = 0.05;  // as a share of the step
  constexpr size_t kMost = 3;
  const Finding* const pass = find(findings, "pass_time");
  if (pass == nullptr) return "";
  const double whole = pass->number("total_s");
  if (!std::isfinite(whole)) return fmt::format("{} per {}", brief_seconds(whole), pass->subject);
  std::vector<std::string> names;
  std::vector<double> parts;
  double rest = whole;
  for (const Finding& finding : findings) {
    if (finding.kind != "class_share" || finding.number("share") < kWorthNaming || names.size() == kMost) continue;
    names.push_back(finding.subject);
    parts.push_back(finding.number("total_s"));
    rest -= parts.back();
  }
  names.emplace_back("all else");
  parts.push_back(std::max(0.0, rest));
  const std::vector<int64_t> percents = whole_percents(parts);
  std::vector<std::string> texts;
  for (size_t i = 0; i < names.size(); ++i) {
    if (percents[i] > 0) texts.push_back(fmt::format("{} {} %", names[i], percents[i]));
  }
  return fmt::format("{} per {}: {}", brief_seconds(whole), pass->subject, joined(texts, ", "));
}

std::vector<std::string> memory_shares(const std::vector<Finding>& findings, size_t count) {
  std::vector<std::string> names;
  std::vector<double> bytes;
  for (const Finding& finding : findings) {
    if (finding.kind != "memory_share") continue;
    names.push_back(spaced(finding.subject));
    bytes.push_back(finding.number("bytes"));
  }
  const std::vector<int64_t> percents = whole_percents(bytes);
  std::vector<std::string> texts;
  const auto add = [&](const std::string& name, double held, int64_t percent) {
    texts.push_back(fmt::format("{} {} {} %", name, value_text(held, Unit::kBytes), percent));
  };
  for (size_t i = 0; i < std::min(count, names.size()); ++i) add(names[i], bytes[i], percents[i]);
  const auto shown = static_cast<std::ptrdiff_t>(texts.size());
  const int64_t rest_percent = std::accumulate(percents.begin() + shown, percents.end(), int64_t{0});
  if (rest_percent > 0) add("all else", std::accumulate(bytes.begin() + shown, bytes.end(), 0.0), rest_percent);
  return texts;
}

std::string phase_peaks(const std::vector<Finding>& findings) {
  std::vector<std::string> parts;
  for (const Finding& finding : findings) {
    if (finding.kind == "phase_peak")
      parts.push_back(fmt::format("{} {}", finding.subject, brief_bytes(finding.integer("bytes"))));
  }
  return parts.size() < 2 ? "" : fmt::format("tensors alone: {}", joined(parts, ", "));
}

std::string brief_seconds(double seconds) { return value_text(seconds, Unit::kSeconds); }
std::string brief_bytes(int64_t bytes) { return value_text(bytes, Unit::kBytes); }

std::string price_words(double price) {
  return price < 100 ? fmt::format("{:.2f}", price) : grouped(std::llround(price));
}

std::string count_words(double count) {
  if (!std::isfinite(count)) return "-";
  for (const auto& [size, name] : {std::pair(1e12, "T"), std::pair(1e9, "B"), std::pair(1e6, "M")}) {
    if (count >= 0.9995 * size) return fmt::format("{:.3g}{}", count / size, name);  // else 999.5B would be "1e+03B"
  }
  return grouped(std::llround(count));
}

std::string grouped(int64_t number) { return grouped_digits(fmt::to_string(number)); }

std::string long_time(double seconds) {
  constexpr double kMinute = 60;
  constexpr double kHour = 3600;
  constexpr double kDay = 24 * kHour;
  if (!std::isfinite(seconds) || seconds < 2 * kMinute) return brief_seconds(seconds);
  if (seconds < 2 * kHour) return fmt::format("{:.3g} min", seconds / kMinute);
  const bool is_hours = seconds < 3 * kDay;
  const double value = seconds / (is_hours ? kHour : kDay);
  const std::string_view unit = is_hours ? "h" : "days";
  return value < 99.5 ? fmt::format("{:.2g} {}", value, unit)
                      : fmt::format("{} {}", grouped_digits(fmt::format("{:.0f}", value)), unit);
}

std::string usable_words(const Finding& memory) {
  std::string bytes = brief_bytes(memory.integer("available_bytes"));
  if (memory.text("is_limit") == "true") return bytes + " (--memory-limit)";
  if (memory.has("whole_bytes"))
    return fmt::format("{} (95 % of {})", bytes, brief_bytes(memory.integer("whole_bytes")));
  return bytes;
}

std::string place_words(const std::string& op, const std::string& scope) {
  return scope.empty() ? op : fmt::format("{} at {}", op, scope);
}

}  // namespace laptime
