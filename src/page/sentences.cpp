// Words for the facts of a page.
#include "page/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/memory_findings.h"
#include "analysis/speedup.h"
#include "analysis/trace_findings.h"
#include "base/json.h"
#include "base/units.h"
#include "base/words.h"
#include "record/metrics.h"
#include "record/time_stats.h"
#include "report/model_name.h"
#include "report/phrases.h"
#include "table/value_text.h"

namespace laptime {
namespace {

constexpr double kWellKnown = 0.05;  // a median known to that needs no word of doubt
constexpr std::array<std::string_view, 3> kPhases{"forward", "backward", "optimizer"};

// "AMD EPYC 9B14" for "AMD EPYC 9B14 96-Core Processor".
std::string brief_machine(std::string name) {
  for (const std::string_view word : {"(R)", "(TM)", " Processor", " CPU"}) {
    if (const size_t at = name.find(word); at != std::string::npos) name.erase(at, word.size());
  }
  if (const size_t at = name.find(" @ "); at != std::string::npos) name.resize(at);
  if (const size_t core = name.find("-Core"); core != std::string::npos) {
    if (const size_t space = name.rfind(' ', core); space != std::string::npos) name.resize(space);
  }
  return name;
}

// "small GPT, 2 layers" for "small, 2 layers".
std::string model_in_words(const Record& record) {
  std::string text = model_text(record);
  if (text.empty() || text == "null") return "a model that is not known";
  if (text == "attention") return "attention alone";
  return text.insert(std::min(text.find(','), text.size()), " GPT");
}

std::string pass_words(const std::string& pass) {
  if (pass == "step") return "one training step";
  if (pass == "forward") return "one forward pass";
  if (pass == "backward") return "one backward pass";
  if (pass == "forward_backward") return "forward and backward";
  return pass == "inference" ? "inference" : pass;
}

// The distinct texts of all points, in their order.
template <class Text>
std::vector<std::string> distinct(const PagePoints& points, const Text& text) {
  std::vector<std::string> texts;
  for (const PagePoint& point : points.all()) {
    std::string one = text(*point.record);
    if (!one.empty() && std::find(texts.begin(), texts.end(), one) == texts.end()) texts.push_back(std::move(one));
  }
  return texts;
}

// Names the work of a point if the page has several works: " at context 128".
std::string place_of(const PagePoints& points, const PagePoint& point) {
  if (points.groups().size() < 2) return "";
  for (const PageAxis& axis : points.axes()) {
    const auto value = point.values.find(axis.key);
    if (axis.key == "ctx" && value != point.values.end()) return " at context " + value->second;
  }
  return "";
}

const TimeStats* phase_time(const PagePoint& point, std::string_view phase) {
  const auto found = point.record->time.find(std::string(phase));
  return found == point.record->time.end() || found->second.count == 0 ? nullptr : &found->second;
}

// ", 257 ms of them in the optimizer": the phase in which most is saved. Empty where the phases were not timed.
std::string most_saved(const PagePoint& from, const PagePoint& to) {
  std::string_view most;
  double saved = 0;
  for (const std::string_view phase : kPhases) {
    const TimeStats* const before = phase_time(from, phase);
    const TimeStats* const after = phase_time(to, phase);
    if (before == nullptr || after == nullptr || after == to.time()) continue;
    if (before->median - after->median > saved) {
      saved = before->median - after->median;
      most = phase;
    }
  }
  if (most.empty()) return "";
  return fmt::format(", {} of them in {}{}", brief_seconds(saved), most == "optimizer" ? "the " : "", most);
}

// How the peak grows over the contexts of points that are alike in all else; empty without two traces.
std::string growth_text(const PagePoints& points, const PagePoint& point) {
  const auto context_of = [](const PagePoint& one) {
    const Json& config = one.record->config.json();
    const auto found = config.find("context_length");
    return found != nullptr && found->is_number_integer() ? found->get<int64_t>() : 0;
  };
  const PagePoint* shortest = nullptr;
  const PagePoint* longest = nullptr;
  for (const PagePoint& one : points.all()) {
    auto values = one.values;
    values["ctx"] = point.values.contains("ctx") ? point.values.at("ctx") : "";
    if (one.trace == nullptr || context_of(one) <= 0 || values != point.values) continue;
    if (shortest == nullptr || context_of(one) < context_of(*shortest)) shortest = &one;
    if (longest == nullptr || context_of(one) > context_of(*longest)) longest = &one;
  }
  if (shortest == longest) return "";
  const Finding growth = memory_growth_finding(point.full_name, *shortest->trace, context_of(*shortest),
                                               *longest->trace, context_of(*longest));
  std::string text =
      fmt::format(" From context {} to {} it grows from {} to {}", context_of(*shortest), context_of(*longest),
                  format_bytes(growth.integer("from_bytes")), format_bytes(growth.integer("to_bytes")));
  if (growth.integer("square_bytes") > 0) {
    text += fmt::format(", {} of that with the square of the context, most of it written by {}",
                        whole_percent_text(growth.number("square_bytes") / growth.number("to_bytes")),
                        growth.text("square_op"));
  }
  return text + ".";
}

// Whether no sample interval tells the two fastest points of a group apart.
bool is_tie(const PagePoints& points, const PageGroup& group) {
  if (!group.second) return false;
  const std::optional<TimeRatio> ratio = points.times_as_fast(points[*group.fastest], points[*group.second]);
  return ratio && (ratio->interval ? ratio->interval->low <= 1 : ratio->value <= 1);
}

std::string capitalized(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

std::string error_text(const std::optional<double>& error) {
  return error ? fmt::format(" (±{})", *error > 1 ? "over 100 %" : whole_percent_text(std::max(0.01, *error))) : "";
}

// "45 % optimizer state, 22 % parameters, ...": at most `most` shares of a total, none below 2 %.
std::string shares_text(std::vector<std::pair<std::string, double>> shares, double total, size_t most) {
  std::stable_sort(shares.begin(), shares.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> parts;
  for (const auto& [name, value] : shares) {
    if (parts.size() == most || total <= 0 || value < 0.02 * total) break;
    parts.push_back(fmt::format("{} {}", name, whole_percent_text(value / total)));
  }
  return joined(parts, ", ");
}

}  // namespace

std::string ratio_text(const TimeRatio& ratio) {
  // Digits that the interval does not support are noise.
  const bool is_sharp = !ratio.interval || ratio.interval->high - ratio.interval->low < 0.1 * ratio.value;
  const auto digits = [&](double value) {
    return fixed_text(value, value >= 99.5 ? 0 : value >= 9.95 || !is_sharp ? 1 : 2);
  };
  if (!ratio.interval) return digits(ratio.value) + "x";
  return fmt::format("{}x ({}-{})", digits(ratio.value), digits(ratio.interval->low), digits(ratio.interval->high));
}

std::optional<double> error_of(const Record& record, const TimeStats& time) {
  return is_predicted(record) ? std::nullopt : uncertainty_of(time);
}

std::string page_title(const PagePoints& points) {
  const std::vector<std::string> models = distinct(points, [](const Record& record) { return model_in_words(record); });
  std::vector<std::string> shared{models.size() == 1 ? models.front() : counted(models.size(), "model")};
  for (const auto& [key, word] : {std::pair("context_length", "context"), std::pair("batch_size", "batch")}) {
    const auto values = distinct(points, [key = key](const Record& record) { return record.config.text(key); });
    if (values.size() == 1) shared.push_back(fmt::format("{} {}", word, values.front()));
  }
  const auto passes = distinct(points, [](const Record& record) { return pass_words(record.config.text("pass")); });
  const auto machines = distinct(points, [](const Record& record) { return brief_machine(machine_of(record)); });
  const auto threads = distinct(points, [](const Record& record) {
    return is_predicted(record) ? std::string() : record.config.text("threads");
  });
  const bool all_predicted = std::all_of(points.all().begin(), points.all().end(),
                                         [](const PagePoint& point) { return is_predicted(*point.record); });
  std::string where = machines.size() > 3 ? counted(machines.size(), "machine") : joined(machines, ", ");
  if (threads.size() == 1 && machines.size() == 1)
    where += fmt::format(", {} {}", threads.front(), threads.front() == "1" ? "thread" : "threads");
  return fmt::format("{}: {}{}{}", joined(shared, ", "), joined(passes, " and "),
                     all_predicted   ? ", predicted for "
                     : where.empty() ? ""
                                     : " on ",
                     where);
}

std::string page_headline(const PagePoints& points) {
  const PagePoint& point = points[points.headline()];
  const PageGroup& group = points.group_of(point);
  if (!group.fastest) return "No point has a time: the table says why.";
  const std::string place = group.is_one_work ? place_of(points, point) : "";
  const PagePoint& fast = points[*group.fastest];
  const std::string time = brief_seconds(fast.time()->median);
  const std::string error = error_text(error_of(*fast.record, *fast.time()));
  const std::string pass = capitalized(pass_words(fast.record->config.text("pass")));
  if (!group.second) return fmt::format("{}{}: {}{}", pass, place, time, error);
  if (!group.is_one_work) {
    const auto slow = std::max_element(group.points.begin(), group.points.end(), [&](size_t a, size_t b) {
      const auto median = [&](size_t i) { return points[i].time() == nullptr ? 0 : points[i].time()->median; };
      return median(a) < median(b);
    });
    return fmt::format("{}: {} ({}) to {} ({})", pass, time, fast.name, brief_seconds(points[*slow].time()->median),
                       points[*slow].name);
  }
  const PagePoint& second = points[*group.second];
  if (is_tie(points, group)) {
    std::string text = fmt::format("{} and {} are the fastest{}: {} and {}, no difference seen", fast.name, second.name,
                                   place, time, brief_seconds(second.time()->median));
    if (const auto ratio = points.against_base(fast); ratio && *group.base != *group.second)
      text += fmt::format("; {} {}", ratio_text(*ratio), points[*group.base].name);
    return text;
  }
  std::string first = fmt::format("{} is fastest{}: {}", fast.name, place, time);
  if (const auto ratio = points.against_base(fast)) {
    const std::string text = ratio_text(*ratio);
    const size_t space = text.find(' ');
    return fmt::format("{}, {} {}{}", first, text.substr(0, space), points[*group.base].name,
                       space == std::string::npos ? "" : text.substr(space));
  }
  if (const auto ratio = points.times_as_fast(fast, second))
    return fmt::format("{}, {} as fast as {}", first, ratio_text(*ratio), second.name);
  return first;
}

std::string page_doubt(const PagePoints& points) {
  double least = INFINITY;
  double most = 0;
  bool was_busy = false;
  size_t predicted = 0;
  size_t timed = 0;
  for (const PagePoint& point : points.all()) {
    if (point.time() == nullptr) continue;
    ++timed;
    if (is_predicted(*point.record)) ++predicted;
    const std::optional<Trust> trust = trust_of(*point.record);
    was_busy = was_busy || (trust && trust->is_busy);
    const std::optional<double> error = error_of(*point.record, *point.time());
    if (!error) continue;
    least = std::min(least, *error);
    most = std::max(most, *error);
  }
  if (timed > 0 && predicted == timed) return "predicted from a data sheet: a bound, real machines take longer";
  if (timed > 0 && most == 0 && least > most) return "one sample of each point: nothing says how far times vary";
  if (!was_busy && most <= kWellKnown) return "";
  const std::string worst = most > 1 ? "over 100 %" : whole_percent_text(most);
  const std::string range = std::round(100 * least) == std::round(100 * most)
                                ? fmt::format("±{}", worst)
                                : fmt::format("±{:.0f} to {}", std::max(1.0, 100 * least), worst);
  return fmt::format("{}: times known to {}; trust ratios by their intervals",
                     was_busy ? "the machine was busy" : "few or unsteady samples", range);
}

std::string time_sentence(const PagePoints& points, const PagePoint& point) {
  const PageGroup& group = points.group_of(point);
  if (point.time() == nullptr) return fmt::format("{}: {}.", point.full_name, point.record->reason);
  if (!group.is_one_work || !group.base || !group.second) return "";
  const bool is_base = &points[*group.base] == &point;
  const PagePoint& from = points[*group.base];
  const PagePoint& to = is_base ? points[*group.fastest] : point;
  if (&from == &to) return fmt::format("{} is already the fastest here.", point.name);
  const double saved = from.time()->median - to.time()->median;
  if (saved < 0) {
    return fmt::format("{} takes {} longer than {}, {}.", to.name, brief_seconds(-saved), from.name,
                       brief_seconds(from.time()->median));
  }
  return fmt::format("{} {} {} of the {} of {}{}.", to.name, is_base ? "would save" : "saves", brief_seconds(saved),
                     brief_seconds(from.time()->median), from.name, most_saved(from, to));
}

std::string trust_sentence(const PagePoint& point) {
  const Record& record = *point.record;
  if (point.time() == nullptr) return "This point has no samples.";
  if (is_predicted(record)) return "This is a prediction: nothing was sampled.";
  const std::optional<double> error = error_of(record, *point.time());
  if (!error) return "A single sample does not say how far the time varies.";
  std::string text = fmt::format("The median of {} is known to ±{}", counted(point.time()->count, "sample"),
                                 whole_percent_text(std::max(0.01, *error)));
  const Transient& first = record.transient;
  if (first.excess && *first.excess > 0 && first.steps.value_or(0) > 0) {
    text += fmt::format("; the first {} took {} longer{}",
                        *first.steps == 1 ? "step" : fmt::format("{} steps", *first.steps),
                        brief_seconds(*first.excess), *first.steps == 1 ? "" : " in all");
  }
  return text + ".";
}

std::vector<std::pair<std::string, int64_t>> peak_parts(const Record& record, const TraceSums* sums) {
  constexpr std::string_view kGaps = "alignment and gaps";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kRoles{{{"parameter", "parameters"},
                                                                                 {"gradient", "gradients"},
                                                                                 {"activation", "activations"},
                                                                                 {"input", "inputs and constants"},
                                                                                 {"constant", "inputs and constants"},
                                                                                 {"gaps", kGaps},
                                                                                 {"rounding", kGaps}}};
  std::vector<std::pair<std::string, int64_t>> parts;
  const auto add = [&](std::string_view name, int64_t bytes) {
    if (bytes <= 0) return;
    auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& one) { return one.first == name; });
    if (found == parts.end()) found = parts.insert(parts.end(), {std::string(name), 0});
    found->second += bytes;
  };
  if (sums != nullptr) {
    for (size_t i = 0; i < kMemoryCategoryCount; ++i)
      add(title_of(category_at(i)), sums->ledger.peak()[category_at(i)]);
    add(kGaps, sums->ledger.rounding());
    return parts;
  }
  for (const auto& [role, bytes] : record.memory.parts) {
    const auto found =
        std::find_if(kRoles.begin(), kRoles.end(), [&, &role = role](const auto& one) { return one.first == role; });
    std::string name(found == kRoles.end() ? std::string_view(role) : found->second);
    std::replace(name.begin(), name.end(), '_', ' ');
    add(name, bytes);
  }
  return parts;
}

std::optional<int64_t> peak_bytes(const Record& record, const TraceSums* sums) {
  if (sums != nullptr) return sums->ledger.planned();
  return record.memory.predicted_peak_bytes ? record.memory.predicted_peak_bytes : record.memory.peak_bytes;
}

std::string memory_sentence(const PagePoints& points, const PagePoint& point, const TraceSums* sums) {
  const std::optional<int64_t> bytes = peak_bytes(*point.record, sums);
  if (!bytes) return "";
  std::string where;
  if (sums != nullptr) {
    const StepTrace& trace = *point.trace;
    where = fmt::format(", in {}, at {}", trace.launch(sums->ledger.peak_launch()).phase,
                        launch_text(trace, sums->ledger.peak_launch()));
  }
  std::vector<std::pair<std::string, double>> parts;
  for (const auto& [name, held] : peak_parts(*point.record, sums)) parts.emplace_back(name, static_cast<double>(held));
  const std::string shares = shares_text(parts, static_cast<double>(*bytes), 4);
  return fmt::format("{} at the peak{}{}{}{}.{}", format_bytes(*bytes),
                     point.record->memory.peak_bytes ? "" : " by prediction", where, shares.empty() ? "" : ": ", shares,
                     growth_text(points, point));
}

std::string work_sentence(const TraceSums& sums) {
  if (sums.step <= 0) return "";
  std::vector<std::string> parts;
  double rest = sums.step;
  for (const auto& [name, seconds] : sums.classes()) {
    if (parts.size() == 3 || seconds < 0.05 * sums.step) break;
    parts.push_back(parts.empty()
                        ? fmt::format("{} takes {} of the time", name, whole_percent_text(seconds / sums.step))
                        : fmt::format("{} {}", name, whole_percent_text(seconds / sums.step)));
    rest -= seconds;
  }
  if (rest >= 0.005 * sums.step) parts.push_back(fmt::format("all else {}", whole_percent_text(rest / sums.step)));
  const auto longest = std::max_element(sums.kernels.begin(), sums.kernels.end(),
                                        [](const auto& a, const auto& b) { return a.seconds < b.seconds; });
  std::string text = joined(parts, ", ");
  if (longest != sums.kernels.end())
    text += fmt::format("; {} in {} is the longest, {} in {}", longest->kernel, longest->phase,
                        whole_percent_text(longest->seconds / sums.step), counted(longest->calls, "call"));
  return text + ".";
}

std::string bound_sentence(const TraceSums& sums) {
  const std::optional<PassBound> bound = bound_of_pass(*sums.point->trace);
  if (!bound || sums.step <= 0) return "";
  const double floor = bound->seconds();
  const auto gap = [](const KernelOfPhase& kernel) { return kernel.seconds - kernel.floor; };
  const auto worst = std::max_element(sums.kernels.begin(), sums.kernels.end(),
                                      [&](const auto& a, const auto& b) { return gap(a) < gap(b); });
  std::string text =
      fmt::format("At the peak and bandwidth of this machine the step would take {}: it runs at {} of that bound",
                  brief_seconds(floor), whole_percent_text(floor / sums.step));
  if (worst != sums.kernels.end() && gap(*worst) > 0)
    text += fmt::format("; {} in {} is farthest above its own, by {}", worst->kernel, worst->phase,
                        brief_seconds(gap(*worst)));
  return text + ".";
}

}  // namespace laptime
