// Sentences of findings.
#include "report/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/units.h"
#include "base/words.h"
#include "table/value_text.h"

namespace laptime {
namespace {

// "21 %", "1.3 times", "57 times": a ratio above 1 is no share.
std::string multiple(double ratio) {
  if (ratio <= 1) return percent_text(ratio);
  return fixed_text(ratio, ratio < 10 ? 1 : 0) + " times";
}

// " (95 %: 1.2 to 3.4 %)", in percent above 1; empty without an interval.
std::string percent_interval(const Finding& finding, double shift) {
  if (!finding.has("ratio_low")) return "";
  const double low = 100 * (finding.number("ratio_low") - shift);
  const double high = 100 * (finding.number("ratio_high") - shift);
  return std::isfinite(low) && std::isfinite(high) ? fmt::format(" (95 %: {:+.1f} to {:+.1f} %)", low, high) : "";
}

std::string pass_time(const Finding& f) {
  return fmt::format("{} per {} in {} launches, {} between them", brief_seconds(f.number("total_s")), f.subject,
                     f.integer("launches"), brief_seconds(f.number("residue_s")));
}

std::string against_bound(const Finding& f) {
  if (!f.has("of_bound")) return "";
  const std::string_view bound = f.text("bound") == "compute" ? "peak" : "bandwidth";
  if (f.number("of_bound") <= 1) return fmt::format(", at {} of the {}", percent_text(f.number("of_bound")), bound);
  return fmt::format(", above the {}{}", bound, f.text("in_cache") == "true" ? ": operands stay in the caches" : "");
}

std::string class_share(const Finding& f) {
  return fmt::format("{} {}{}", f.subject, percent_text(f.number("share")), against_bound(f));
}

std::string phase_time(const Finding& f) {
  return fmt::format("{} {}: {} {}", f.subject, brief_seconds(f.number("total_s")), f.text("class"),
                     percent_text(f.number("class_share")));
}

std::string rates(const Finding& f) {
  std::vector<std::string> parts;
  if (f.has("peak_flops_per_second"))
    parts.push_back("peak of matrix products " + value_text(f.number("peak_flops_per_second"), Unit::kFlopsPerSecond));
  if (f.has("bandwidth_bytes_per_second"))
    parts.push_back("memory bandwidth " + value_text(f.number("bandwidth_bytes_per_second"), Unit::kBytesPerSecond));
  return fmt::format("{}{}", f.trust == FindingTrust::kPredicted ? "predicted with " : "", joined(parts, ", "));
}

std::string pass_bound(const Finding& f) {
  const double all = f.number("arithmetic_s") + f.number("memory_s");
  return fmt::format("at these rates the launches take at least {}, {} of the {} ({} of it arithmetic)",
                     brief_seconds(all), percent_text(f.number("of_bound")), f.subject,
                     all > 0 ? percent_text(f.number("arithmetic_s") / all) : "-");
}

std::string tracing(const Finding& f) {
  return fmt::format("{} in turn with {} untraced: median {} against {}, {}{}",
                     counted(f.integer("traced_steps"), "traced step"), f.integer("untraced_steps"),
                     brief_seconds(f.number("traced_s")), brief_seconds(f.number("untraced_s")),
                     change_text(f.number("ratio") - 1), percent_interval(f, 1));
}

std::string launch_sum(const Finding& f) {
  return fmt::format("launches add up to {}, {} % of an untraced step{}", brief_seconds(f.number("launches_s")),
                     fixed_text(100 * f.number("ratio"), 1), percent_interval(f, 0));
}

std::string marks(const Finding& f) {
  return fmt::format("a mark takes {}; the marks of {} launches are {} of the traced time",
                     brief_seconds(f.number("mark_s")), f.integer("launches"), percent_text(f.number("share")));
}

std::string launch_starts(const Finding& f) {
  return fmt::format("starting {} launches takes {} of the {}", f.integer("launches"), percent_text(f.number("share")),
                     f.subject);
}

std::string data_sheet_floor(const Finding& f) {
  return fmt::format("at the data sheet's {} and {} the launches take at least {}, {} of an untraced step",
                     value_text(f.number("peak_flops_per_second"), Unit::kFlopsPerSecond),
                     value_text(f.number("bandwidth_bytes_per_second"), Unit::kBytesPerSecond),
                     brief_seconds(f.number("floor_s")), percent_text(f.number("share")));
}

std::string device_idle(const Finding& f) {
  const bool has_records = f.integer("watched_steps") > 0;
  std::string kernels = counted(f.integer("kernels"), has_records ? "kernel" : "launch");
  if (!has_records) kernels = fmt::format("{} launches", f.integer("kernels"));
  if (f.integer("copies") > 0) kernels += fmt::format(" and {}", counted(f.integer("copies"), "memory operation"));
  if (!f.has("share"))
    return fmt::format("steps ran from a graph, {}; idle time unknown: {}", kernels, f.text("missing"));
  std::string text =
      fmt::format("{}launch-bound: {}, the device idles {} of a step",
                  f.text("is_launch_bound") == "true" ? "" : "not ", kernels, percent_text(f.number("share")));
  if (f.has("graph_s")) text += fmt::format("; as a graph a step takes {}", brief_seconds(f.number("graph_s")));
  return text + (has_records
                     ? fmt::format(" (by {}, {})", f.text("records"), counted(f.integer("watched_steps"), "step"))
                     : fmt::format(" (by events; no records: {})", f.text("missing")));
}

std::string softmax_against_products(const Finding& f) {
  return fmt::format(
      "softmax takes {} as long as the two products of attention (forward: {} against {}), for {} of their FLOPs",
      multiple(f.number("time_ratio")), brief_seconds(f.number("softmax_s")), brief_seconds(f.number("products_s")),
      multiple(f.number("flops_ratio")));
}

std::string top_kernel(const Finding& f) {
  std::string text = fmt::format("{}: {} takes most, {} in {}", f.subject, f.text("kernel"),
                                 percent_text(f.number("share")), counted(f.integer("calls"), "call"));
  if (f.has("products_share")) {
    text += fmt::format("; all matrix products {} in {}", percent_text(f.number("products_share")),
                        counted(f.integer("products_calls"), "call"));
  }
  return text;
}

std::string cast_cost(const Finding& f) {
  std::string text = fmt::format("{}: casts take {} of the step", f.subject, percent_text(f.number("cast_share")));
  if (!f.has("speedup")) return text;
  text += fmt::format("; {} is ", f.text("to"));
  text += f.has("speedup_low")
              ? ratio_with_interval(f.number("speedup"), f.number("speedup_low"), f.number("speedup_high"))
          : std::isfinite(f.number("speedup")) ? fmt::format("{:.2g}x", f.number("speedup"))
                                               : "-";
  return text + " as fast as " + f.text("from");
}

std::string memory_peak(const Finding& f) {
  const std::string phase = f.text("phase");
  return fmt::format("{} at the peak{}{}", brief_bytes(f.integer("bytes")),
                     phase.empty() ? "" : fmt::format(", in {}", phase == "optimizer" ? "the optimizer" : phase),
                     f.text("op").empty() ? "" : ", by " + place_words(f.text("op"), f.text("scope")));
}

std::string memory_share(const Finding& f) {
  return fmt::format("{} {} {}", category_words(f.subject), brief_bytes(f.integer("bytes")),
                     percent_text(f.number("share")));
}

std::string phase_peak(const Finding& f) {
  return fmt::format("{} peaks at {}, by {}", f.subject, brief_bytes(f.integer("bytes")),
                     place_words(f.text("op"), f.text("scope")));
}

std::string saved_for_backward(const Finding& f) {
  std::string text = fmt::format("forward saves {}", brief_bytes(f.integer("bytes")));
  if (f.has("layer_bytes")) text += fmt::format(", {} a layer", brief_bytes(f.integer("layer_bytes")));
  if (f.integer("copies_bytes") > 0)
    text += fmt::format(", {} of it autocast copies", brief_bytes(f.integer("copies_bytes")));
  return text;
}

std::string optimizer_memory(const Finding& f) {
  std::string text = fmt::format("the optimizer adds {} of state", brief_bytes(f.integer("state_bytes")));
  if (f.has("temporaries_bytes"))
    text += fmt::format(" and {} of temporaries", brief_bytes(f.integer("temporaries_bytes")));
  return text;
}

std::string residual_tensor(const Finding& f) {
  return fmt::format("one tensor of the residual stream: {} {}, {}", f.text("dtype"), f.text("shape"),
                     brief_bytes(f.integer("bytes")));
}

std::string memory_growth(const Finding& f) {
  std::string text =
      fmt::format("{}: {} at context {}, {} at context {}", f.subject, brief_bytes(f.integer("from_bytes")),
                  f.integer("from_context"), brief_bytes(f.integer("to_bytes")), f.integer("to_context"));
  if (!f.has("square_bytes")) return text;
  return text + fmt::format("; of that {} grows with the square of the context{}, {} in proportion, {} stays",
                            brief_bytes(f.integer("square_bytes")),
                            f.text("square_op").empty() ? "" : fmt::format(" (most by {})", f.text("square_op")),
                            brief_bytes(f.integer("linear_bytes")), brief_bytes(f.integer("constant_bytes")));
}

std::string fit(const Finding& f) {
  const std::string peak = f.has("peak_bytes") ? brief_bytes(f.integer("peak_bytes")) : "unknown";
  std::string text = f.text("fits") == "true" ? fmt::format("fits: {}", peak) : fmt::format("does not fit: {}", peak);
  if (f.has("available_bytes")) text += fmt::format(" of {}", usable_words(f));
  if (f.has("missing_bytes")) text += fmt::format(", {} too many", brief_bytes(f.integer("missing_bytes")));
  if (f.has("recompute")) text += fmt::format(", --recompute auto: {}", f.text("recompute"));
  const std::string fitting = f.text("fitting_recompute");
  if (fitting.empty()) return text;
  return text + (fitting == "nothing fits" ? "; no --recompute makes it fit" : "; fits with --recompute " + fitting);
}

std::string predicted_time(const Finding& f) {
  std::string text = fmt::format("{} per {}", brief_seconds(f.number("time_s")), f.subject);
  if (f.text("is_bound") == "true") text += " at best";
  if (f.has("low_s")) {
    text += fmt::format(" ({} to {})", brief_seconds(f.number("low_s")), brief_seconds(f.number("high_s")));
  }
  return text;
}

std::string published_runs(const Finding& f) {
  return fmt::format("published {} took {} to {} times the bound ({} runs, median {})",
                     f.subject.empty() ? "runs" : f.subject + " runs", fixed_text(f.number("low"), 1),
                     fixed_text(f.number("high"), 1), f.integer("times"), fixed_text(f.number("median"), 1));
}

// "0.82", "1,200"
std::string price_words(double price) {
  return price < 100 ? fmt::format("{:.2f}", price) : grouped(std::llround(price));
}

// "950,000", "10B", "3.5T".
std::string count_words(double count) {
  struct Unit {
    double size;
    const char* name;
  };
  constexpr std::array kUnits{Unit{1e12, "T"}, Unit{1e9, "B"}, Unit{1e6, "M"}};
  if (!std::isfinite(count)) return "-";
  for (const Unit& unit : kUnits) {
    if (count >= unit.size) return fmt::format("{:.3g}{}", count / unit.size, unit.name);
  }
  return grouped(std::llround(count));
}

// Of a prediction from a data sheet the bounds are those of published runs.
std::string training_time(const Finding& f) {
  const bool has_bounds = f.has("low_s") && f.has("high_s");
  std::string text = fmt::format("{} tokens: ", count_words(f.number("tokens")));
  if (f.has("steps")) text += fmt::format("{} steps, ", count_words(f.number("steps")));
  text += long_time(f.number("time_s"));
  const bool is_bound = f.text("is_bound") == "true";
  const auto range = [&] {
    return fmt::format("{} to {}", long_time(f.number("low_s")), long_time(f.number("high_s")));
  };
  if (is_bound && has_bounds) text += fmt::format(" at best, {} as published runs went", range());
  if (!is_bound && has_bounds && long_time(f.number("low_s")) != long_time(f.number("high_s")))
    text += fmt::format(" ({})", range());
  if (f.has("price")) text += fmt::format(", {}", price_words(f.number("price")));
  if (f.has("price_high") && price_words(f.number("price_high")) != price_words(f.number("price_low")))
    text += fmt::format(" ({} to {})", price_words(f.number("price_low")), price_words(f.number("price_high")));
  if (f.has("price")) text += fmt::format(" at {:g}/h", f.number("price_per_hour"));
  if (f.has("kwh")) text += fmt::format(", {:.3g} kWh", f.number("kwh"));
  return text;
}

std::string launch_bound(const Finding& f) {
  const std::string until = !f.has("below_context") ? "launch-bound at any context"
                            : f.integer("below_context") == 1
                                ? "not launch-bound at any context"
                                : fmt::format("launch-bound below context {}", f.integer("below_context"));
  return fmt::format("{} launches x {} take {} of the {}: {}", f.integer("launches"),
                     brief_seconds(f.number("launch_s")), percent_text(f.number("share")), f.subject, until);
}

std::string largest(const Finding& f) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, const char* key) {
    if (!f.has(key)) return;
    const int64_t value = f.integer(key);
    std::string text =
        value == 0 ? fmt::format("no {} fits", what) : fmt::format("largest {} {}", what, grouped(value));
    const std::string kept = fmt::format("{}_without_recompute", key);
    if (f.has(kept)) text += fmt::format(" (without recomputation {})", grouped(f.integer(kept)));
    parts.push_back(std::move(text));
  };
  add("batch", "batch");
  add("context", "context");
  return joined(parts, ", ");
}

std::string compile_mode(const Finding& f) {
  std::string text = fmt::format("--mode compile {}", f.text("only_it_fits") == "true" ? "fits" : "is faster");
  std::vector<std::string> figures;
  if (f.has("time_s")) figures.push_back(brief_seconds(f.number("time_s")));
  if (f.has("peak_bytes")) figures.push_back(brief_bytes(f.integer("peak_bytes")));
  return fmt::format("{}: {}", text, joined(figures, ", "));
}

std::string framework(const Finding& f) {
  return fmt::format("as a framework runs it, eager without recomputation: {}", brief_bytes(f.integer("peak_bytes")));
}

std::string level_changes(const Finding& f) {
  const std::string figures = fmt::format("{} {}s", f.integer("figures"), f.text("by"));
  if (f.integer("changes") == 0)
    return f.text("is_too_short") == "true" ? fmt::format("{} over {}: too few to find a change", f.subject, figures)
                                            : fmt::format("{} over {}: no change of level", f.subject, figures);
  const std::string direction = f.text("direction");
  return fmt::format("{} {} at {} ({}){}; {} over {}", f.subject, change_text(f.number("change")), f.text("commit"),
                     f.text("created"), direction.empty() ? "" : ": " + direction,
                     counted(f.integer("changes"), "change"), figures);
}

std::string calibration(const Finding& f) {
  std::string text = fmt::format("{} launch times known", grouped(f.integer("launches")));
  if (f.integer("disturbed_launches") > 0)
    text += fmt::format(", {} of them from a disturbed machine", grouped(f.integer("disturbed_launches")));
  return text;
}

std::string detectable_difference(const Finding& f) {
  const std::string percent = whole_percent_text(f.number("difference"));
  if (f.text("is_within_budget") != "true") {
    return fmt::format("too busy to detect {} within {}: that takes about {} rounds, {}", percent,
                       long_time(f.number("budget_s")), f.integer("rounds"), long_time(f.number("time_s")));
  }
  return fmt::format("detects a difference of {} within {} ({} rounds)", percent, long_time(f.number("time_s")),
                     f.integer("rounds"));
}

std::string largest_difference(const Finding& f, std::string_view what) {
  const auto signed_time = [&](std::string_view key) {
    const double time = f.number(key);
    return fmt::format("{}{}", time < 0 ? "-" : "+", brief_seconds(std::abs(time)));
  };
  return fmt::format("the {} that differs most is {}: {} of {}", what, f.subject, signed_time("difference_s"),
                     signed_time("step_difference_s"));
}
std::string largest_op_difference(const Finding& f) { return largest_difference(f, "op"); }
std::string largest_part_difference(const Finding& f) { return largest_difference(f, "part"); }

struct WordsOfKind {
  std::string_view kind;
  std::string (*words)(const Finding& finding);
};
constexpr std::array kWords{WordsOfKind{"pass_time", pass_time},
                            WordsOfKind{"class_share", class_share},
                            WordsOfKind{"phase_time", phase_time},
                            WordsOfKind{"rates", rates},
                            WordsOfKind{"pass_bound", pass_bound},
                            WordsOfKind{"tracing", tracing},
                            WordsOfKind{"launch_sum", launch_sum},
                            WordsOfKind{"marks", marks},
                            WordsOfKind{"launch_starts", launch_starts},
                            WordsOfKind{"data_sheet_floor", data_sheet_floor},
                            WordsOfKind{"device_idle", device_idle},
                            WordsOfKind{"softmax_against_products", softmax_against_products},
                            WordsOfKind{"top_kernel", top_kernel},
                            WordsOfKind{"cast_cost", cast_cost},
                            WordsOfKind{"memory_peak", memory_peak},
                            WordsOfKind{"memory_share", memory_share},
                            WordsOfKind{"phase_peak", phase_peak},
                            WordsOfKind{"saved_for_backward", saved_for_backward},
                            WordsOfKind{"optimizer_memory", optimizer_memory},
                            WordsOfKind{"residual_tensor", residual_tensor},
                            WordsOfKind{"memory_growth", memory_growth},
                            WordsOfKind{"fit", fit},
                            WordsOfKind{"predicted_time", predicted_time},
                            WordsOfKind{"published_runs", published_runs},
                            WordsOfKind{"training_time", training_time},
                            WordsOfKind{"launch_bound", launch_bound},
                            WordsOfKind{"largest", largest},
                            WordsOfKind{"compile_mode", compile_mode},
                            WordsOfKind{"framework", framework},
                            WordsOfKind{"level_changes", level_changes},
                            WordsOfKind{"calibration", calibration},
                            WordsOfKind{"detectable_difference", detectable_difference},
                            WordsOfKind{"largest_op_difference", largest_op_difference},
                            WordsOfKind{"largest_part_difference", largest_part_difference}};

}  // namespace

std::string words(const Finding& finding) {
  const auto* const found =
      std::find_if(kWords.begin(), kWords.end(), [&](const WordsOfKind& one) { return one.kind == finding.kind; });
  LAPTIME_CHECK(found != kWords.end(), "no words for findings of kind {}", finding.kind);
  return found->words(finding);
}

std::string profile_headline(const std::vector<Finding>& findings) {
  constexpr double kWorthNaming = 0.05;  // of the step
  constexpr size_t kMost = 3;
  const Finding* const pass = find(findings, "pass_time");
  if (pass == nullptr) return "";
  std::vector<std::string> names;
  std::vector<int64_t> parts;
  const double whole = pass->number("total_s");
  if (!std::isfinite(whole)) return fmt::format("{} per {}", brief_seconds(whole), pass->subject);
  int64_t left = std::llround(whole * 1e12);  // the least unit that shares are rounded by
  for (const Finding& finding : findings) {
    if (finding.kind != "class_share" || finding.number("share") < kWorthNaming || names.size() == kMost) continue;
    names.push_back(finding.subject);
    parts.push_back(std::llround(finding.number("total_s") * 1e12));
    left -= parts.back();
  }
  parts.push_back(std::max<int64_t>(0, left));
  const std::vector<int64_t> percents = whole_percents(parts);
  std::vector<std::string> texts;
  for (size_t i = 0; i < names.size(); ++i) texts.push_back(fmt::format("{} {} %", names[i], percents[i]));
  if (percents.back() > 0) texts.push_back(fmt::format("all else {} %", percents.back()));
  return fmt::format("{} per {}: {}", brief_seconds(whole), pass->subject, joined(texts, ", "));
}

std::string memory_headline(const std::vector<Finding>& findings) {
  const Finding* const peak = find(findings, "memory_peak");
  return peak == nullptr ? "" : memory_peak(*peak);
}

std::vector<std::string> memory_shares(const std::vector<Finding>& findings, size_t count) {
  std::vector<const Finding*> shares;
  std::vector<int64_t> bytes;
  for (const Finding& finding : findings) {
    if (finding.kind != "memory_share") continue;
    shares.push_back(&finding);
    bytes.push_back(finding.integer("bytes"));
  }
  const std::vector<int64_t> percents = whole_percents(bytes);
  std::vector<std::string> texts;
  int64_t rest = 0;
  int64_t rest_percent = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (i < count) {
      texts.push_back(
          fmt::format("{} {} {} %", category_words(shares[i]->subject), brief_bytes(bytes[i]), percents[i]));
    } else {
      rest += bytes[i];
      rest_percent += percents[i];
    }
  }
  if (rest_percent > 0) texts.push_back(fmt::format("all else {} {} %", brief_bytes(rest), rest_percent));
  return texts;
}

std::string phase_peaks(const std::vector<Finding>& findings) {
  std::vector<std::string> parts;
  for (const Finding& finding : findings) {
    if (finding.kind == "phase_peak")
      parts.push_back(fmt::format("{} {}", finding.subject, brief_bytes(finding.integer("bytes"))));
  }
  return parts.size() < 2 ? "" : fmt::format("peak in {}", joined(parts, ", "));
}

std::string saved_words(const std::vector<Finding>& findings) {
  const Finding* const saved = find(findings, "saved_for_backward");
  return saved == nullptr ? "" : saved_for_backward(*saved);
}

}  // namespace laptime
