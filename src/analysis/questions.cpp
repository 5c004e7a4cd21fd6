// Answers from records and traces. An answer is empty if no point has the required data.
#include "analysis/questions.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "analysis/launch_sums.h"
#include "analysis/memory_ledger.h"
#include "analysis/memory_tensors.h"
#include "analysis/trace_findings.h"
#include "base/json.h"
#include "base/units.h"
#include "base/words.h"
#include "record/metrics.h"
#include "record/time_stats.h"
#include "table/value_text.h"

namespace laptime {
namespace {

using Points = std::span<const QuestionedPoint>;

const TimeStats* time_of(const QuestionedPoint& point, std::string_view part) {
  const auto found = point.record->time.find(std::string(part));
  const bool is_known = found != point.record->time.end() && found->second.count > 0 && found->second.median > 0;
  return is_known ? &found->second : nullptr;
}

const TimeStats* whole_time(const QuestionedPoint& point) { return time_of(point, point.record->config.text("pass")); }

bool is_profiled(const QuestionedPoint& point) { return point.trace != nullptr && !point.trace->steps.empty(); }

// "1.9 to 2.2", or a single value if both read the same.
std::string range_text(const std::vector<double>& values, const std::function<std::string(double)>& text) {
  const auto [low, high] = std::ranges::minmax_element(values);
  return text(*low) == text(*high) ? text(*low) : fmt::format("{} to {}", text(*low), text(*high));
}
std::string two_digits(double value) { return std::isfinite(value) ? fmt::format("{:.2g}", value) : "-"; }
std::string factor(double value) { return fixed_text(value, 2); }

// Two points whose configurations differ only in one option, which has the two given values.
using Pair = std::pair<const QuestionedPoint*, const QuestionedPoint*>;
std::vector<Pair> pairs_of(Points points, const std::string& option, std::string_view from, std::string_view to) {
  const auto rest_of = [&](const QuestionedPoint& point) {
    Json config = point.record->config.json();
    for (const std::string& key : {option, std::string("warmup"), std::string("steps")}) config.erase(key);
    return point.record->fingerprint + config.dump();
  };
  std::map<std::string, const QuestionedPoint*> before;
  for (const QuestionedPoint& point : points) {
    if (point.record->config.text(option) == from) before[rest_of(point)] = &point;
  }
  std::vector<Pair> pairs;
  for (const QuestionedPoint& point : points) {
    if (point.record->config.text(option) != to) continue;
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
    if (whole_time(*slow) == nullptr || whole_time(*fast) == nullptr) continue;
    const std::optional<TimeRatio> ratio = ratio_of_medians(*whole_time(*slow), *whole_time(*fast));
    if (!ratio) continue;
    ratios.push_back(ratio->value);
    if (ratio->interval && ratio->interval->low <= 1 && ratio->interval->high >= 1) ++unclear;
  }
  if (ratios.empty()) return "";
  return fmt::format("{} is {} times as fast as {} ({}{})", to, range_text(ratios, factor), from,
                     counted(ratios.size(), "pair"), unclear > 0 ? fmt::format(", {} within noise", unclear) : "");
}

// Sums of the launches that `test` accepts, with their share of the step, longest first.
using Share = std::pair<LaunchSum, double>;
std::vector<Share> shares_of(const StepTrace& trace, const LaunchKey& key, const LaunchTest& test = {}) {
  std::vector<Share> shares;
  const double step = totals_of(trace).step;
  for (LaunchSum& sum : largest_first(sum_launches(trace, key, test))) {
    if (step > 0) shares.emplace_back(sum, sum.total / step);
  }
  return shares;
}

double share_of_class(const StepTrace& trace, std::string_view work_class) {
  for (const auto& [sum, share] : shares_of(trace, class_of)) {
    if (sum.key == work_class) return share;
  }
  return 0;
}

std::string times_and_spread(Points points) {
  std::string text;
  std::vector<double> ratios;
  for (const QuestionedPoint& point : points) {
    const TimeStats* const forward = time_of(point, "forward");
    const TimeStats* const backward = time_of(point, "backward");
    if (forward == nullptr || backward == nullptr) continue;
    ratios.push_back(backward->median / forward->median);
    if (!text.empty()) continue;
    text = fmt::format("{}: forward {}, backward {}", point.name, format_seconds(forward->median),
                       format_seconds(backward->median));
    const TimeStats* const whole = whole_time(point);
    if (whole != nullptr && whole->std && whole->mean > 0 && !is_predicted(*point.record))
      text += fmt::format(", total {} with a standard deviation of {}", format_seconds(whole->median),
                          percent_text(*whole->std / whole->mean));
  }
  if (ratios.empty()) return "";
  return fmt::format("Backward takes {} times as long as forward ({}). {}.", range_text(ratios, factor),
                     counted(ratios.size(), "point"), text);
}

std::string first_steps(Points points) {
  const QuestionedPoint* worst = nullptr;
  const auto excess = [](const QuestionedPoint& point) {
    return *point.record->transient.excess / whole_time(point)->median;
  };
  for (const QuestionedPoint& point : points) {
    if (is_predicted(*point.record) || !point.record->transient.excess || whole_time(point) == nullptr) continue;
    if (worst == nullptr || excess(point) > excess(*worst)) worst = &point;
  }
  if (worst == nullptr) return "";
  if (*worst->record->transient.excess <= 0) return "They do not here: no first step was longer than the later ones.";
  const Transient& first = worst->record->transient;
  std::map<std::string, double> phases;
  for (const ClassShare& part : first.parts) phases[part.phase] += part.seconds;
  const auto most = std::ranges::max_element(phases, [](const auto& a, const auto& b) { return a.second < b.second; });
  std::string text =
      fmt::format("The largest effect is at {}: the first {} took {} longer, equal to {} steady steps", worst->name,
                  counted(first.steps.value_or(1), "step"), format_seconds(*first.excess), two_digits(excess(*worst)));
  if (most != phases.end()) text += fmt::format(", mostly in {}", most->first);
  if (first.page_faults && *first.page_faults >= 0.01 * *first.excess)
    text += fmt::format("; page faults account for {} of it", percent_text(*first.page_faults / *first.excess));
  return text + ".";
}

std::string gains(Points points) {
  std::vector<std::string> parts{gain_text(points, "mode", "eager", "compile")};
  for (const char* const type : {"bfloat16", "float16"}) parts.push_back(gain_text(points, "dtype", "float32", type));
  std::erase(parts, "");
  return parts.empty() ? "" : fmt::format("{}.", joined(parts, "; "));
}

std::string top_kernel(Points points) {
  std::string text;
  size_t same = 0;
  size_t all = 0;
  std::string first;
  for (const QuestionedPoint& point : points) {
    if (!is_profiled(point)) continue;
    const std::vector<Share> shares =
        shares_of(*point.trace, kernel_of, [](const TraceLaunch& launch) { return launch.phase != "optimizer"; });
    if (shares.empty()) continue;
    const auto& [top, share] = shares.front();
    if (text.empty()) {
      first = top.key;
      text = fmt::format("{} with {} of the {} in {}, at {}", top.key, percent_text(share), pass_of(*point.trace),
                         counted(top.calls, "call"), point.name);
    }
    ++all;
    same += top.key == first ? 1U : 0U;
  }
  return text.empty() ? "" : fmt::format("{}; it takes the most time at {} of {}.", text, same, counted(all, "point"));
}

std::string other_kernels(Points points) {
  for (const QuestionedPoint& point : points) {
    if (!is_profiled(point)) continue;
    const std::vector<Share> shares = shares_of(*point.trace, kernel_of, [](const TraceLaunch& launch) {
      return launch.phase == "forward" && launch.work_class != kProductClass;
    });
    std::vector<std::string> parts;
    for (const auto& [sum, share] : shares) {
      if (parts.size() < 3) parts.push_back(fmt::format("{} {}", sum.key, percent_text(share)));
    }
    if (!parts.empty())
      return fmt::format("{} of the {}, at {}.", joined(parts, ", "), pass_of(*point.trace), point.name);
  }
  return "";
}

std::string product_share(Points points) {
  constexpr std::array<std::string_view, 4> kPasses{"inference", "forward", "forward_backward", "step"};
  std::vector<std::string> parts;
  for (const std::string_view pass : kPasses) {
    std::vector<double> shares;
    for (const QuestionedPoint& point : points) {
      if (is_profiled(point) && point.record->config.text("pass") == pass)
        shares.push_back(share_of_class(*point.trace, kProductClass));
    }
    if (!shares.empty()) parts.push_back(fmt::format("{} {}", pass, range_text(shares, percent_text)));
  }
  return parts.size() < 2 ? "" : fmt::format("Share of time in matrix products: {}.", joined(parts, ", "));
}

std::string softmax(Points points) {
  std::vector<double> times;
  std::vector<double> flops;
  for (const QuestionedPoint& point : points) {
    if (!is_profiled(point)) continue;
    const std::optional<SoftmaxAndProducts> both = softmax_and_products(*point.trace);
    if (!both) continue;
    times.push_back(both->time_ratio());
    flops.push_back(both->flops_ratio());
  }
  if (times.empty()) return "";
  return fmt::format("Softmax takes {} times as long as the two products, for {} of their FLOPs ({}).",
                     range_text(times, two_digits), range_text(flops, percent_text), counted(times.size(), "point"));
}

// The class of work in which the first pair saves most, as shares of the eager step.
std::string gain_of_compile(Points points) {
  for (const auto& [eager, compiled] : pairs_of(points, "mode", "eager", "compile")) {
    if (!is_profiled(*eager) || !is_profiled(*compiled)) continue;
    std::map<std::string, double> saved;
    for (const LaunchSum& sum : sum_launches(*eager->trace, class_of)) saved[sum.key] += sum.total;
    for (const LaunchSum& sum : sum_launches(*compiled->trace, class_of)) saved[sum.key] -= sum.total;
    const auto most = std::ranges::max_element(saved, {}, [](const auto& one) { return one.second; });
    const double before = totals_of(*eager->trace).step;
    const double after = totals_of(*compiled->trace).step;
    if (most == saved.end() || before <= 0 || most->second <= 0) continue;
    return fmt::format(
        "At {} compile mode takes {} of the eager time; most of the saving is in {} ({} of the eager {}).",
        compiled->name, percent_text(after / before), most->first, percent_text(most->second / before),
        pass_of(*eager->trace));
  }
  return "";
}

std::string casts(Points points) {
  std::vector<double> shares;
  for (const QuestionedPoint& point : points) {
    if (is_profiled(point) && point.record->config.text("dtype") != "float32")
      shares.push_back(share_of_class(*point.trace, kCastClass));
  }
  if (shares.empty()) return "";
  const std::string gain = gain_text(points, "dtype", "float32", "bfloat16");
  return fmt::format("Casts take {} of the time{}.", range_text(shares, percent_text), gain.empty() ? "" : "; " + gain);
}

std::string peaks(Points points) {
  constexpr std::array<std::string_view, 5> kPasses{"inference", "forward", "backward", "forward_backward", "step"};
  std::vector<std::string> parts;
  size_t too_large = 0;
  for (const std::string_view pass : kPasses) {
    std::vector<double> bytes;
    for (const QuestionedPoint& point : points) {
      if (point.record->config.text("pass") != pass || !point.record->memory.predicted_peak_bytes) continue;
      bytes.push_back(static_cast<double>(*point.record->memory.predicted_peak_bytes));
      too_large += point.record->status == Status::kOutOfMemory ? 1U : 0U;
    }
    const auto text = [](double value) { return format_bytes(static_cast<int64_t>(value)); };
    if (!bytes.empty()) parts.push_back(fmt::format("{} {}", pass, range_text(bytes, text)));
  }
  if (parts.empty()) return "";
  return fmt::format("{}{}.", joined(parts, ", "),
                     too_large > 0 ? fmt::format("; {} did not fit", counted(too_large, "point")) : "");
}

std::string memory_held(Points points) {
  for (const QuestionedPoint& point : points) {
    if (point.trace == nullptr || point.trace->launch_count() == 0) continue;
    const MemoryLedger ledger(*point.trace);
    const SavedBytes saved = saved_bytes_of(*point.trace);
    std::vector<std::pair<int64_t, std::string>> parts;
    for (size_t i = 0; i < kMemoryCategoryCount; ++i)
      parts.emplace_back(ledger.peak()[category_at(i)], title_of(category_at(i)));
    std::sort(parts.rbegin(), parts.rend());
    const auto share = [&](int64_t bytes) {
      return percent_text(static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, ledger.planned())));
    };
    std::string text =
        fmt::format("At {} the peak of {} is {} {} and {} {}", point.name, format_bytes(ledger.planned()),
                    parts[0].second, share(parts[0].first), parts[1].second, share(parts[1].first));
    if (!saved.blocks.empty()) text += fmt::format("; a block saves {}", format_bytes(saved.blocks.front().bytes));
    return text + ".";
  }
  return "";
}

std::string attention_alone(Points points) {
  size_t all = 0;
  size_t fitting = 0;
  const QuestionedPoint* longest = nullptr;
  for (const QuestionedPoint& point : points) {
    if (point.record->config.text("model") != "attention") continue;
    ++all;
    fitting += point.record->status != Status::kOutOfMemory ? 1U : 0U;
    if (whole_time(point) != nullptr &&
        (longest == nullptr || whole_time(point)->median > whole_time(*longest)->median))
      longest = &point;
  }
  if (all == 0) return "";
  std::string text = fmt::format("{} of {} fit", fitting, counted(all, "point"));
  if (longest != nullptr) {
    text +=
        fmt::format("; the longest, {}, takes {} and {}", longest->name, format_seconds(whole_time(*longest)->median),
                    format_bytes(longest->record->memory.predicted_peak_bytes.value_or(0)));
  }
  return text + ".";
}

struct Question {
  std::string_view question;
  std::string (*answer)(Points points);
};
constexpr std::array kQuestions{
    Question{"How long do forward, backward and both take, and how much do they vary?", times_and_spread},
    Question{"Why do the first steps take longer without warm-up?", first_steps},
    Question{"How much do bfloat16 and compilation gain?", gains},
    Question{"Which kernel takes most of the time, and how often is it called?", top_kernel},
    Question{"Which kernels other than matrix products matter in forward?", other_kernels},
    Question{"How does the share of matrix products change from inference to a full step?", product_share},
    Question{"How does softmax compare with the two products around it in time and FLOPs?", softmax},
    Question{"Where does compile mode gain its time?", gain_of_compile},
    Question{"What share of the time do casts take, and is bfloat16 worth it on a small model?", casts},
    Question{"What is the peak for inference, forward with backward, and a step?", peaks},
    Question{"What does a step use memory for, and what does a block save for backward?", memory_held},
    Question{"Attention by itself: which widths and lengths fit, and what do they cost?", attention_alone}};

}  // namespace

std::vector<Answer> answer_questions(Points points) {
  std::vector<Answer> answers;
  for (const Question& one : kQuestions) {
    if (std::string text = one.answer(points); !text.empty()) answers.push_back({one.question, std::move(text)});
  }
  return answers;
}

}  // namespace laptime
