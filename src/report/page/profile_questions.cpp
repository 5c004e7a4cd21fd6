// Answers from traced launches: which kernels and classes of work take the time.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/launch_sums.h"
#include "base/units.h"
#include "base/words.h"
#include "record/metrics.h"
#include "report/page/gains.h"
#include "report/page/page_words.h"
#include "report/page/questions.h"
#include "report/page/traced_time.h"
#include "report/profile/compared_profiles.h"
#include "report/profile/profile_report.h"
#include "report/profile/views.h"
#include "table/value_text.h"

namespace laptime {
namespace {

// The traces that a conclusion may rest on: measured ones that nothing speaks against, or predictions where a page has
// nothing else.
struct Evidence {
  std::vector<TracedPoint> points;
  bool is_predicted = false;

  explicit Evidence(const PageView& view) : points(view.profiled()) {
    is_predicted = std::all_of(points.begin(), points.end(),
                               [](const TracedPoint& point) { return laptime::is_predicted(*point.record); });
    std::erase_if(points, [&](const TracedPoint& point) {
      return laptime::is_predicted(*point.record) != is_predicted || !trace_doubt(point).empty();
    });
  }
  bool has(const TracedPoint& point) const {
    return std::any_of(points.begin(), points.end(), [&](const TracedPoint& one) { return one.trace == point.trace; });
  }
  std::string_view how() const { return is_predicted ? "by prediction " : ""; }
};

constexpr std::string_view kNoEvidence =
    "none, because no point has traced steps that can be relied on; run it again on a quieter machine.";

// Marks an answer from a disturbed trace.
std::string doubt_note(const TracedPoint& point) {
  const std::string doubt = trace_doubt(point);
  return doubt.empty() ? "" : fmt::format(" (rough: {})", doubt);
}

// The kernels that take most time of some launches: "matmul:blocks with 41 % of the step (calls: 96)".
std::string top_kernels(const StepTrace& trace, int64_t top, const LaunchTest& test) {
  const Grid grid = view_tables(trace, {.view = ProfileView::kKernels, .top = top, .test = test}).front();
  const auto column = [&](std::string_view key) {
    return static_cast<size_t>(
        std::find_if(grid.columns.begin(), grid.columns.end(), [&](const auto& one) { return one.key == key; }) -
        grid.columns.begin());
  };
  std::vector<std::string> parts;
  for (const std::vector<Json>& row : grid.rows) {
    parts.push_back(fmt::format("{} with {} of the {} (calls: {})", row[column("kernel")].get<std::string>(),
                                percent_text(row[column("time_share")].get<double>()), pass_of(trace),
                                row[column("instances")].dump()));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

// The class of work of launches that takes most time, with its share of the pass; empty without such launches.
std::pair<std::string, double> top_class(const StepTrace& trace, const LaunchTest& test) {
  std::pair<std::string, double> top;
  const double step = totals_of(trace).step;
  for (const LaunchSum& sum : sum_launches(trace, class_of, test)) {
    if (step > 0 && sum.total / step > top.second) top = {sum.key, sum.total / step};
  }
  return top;
}

// What most points spend their time in: "matmul takes most time at all 8 points whose traced steps can be relied on, 41
// % to 62 % of it".
std::string usual_class(const PageView& view, const LaunchTest& test, std::string_view where) {
  const Evidence evidence(view);
  std::map<std::string, std::vector<double>> shares;
  size_t all = 0;
  for (const TracedPoint& point : evidence.points) {
    const auto [work_class, share] = top_class(*point.trace, test);
    if (work_class.empty()) continue;
    ++all;
    shares[work_class].push_back(share);
  }
  if (all == 0) return std::string(kNoEvidence);
  const auto usual = std::max_element(shares.begin(), shares.end(),
                                      [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  return fmt::format("{}{} takes most time{} at {} points{}, {} of all time.", evidence.how(), usual->first, where,
                     how_many(usual->second.size(), all),
                     evidence.is_predicted ? "" : " whose traced steps can be relied on",
                     range_text(usual->second, percent_text));
}

double share_of_class(const StepTrace& trace, std::string_view work_class) {
  double seconds = 0;
  for (const LaunchSum& sum : sum_launches(trace, class_of)) seconds += sum.key == work_class ? sum.total : 0;
  const double step = totals_of(trace).step;
  return step > 0 ? seconds / step : 0;
}

// What follows from how much a share changes, in fractions, with `doubtful` lines that are not counted.
std::string change_of_share(const std::vector<double>& changes, size_t doubtful, std::string_view how) {
  const auto falls =
      static_cast<size_t>(std::count_if(changes.begin(), changes.end(), [](double by) { return by < 0; }));
  const bool is_mixed = falls > 0 && falls < changes.size();
  const auto points_text = [&](double by) {
    return is_mixed ? fmt::format("{:+.0f}", 100 * by) : fmt::format("{:.0f}", 100 * std::abs(by));
  };
  return fmt::format("{}the share {} from the first pass to the last, by {} percentage points{}.", how,
                     is_mixed    ? "falls for some points and rises for others"
                     : falls > 0 ? "falls"
                                 : "rises",
                     range_text(changes, points_text),
                     doubtful == 0 ? ""
                                   : fmt::format("; {} with a trace that cannot be relied on {} not counted",
                                                 counted(doubtful, "line"), doubtful == 1 ? "is" : "are"));
}

}  // namespace

Answers top_kernel(const PageView& view) {
  Answers answers;
  const LaunchTest is_forward = [](const TraceLaunch& launch) { return launch.phase == "forward"; };
  const LaunchTest is_not_optimizer = [](const TraceLaunch& launch) { return launch.phase != "optimizer"; };
  for (const TracedPoint& point : view.profiled()) {
    if (answers.is_full()) break;
    const std::string forward = top_kernels(*point.trace, 1, is_forward);
    const std::string both = top_kernels(*point.trace, 1, is_not_optimizer);
    if (forward.empty()) continue;
    answers.add(
        fmt::format("{}: in forward {}; in forward and backward {}{}.", point.name, forward, both, doubt_note(point)));
    const PointReport report = profile_report(*point.record, *point.trace, {.view = ProfileView::kKernels, .top = 1});
    if (answers.lines.size() == 1 && report.lines.size() > 1)
      answers.add(fmt::format("What the mark after each launch (one run of a kernel) costs: {}.", report.lines[1]));
  }
  answers.conclusion = usual_class(view, is_not_optimizer, " in forward and backward");
  return answers;
}

Answers other_kernels(const PageView& view) {
  Answers answers;
  const LaunchTest is_other = [](const TraceLaunch& launch) {
    return launch.phase == "forward" && launch.work_class != kProductClass;
  };
  for (const TracedPoint& point : view.profiled()) {
    if (answers.is_full()) break;
    const std::string text = top_kernels(*point.trace, 3, is_other);
    if (!text.empty()) answers.add(fmt::format("{}: {}{}.", point.name, text, doubt_note(point)));
  }
  answers.conclusion = usual_class(view, is_other, " in forward beside matrix products");
  return answers;
}

Answers product_share(const PageView& view) {
  Answers answers;
  const Evidence evidence(view);
  std::vector<TracedPoint> points = view.profiled();
  std::stable_sort(points.begin(), points.end(), [](const TracedPoint& a, const TracedPoint& b) {
    return rank_of_pass(*a.record) < rank_of_pass(*b.record);
  });
  std::map<std::string, std::vector<TracedPoint>> lines;  // by all that is not the pass
  std::vector<std::string> order;
  for (const TracedPoint& point : points) {
    const std::string rest = rest_of_config(*point.record, "pass");
    if (!lines.contains(rest)) order.push_back(rest);
    lines[rest].push_back(point);
  }
  std::vector<double> changes;  // of the share from the first pass to the last, where both traces can be relied on
  size_t doubtful = 0;
  for (const std::string& rest : order) {
    const std::vector<TracedPoint>& passes = lines[rest];
    if (passes.size() < 2) continue;
    std::vector<std::string> parts;
    for (const TracedPoint& point : passes) {
      const double share = share_of_class(*point.trace, kProductClass);
      parts.push_back(
          fmt::format("{} {}{}", point.record->config.text("pass"), percent_text(share), doubt_note(point)));
    }
    if (std::all_of(passes.begin(), passes.end(), [&](const TracedPoint& point) { return evidence.has(point); })) {
      changes.push_back(share_of_class(*passes.back().trace, kProductClass) -
                        share_of_class(*passes.front().trace, kProductClass));
    } else {
      ++doubtful;
    }
    std::string name = passes.front().name;
    if (const std::string pass = passes.front().record->config.text("pass") + " "; name.starts_with(pass))
      name.erase(0, pass.size());
    if (!answers.is_full()) answers.add(fmt::format("{}: {}.", name, fmt::join(parts, ", ")));
  }
  answers.conclusion = changes.empty() ? "none, because in each line a pass has a trace that cannot be relied on."
                                       : change_of_share(changes, doubtful, evidence.how());
  return answers;
}

Answers softmax(const PageView& view) {
  Answers answers;
  const Evidence evidence(view);
  std::vector<double> times;  // of softmax, over those of the products
  std::vector<double> flops;
  for (const TracedPoint& point : view.profiled()) {
    const std::optional<SoftmaxAndProducts> both = softmax_and_products(*point.trace);
    if (!both) continue;
    if (!answers.is_full())
      answers.add(fmt::format("{}: {}{}.", point.name, softmax_against_products(*point.trace), doubt_note(point)));
    if (!evidence.has(point)) continue;
    times.push_back(both->time_ratio());
    flops.push_back(both->flops_ratio());
  }
  const auto two_digits = [](double ratio) { return fmt::format("{:.2g}", ratio); };
  answers.conclusion =
      times.empty() ? std::string(kNoEvidence)
                    : fmt::format("{}softmax takes {} times as long as the two products, for {} of their FLOPs.",
                                  evidence.how(), range_text(times, two_digits), range_text(flops, percent_text));
  return answers;
}

Answers gain_of_compile(const PageView& view) {
  Answers answers;
  const Evidence evidence(view);
  const std::vector<TracedPoint> points = view.profiled();
  std::map<std::string, size_t> most_saved;  // how often a part saves most
  size_t pairs = 0;
  size_t doubtful = 0;
  size_t saving = 0;
  for (const auto& [eager, compiled] : eager_and_compile(points)) {
    const std::vector<Grid> grids = compare_profiles({"eager", eager.trace}, {"compile", compiled.trace});
    const auto& rows = grids.front().rows;
    const double saved = rows.back()[3].get<double>();
    const Json& speedup_low = rows.back()[6];
    const bool is_doubtful = !evidence.has(eager) || !evidence.has(compiled);
    std::vector<std::string> parts;
    for (size_t i = 0; i + 2 < rows.size() && i < 3 && rows[i][3].is_number(); ++i)
      parts.push_back(fmt::format("{} {}", rows[i][0].get<std::string>(), format_seconds(rows[i][3].get<double>())));
    ++pairs;
    doubtful += is_doubtful ? 1U : 0U;
    if (!is_doubtful && (speedup_low.is_number() ? speedup_low.get<double>() > 1 : saved > 0)) {
      ++saving;
      ++most_saved[rows[0][0].get<std::string>()];
    }
    if (answers.is_full()) continue;
    const std::string rough = is_doubtful ? " (rough: a trace cannot be relied on)" : "";
    answers.add(saved > 0 ? fmt::format("{}: {} less than eager; most in {}{}.", compiled.name, format_seconds(saved),
                                        fmt::join(parts, ", "), rough)
                          : fmt::format("{}: nothing; it takes {} more than eager{}.", compiled.name,
                                        format_seconds(-saved), rough));
  }
  if (pairs == doubtful) {
    answers.conclusion = "none, because in each pair a side has a trace that cannot be relied on.";
    return answers;
  }
  answers.conclusion =
      fmt::format("{}compile mode saves time in {} pairs", evidence.how(), how_many(saving, pairs - doubtful));
  const auto most = std::max_element(most_saved.begin(), most_saved.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != most_saved.end()) answers.conclusion += fmt::format(", mostly in {}", most->first);
  if (doubtful > 0)
    answers.conclusion += fmt::format("; {} {} rough", counted(doubtful, "pair"), doubtful == 1 ? "is" : "are");
  answers.conclusion += ".";
  return answers;
}

Answers casts(const PageView& view) {
  Answers answers;
  const Evidence evidence(view);
  std::vector<double> shares;
  for (const TracedPoint& point : view.profiled()) {
    if (point.record->config.text(kNumberType) == "float32") continue;
    const double share = share_of_class(*point.trace, kCastClass);
    if (evidence.has(point)) shares.push_back(share);
    if (answers.is_full()) continue;
    answers.add(fmt::format("{}: casts take {} of the {}, matrix products {}{}.", point.name, percent_text(share),
                            pass_of(*point.trace), percent_text(share_of_class(*point.trace, kProductClass)),
                            doubt_note(point)));
  }
  std::vector<std::string> conclusions;
  if (!shares.empty())
    conclusions.push_back(fmt::format("{}casts take {} of the time", evidence.how(), range_text(shares, percent_text)));
  for (const OptionGains& option : view.gains()) {
    if (option.option == kNumberType) conclusions.push_back(option.conclusion());
  }
  answers.conclusion = conclusions.empty()
                           ? "none, because the page has no pair of float32 and another number type, and no trace that "
                             "can be relied on."
                           : fmt::format("{}.", fmt::join(conclusions, "; "));
  return answers;
}

}  // namespace laptime
