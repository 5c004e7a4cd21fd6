// Answers questions from records, findings and traces. An answer is empty if no point has the required data.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "analysis/memory_findings.h"
#include "analysis/speedup.h"
#include "analysis/trace_findings.h"
#include "base/words.h"
#include "page/sentences.h"
#include "report/point_text.h"
#include "report/words.h"
#include "table/value_text.h"

namespace laptime {
namespace {

struct Point {
  const Record* record = nullptr;
  const StepTrace* trace = nullptr;  // null if there is none
  std::string name;                  // unique on the page
  std::vector<Finding> findings;     // findings from the trace; empty unless it has timed steps

  bool is_profiled() const { return !findings.empty(); }
  std::string option(std::string_view key) const { return record->config.text(key); }
  const TimeStats* time(std::string_view part = {}) const {
    const TimeStats* const time = record->status == Status::kOk ? time_of(*record, part) : nullptr;
    return time != nullptr && time->median > 0 ? time : nullptr;
  }
  double share_of_class(std::string_view work_class) const {
    const Finding* const share = find(findings, "class_share", work_class);
    return share == nullptr ? 0 : share->number("share");
  }
};
using Points = std::span<const Point>;

// "1.9 to 2.2", or a single value if both ends have the same text.
std::string range_text(const std::vector<double>& values, const std::function<std::string(double)>& text) {
  const auto [low, high] = std::ranges::minmax_element(values);
  return text(*low) == text(*high) ? text(*low) : fmt::format("{} to {}", text(*low), text(*high));
}
// Two significant digits, or all digits before the decimal point.
std::string two_digits(double value) { return value < 99.5 ? fmt::format("{:.2g}", value) : fixed_text(value, 0); }
std::string factor(double value) { return fixed_text(value, 2); }

// "inference 41 %, step 38 to 45 %": the range of `value` over the points of each pass; passes without a value are
// omitted.
std::vector<std::string> ranges_by_pass(Points points,
                                        const std::function<std::optional<double>(const Point& point)>& value,
                                        const std::function<std::string(double)>& text) {
  std::vector<std::string> parts;
  for (const std::string_view pass : {"inference", "forward", "backward", "forward_backward", "step"}) {
    std::vector<double> values;
    for (const Point& point : points) {
      const std::optional<double> one = point.option("pass") == pass ? value(point) : std::nullopt;
      if (one) values.push_back(*one);
    }
    if (!values.empty()) parts.push_back(fmt::format("{} {}", pass, range_text(values, text)));
  }
  return parts;
}

// Two points with the two given values of one option. Otherwise, they differ at most in step counts and timeout.
using Pair = std::pair<const Point*, const Point*>;
std::vector<Pair> pairs_of(Points points, const std::string& option, std::string_view from, std::string_view to) {
  const auto rest_of = [&](const Point& point) { return point_without(*point.record, {option, "warmup", "steps"}); };
  std::map<std::string, const Point*> before;
  for (const Point& point : points) {
    if (point.option(option) == from) before[rest_of(point)] = &point;
  }
  std::vector<Pair> pairs;
  for (const Point& point : points) {
    if (point.option(option) != to) continue;
    if (const auto found = before.find(rest_of(point)); found != before.end())
      pairs.emplace_back(found->second, &point);
  }
  return pairs;
}

// "compile is 1.41 to 2.23 times as fast as eager (4 pairs)"; empty if there is no pair.
std::string gain_text(Points points, const std::string& option, std::string_view from, std::string_view to) {
  std::vector<double> ratios;
  size_t unclear = 0;
  for (const auto& [slow, fast] : pairs_of(points, option, from, to)) {
    if (slow->time() == nullptr || fast->time() == nullptr) continue;
    const std::optional<Speedup> ratio = speedup_of(*slow->record, *fast->record);
    if (!ratio) continue;
    ratios.push_back(ratio->value);
    if (ratio->interval.low <= 1 && ratio->interval.high >= 1) ++unclear;
  }
  if (ratios.empty()) return "";
  return fmt::format("{} is {} times as fast as {} ({}{})", to, range_text(ratios, factor), from,
                     counted(ratios.size(), "pair"), unclear > 0 ? fmt::format(", {} within noise", unclear) : "");
}

std::string times_and_spread(Points points) {
  std::string text;
  std::vector<double> ratios;
  for (const Point& point : points) {
    const TimeStats* const forward = point.time("forward");
    const TimeStats* const backward = point.time("backward");
    if (forward == nullptr || backward == nullptr) continue;
    ratios.push_back(backward->median / forward->median);
    if (!text.empty()) continue;
    text = fmt::format("{}: forward {}, backward {}", point.name, brief_seconds(forward->median),
                       brief_seconds(backward->median));
    const TimeStats* const whole = point.time();
    const bool is_both = whole != backward;  // the time of the pass `backward` does not include forward
    if (whole != nullptr && is_both && whole->std && whole->mean > 0 && !is_predicted(*point.record))
      text += fmt::format(", total {} with a standard deviation of {}", brief_seconds(whole->median),
                          percent_text(*whole->std / whole->mean));
  }
  if (ratios.empty()) return "";
  return fmt::format("Backward takes {} times as long as forward ({}). {}.", range_text(ratios, factor),
                     counted(ratios.size(), "point"), text);
}

std::string first_steps(Points points) {
  const Point* worst = nullptr;
  const auto excess = [](const Point& point) { return *point.record->transient.excess / point.time()->median; };
  for (const Point& point : points) {
    if (is_predicted(*point.record) || !point.record->transient.excess || point.time() == nullptr) continue;
    if (worst == nullptr || excess(point) > excess(*worst)) worst = &point;
  }
  if (worst == nullptr) return "";
  const Transient& first = worst->record->transient;
  if (*first.excess <= 0) return "The first steps took no longer than later ones.";
  std::map<std::string, double> phases;
  for (const ClassShare& part : first.parts) phases[part.phase] += part.seconds;
  const auto most = std::ranges::max_element(phases, {}, [](const auto& phase) { return phase.second; });
  return fmt::format("First steps cost the most at {}: {}; the extra time equals {} steady steps{}.", worst->name,
                     first_steps_text(*worst->record), two_digits(excess(*worst)),
                     most == phases.end() ? "" : fmt::format(" and is mostly in {}", most->first));
}

std::string gains(Points points) {
  std::vector<std::string> parts{gain_text(points, "mode", "eager", "compile")};
  for (const char* const type : {"bfloat16", "float16"}) parts.push_back(gain_text(points, "dtype", "float32", type));
  std::erase(parts, "");
  return parts.empty() ? "" : fmt::format("{}.", joined(parts, "; "));
}

std::string slowest_kernel(Points points) {
  std::vector<Finding> all;
  for (const Point& point : points) {
    if (!point.is_profiled()) continue;
    if (std::optional<Finding> top = top_kernel(point.name, *point.trace)) all.push_back(std::move(*top));
  }
  if (all.empty()) return "";
  const auto same =
      std::ranges::count(all, all.front().text("kernel"), [](const Finding& one) { return one.text("kernel"); });
  return fmt::format("{}. It takes the most time at {} of {}.", words(all.front()), same, counted(all.size(), "point"));
}

std::string other_kernels(Points points) {
  constexpr size_t kMost = 3;
  const LaunchTest is_other = [](const TraceLaunch& launch) {
    return launch.phase == "forward" && launch.work_class != kProductClass;
  };
  for (const Point& point : points) {
    if (!point.is_profiled()) continue;
    std::vector<std::string> parts;
    for (const LaunchSum& sum : largest_first(sum_launches(*point.trace, kernel_of, is_other))) {
      if (parts.size() < kMost)
        parts.push_back(fmt::format("{} {}", sum.key, percent_text(sum.total / totals_of(*point.trace).step)));
    }
    if (!parts.empty())
      return fmt::format("{} of the {}, at {}.", joined(parts, ", "), pass_of(*point.trace), point.name);
  }
  return "";
}

std::string product_share(Points points) {
  const auto share = [](const Point& point) {
    return point.is_profiled() ? std::optional(point.share_of_class(kProductClass)) : std::nullopt;
  };
  const std::vector<std::string> parts = ranges_by_pass(points, share, percent_text);
  return parts.size() < 2 ? "" : fmt::format("Share of time in matrix products: {}.", joined(parts, ", "));
}

std::string softmax(Points points) {
  std::vector<double> times;
  std::vector<double> flops;
  for (const Point& point : points) {
    const Finding* const both = find(point.findings, "softmax_against_products");
    if (both == nullptr) continue;
    times.push_back(both->number("time_ratio"));
    flops.push_back(both->number("flops_ratio"));
  }
  if (times.empty()) return "";
  return fmt::format("Softmax takes {} times as long as the two products, for {} of their FLOPs ({}).",
                     range_text(times, two_digits), range_text(flops, percent_text), counted(times.size(), "point"));
}

// The class of work in which compile mode saves the most time, in the first pair of profiled points. Times are the
// medians of the points, multiplied by shares of the traced steps.
std::string gain_of_compile(Points points) {
  for (const auto& [eager, compiled] : pairs_of(points, "mode", "eager", "compile")) {
    if (!eager->is_profiled() || !compiled->is_profiled()) continue;
    if (eager->time() == nullptr || compiled->time() == nullptr) continue;
    const double ratio = compiled->time()->median / eager->time()->median;
    std::string_view most;
    double saved = 0;  // as a fraction of the eager time
    for (const Finding& share : eager->findings) {
      if (share.kind != "class_share") continue;
      const double saved_here = share.number("share") - ratio * compiled->share_of_class(share.subject);
      if (saved_here <= saved) continue;
      saved = saved_here;
      most = share.subject;
    }
    if (most.empty()) continue;
    return fmt::format("At {}, compile mode takes {} of the eager time; it saves most in {} ({} of the eager {}).",
                       compiled->name, percent_text(ratio), most, percent_text(saved), pass_of(*eager->trace));
  }
  return "";
}

std::string casts(Points points) {
  std::vector<double> shares;
  for (const Point& point : points) {
    if (point.is_profiled() && point.option("dtype") != "float32") shares.push_back(point.share_of_class(kCastClass));
  }
  if (shares.empty()) return "";
  const std::string gain = gain_text(points, "dtype", "float32", "bfloat16");
  return fmt::format("Casts take {} of the time{}.", range_text(shares, percent_text), gain.empty() ? "" : "; " + gain);
}

std::string peaks(Points points) {
  const auto peak = [](const Point& point) -> std::optional<double> {
    return point.record->memory.predicted_peak_bytes;
  };
  const auto text = [](double bytes) { return brief_bytes(static_cast<int64_t>(bytes)); };
  const std::vector<std::string> parts = ranges_by_pass(points, peak, text);
  if (parts.empty()) return "";
  const auto too_large = std::ranges::count_if(
      points, [&](const Point& point) { return peak(point) && point.record->status == Status::kOutOfMemory; });
  return fmt::format("{}{}.", joined(parts, ", "),
                     too_large > 0 ? fmt::format("; {} did not fit", counted(too_large, "point")) : "");
}

std::string memory_held(Points points) {
  constexpr size_t kNamed = 2;
  for (const Point& point : points) {
    if (point.trace == nullptr || point.trace->launch_count() == 0) continue;
    const std::vector<Finding> findings = memory_findings(*point.record, *point.trace);
    const std::string saved = words_of(findings, "saved_for_backward");
    return fmt::format("{}: {} at the peak: {}{}{}.", point.name, brief_bytes(findings.front().integer("bytes")),
                       joined(memory_shares(findings, kNamed), ", "), saved.empty() ? "" : "; ", saved);
  }
  return "";
}

std::string attention_alone(Points points) {
  size_t all = 0;
  size_t fitting = 0;
  const Point* longest = nullptr;
  for (const Point& point : points) {
    if (point.option("model") != "attention") continue;
    const bool fits = point.record->status == Status::kOk;
    all += fits || point.record->status == Status::kOutOfMemory ? 1U : 0U;
    fitting += fits ? 1U : 0U;
    if (point.time() != nullptr && (longest == nullptr || point.time()->median > longest->time()->median))
      longest = &point;
  }
  if (all == 0) return "";
  const std::string text = fmt::format("{} of {} fit", fitting, counted(all, "point"));
  if (longest == nullptr) return text + ".";
  const std::optional<int64_t> bytes = peak_bytes(*longest->record, nullptr);
  return fmt::format("{}; the slowest, {}, takes {}{}.", text, longest->name, brief_seconds(longest->time()->median),
                     bytes ? " and " + brief_bytes(*bytes) : "");
}

struct Question {
  std::string_view question;
  std::string (*answer)(Points points);
};
constexpr std::array kQuestions{
    Question{"How long do forward, backward and both take, and how much do they vary?", times_and_spread},
    Question{"Why do the first steps take longer without warm-up?", first_steps},
    Question{"How much faster do bfloat16 and compilation make a step?", gains},
    Question{"Which kernel takes the most time, and how often is it called?", slowest_kernel},
    Question{"Which kernels other than matrix products matter in forward?", other_kernels},
    Question{"How does the share of matrix products change from inference to a full step?", product_share},
    Question{"How does softmax compare with the two products around it in time and FLOPs?", softmax},
    Question{"Where does compile mode save time?", gain_of_compile},
    Question{"What share of the time do casts take, and is bfloat16 worth it on a small model?", casts},
    Question{"What is the peak memory for inference, forward with backward, and a step?", peaks},
    Question{"What does a step use memory for, and what does a block save for backward?", memory_held},
    Question{"Attention by itself: which widths and lengths fit, and what do they cost?", attention_alone}};

}  // namespace

std::vector<Answer> answer_questions(const PagePoints& points) {
  const PagePoint* const headline = &points[points.headline];
  std::vector<const PagePoint*> order;
  for (const PagePoint& point : points.all) order.push_back(&point);
  std::ranges::stable_sort(order, {}, [&](const PagePoint* one) {
    return one == headline ? 0 : one->group == headline->group ? 1 : 2;
  });
  std::vector<Point> ordered;
  for (const PagePoint* const one : order) {
    const bool is_timed = one->trace != nullptr && !one->trace->steps.empty();
    ordered.push_back({one->record, one->trace, one->full_name,
                       is_timed ? trace_findings(*one->record, *one->trace) : std::vector<Finding>()});
  }
  std::vector<Answer> answers;
  for (const Question& one : kQuestions) {
    if (std::string text = one.answer(ordered); !text.empty()) answers.push_back({one.question, std::move(text)});
  }
  return answers;
}

}  // namespace laptime
