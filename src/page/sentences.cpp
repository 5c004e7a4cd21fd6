// Turns the facts of a page into sentences.
#include "page/sentences.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>

#include "analysis/memory_findings.h"
#include "analysis/plan_findings.h"
#include "analysis/speedup.h"
#include "analysis/trace_findings.h"
#include "base/json.h"
#include "base/json_path.h"
#include "base/words.h"
#include "report/columns.h"
#include "report/names.h"
#include "report/point_text.h"
#include "report/words.h"
#include "table/value_text.h"

namespace laptime {
namespace {

constexpr std::array<std::string_view, 3> kPhases{"forward", "backward", "optimizer"};

// "small GPT, 2 layers" for "small, 2 layers".
std::string model_in_words(const Record& record) {
  std::string text = model_text(record);
  if (text.empty() || text == "null") return "an unknown model";
  if (text == "attention") return "attention only";
  return text.insert(std::min(text.find(','), text.size()), " GPT");
}

std::string pass_words(const std::string& pass) {
  if (pass == "step") return "one training step";
  if (pass == "forward") return "one forward pass";
  if (pass == "backward") return "one backward pass";
  if (pass == "forward_backward") return "forward and backward";
  return pass == "inference" ? "inference" : pass;
}

// The distinct strings that `text` returns for the points, in the order of the points.
template <class Text>
std::vector<std::string> distinct(const PagePoints& points, const Text& text) {
  std::vector<std::string> texts;
  for (const PagePoint& point : points.all) {
    std::string one = text(*point.record);
    if (!one.empty() && !is_among(one, texts)) texts.push_back(std::move(one));
  }
  return texts;
}

// The context of a point, if the page has several groups and contexts: " at context 128"; otherwise empty.
std::string place_of(const PagePoints& points, const PagePoint& point) {
  const bool varies = points.groups.size() > 1 && find_in(points.axes, "ctx", &PageAxis::key) != nullptr;
  const std::string* const context = at_key(point.values, "ctx");
  return varies && context != nullptr ? " at context " + *context : "";
}

// ", most in the optimizer, which takes 257 ms less": the phase with the largest saving, which exceeds that of the step
// if another phase takes longer. Empty if no phase saves time, if phases were not timed, and for the pass `backward`,
// whose time does not include the forward before it.
std::string most_saved(const PagePoint& from, const PagePoint& to) {
  if (from.record->config.text("pass") == "backward") return "";
  std::string_view most;
  double saved = 0;
  for (const std::string_view phase : kPhases) {
    const TimeStats* const before = time_of(*from.record, phase);
    const TimeStats* const after = time_of(*to.record, phase);
    if (before == nullptr || after == nullptr || after == to.time()) continue;
    if (before->median - after->median > saved) {
      saved = before->median - after->median;
      most = phase;
    }
  }
  if (most.empty()) return "";
  return fmt::format(", most in {}{}, which takes {} less", most == "optimizer" ? "the " : "", most,
                     brief_seconds(saved));
}

// Whether a group's two fastest points may be equally fast: the interval of their ratio includes 1.
bool is_tie(const PagePoints& points, const PageGroup& group) {
  if (!group.second) return false;
  const auto ratio = speedup_of(*points[*group.second].record, *points[*group.fastest].record);
  return ratio && ratio->interval.low <= 1;
}

std::string capitalized(std::string text) {
  if (!text.empty() && text.front() >= 'a' && text.front() <= 'z')
    text.front() = static_cast<char>(text.front() - 'a' + 'A');
  return text;
}

// The classes' shares of a point's time, largest first, and the slowest kernel.
std::vector<Finding> findings_of(const TraceSums& sums) {
  std::vector<Finding> findings;
  add(findings, "pass_time", pass_of(*sums.point->trace), {{"total_s", sums.step}});
  for (const LaunchSum& sum : sums.classes)
    add(findings, "class_share", sum.key, {{"total_s", sum.total}, {"share", sum.total / sums.step}});
  const auto longest = std::ranges::max_element(sums.kernels, {}, &LaunchSum::total);
  if (longest != sums.kernels.end()) {
    add(findings, "top_kernel", std::string(longest->first.phase),
        {{"kernel", longest->key}, {"share", longest->total / sums.step}, {"calls", longest->calls}});
  }
  return findings;
}

}  // namespace

std::string page_title(const PagePoints& points) {
  const std::vector<std::string> models = distinct(points, [](const Record& record) { return model_in_words(record); });
  std::vector<std::string> shared{models.size() == 1 ? models.front() : counted(models.size(), "model")};
  for (const auto& [key, word] : {std::pair("context_length", "context"), std::pair("batch_size", "batch")}) {
    const auto values = distinct(points, [key = key](const Record& record) { return record.config.text(key); });
    if (values.size() == 1) shared.push_back(fmt::format("{} {}", word, values.front()));
  }
  const auto passes = distinct(points, [](const Record& record) { return pass_words(record.config.text("pass")); });
  const auto threads = distinct(points, [](const Record& record) {
    return is_predicted(record) ? std::string() : record.config.text("threads");
  });
  const auto ranks = distinct(points, [](const Record& record) {
    return number_at(record.config, "ranks").value_or(1) > 1 ? record.config.text("ranks") + " ranks" : "1 rank";
  });
  const bool all_predicted =
      std::ranges::all_of(points.all, [](const PagePoint& point) { return is_predicted(*point.record); });
  const auto machines = distinct(points, [&](const Record& record) {
    return brief_processor(all_predicted ? machine_of(record) : marked_machine_of(record));
  });
  std::string where = machines.size() > 3 ? counted(machines.size(), "machine") : joined(machines, ", ");
  if (threads.size() == 1 && machines.size() == 1)
    where += fmt::format(", {} {}", threads.front(), threads.front() == "1" ? "thread" : "threads");
  if (ranks.size() == 1 && ranks.front() != "1 rank") where = joined_nonempty({where, ranks.front()}, ", ");
  return fmt::format("{}: {}{}{}", joined(shared, ", "), joined(passes, " and "),
                     all_predicted   ? ", predicted for "
                     : where.empty() ? ""
                                     : " on ",
                     where);
}

std::string page_headline(const PagePoints& points) {
  const PagePoint& point = points[points.headline];
  const PageGroup& group = points.group_of(point);
  if (!group.fastest) return "No point completed; see the table.";
  const std::string place = group.is_one_work ? place_of(points, point) : "";
  const PagePoint& fast = points[*group.fastest];
  const std::string time = brief_seconds(fast.time()->median);
  const std::optional<double> error = uncertainty_of(*fast.record);
  const std::string pass = capitalized(pass_words(fast.record->config.text("pass")));
  if (!group.second)
    return fmt::format("{}{}: {}{}", pass, place, time, error ? fmt::format(" ({})", plus_minus_text(*error)) : "");
  if (!group.is_one_work) {
    const auto slow = std::ranges::max_element(group.points, {}, [&](size_t i) {
      const bool counts = is_predicted(*points[i].record) == is_predicted(*fast.record);
      return counts && points[i].time() != nullptr ? points[i].time()->median : 0;
    });
    return fmt::format("{}: {} ({}) to {} ({})", pass, time, fast.name, brief_seconds(points[*slow].time()->median),
                       points[*slow].name);
  }
  const PagePoint& second = points[*group.second];
  if (is_tie(points, group)) {
    std::string text = fmt::format("{} and {} are the fastest{}: {} and {}, no measurable difference", fast.name,
                                   second.name, place, time, brief_seconds(second.time()->median));
    if (const auto ratio = points.against_base(fast); ratio && *group.base != *group.second)
      text += fmt::format("; {} {}", speedup_text(ratio), points[*group.base].name);
    return text;
  }
  std::string first = fmt::format("{} is fastest{}: {}", fast.name, place, time);
  if (const auto ratio = points.against_base(fast)) {
    const std::string text = speedup_text(ratio);
    const size_t space = text.find(' ');
    return fmt::format("{}, {} {}{}", first, text.substr(0, space), points[*group.base].name,
                       space == std::string::npos ? "" : text.substr(space));
  }
  if (const auto ratio = speedup_of(*second.record, *fast.record))
    return fmt::format("{}, {} as fast as {}", first, speedup_text(ratio), second.name);
  return first;
}

std::string time_sentence(const PagePoints& points, const PagePoint& point) {
  const PageGroup& group = points.group_of(point);
  if (point.time() == nullptr) return joined_nonempty({point.full_name, point.record->reason}, ": ") + ".";
  if (!group.is_one_work || !group.base || !group.second) return "";
  const bool is_base = &points[*group.base] == &point;
  const PagePoint& from = points[*group.base];
  const PagePoint& to = is_base ? points[*group.fastest] : point;
  if (&from == &to) return fmt::format("{} is already the fastest here.", point.name);
  if (is_predicted(*from.record) != is_predicted(*to.record)) return "";
  const double saved = from.time()->median - to.time()->median;
  if (saved < 0) {
    return fmt::format("{} takes {} longer than {} ({}).", to.name, brief_seconds(-saved), from.name,
                       brief_seconds(from.time()->median));
  }
  return fmt::format("{} {} {} of the {} of {}{}.", to.name, is_base ? "would save" : "saves", brief_seconds(saved),
                     brief_seconds(from.time()->median), from.name, most_saved(from, to));
}

std::string training_sentence(const PagePoints& points, const PagePoint& point) {
  if (point.time() == nullptr) return "";
  const std::optional<Finding> training = training_time(*point.record, points.budget);
  return training ? words(*training) + "." : "";
}

std::string trust_sentence(const PagePoint& point) {
  const Record& record = *point.record;
  if (point.time() == nullptr) return "This point has no samples.";
  if (is_predicted(record)) return "This time is predicted, not measured.";
  const std::optional<double> error = uncertainty_of(record);
  if (!error) return "A single sample does not show how much the time varies.";
  std::string text =
      fmt::format("The median of {} is known to {}", counted(point.time()->count, "sample"), plus_minus_text(*error));
  if (record.transient.excess.value_or(0) > 0) text += "; " + first_steps_text(record);
  return text + ".";
}

std::vector<NamedBytes> peak_parts(const Record& record, const TraceSums* sums) {
  constexpr std::string_view kGaps = "alignment and gaps";
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kRoles{{{"parameter", "parameters"},
                                                                                 {"gradient", "gradients"},
                                                                                 {"activation", "activations"},
                                                                                 {"input", "inputs and constants"},
                                                                                 {"constant", "inputs and constants"},
                                                                                 {"gaps", kGaps},
                                                                                 {"rounding", kGaps}}};
  std::vector<NamedBytes> parts;
  const auto add = [&](std::string_view name, int64_t bytes) {
    if (bytes <= 0) return;
    auto found = std::ranges::find(parts, name, &NamedBytes::first);
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
    const auto found = std::ranges::find(kRoles, role, &decltype(kRoles)::value_type::first);
    add(spaced(found == kRoles.end() ? std::string_view(role) : found->second), bytes);
  }
  return parts;
}

std::optional<int64_t> peak_bytes(const Record& record, const TraceSums* sums) {
  if (sums != nullptr) return sums->ledger.planned();
  return record.memory.predicted_peak_bytes ? record.memory.predicted_peak_bytes : record.memory.peak_bytes;
}

std::string memory_sentence(const PagePoint& point, const TraceSums* sums) {
  const std::optional<int64_t> bytes = peak_bytes(*point.record, sums);
  if (!bytes) return "";
  std::string text =
      fmt::format("{} at the peak{}", brief_bytes(*bytes), point.record->memory.peak_bytes ? "" : " (predicted)");
  std::vector<Finding> findings;
  if (sums != nullptr) {
    findings = memory_findings(*point.record, *point.trace);
    text = words_of(findings, "memory_peak");
  } else {
    auto parts = peak_parts(*point.record, sums);
    std::ranges::stable_sort(parts, std::greater(), &NamedBytes::second);
    for (const auto& [name, held] : parts)
      findings.push_back({.kind = "memory_share", .subject = name, .values = Json{{"bytes", held}}});
  }
  return joined_nonempty({text, joined(memory_shares(findings, 4), ", ")}, ": ") + ".";
}

std::string work_sentence(const TraceSums& sums) {
  if (sums.step <= 0) return "";
  const std::vector<Finding> findings = findings_of(sums);
  return joined_nonempty({profile_headline(findings), words_of(findings, "top_kernel")}, "; ") + ".";
}

std::string bound_sentence(const TraceSums& sums) {
  const std::optional<PassBound> bound = bound_of_pass(*sums.point->trace);
  if (!bound || sums.step <= 0) return "";
  const auto gap = [](const LaunchSum& kernel) { return kernel.floor > 0 ? kernel.total - kernel.floor : 0; };
  const auto worst = std::ranges::max_element(sums.kernels, {}, gap);
  std::string text = words({.kind = "pass_bound",
                            .subject = pass_of(*sums.point->trace),
                            .values = Json{{"arithmetic_s", bound->arithmetic},
                                           {"memory_s", bound->memory},
                                           {"of_bound", bound->seconds() / sums.step}}});
  if (worst != sums.kernels.end() && gap(*worst) > 0)
    text += fmt::format("; {} in {} exceeds its bound the most, by {}", worst->key, worst->first.phase,
                        brief_seconds(gap(*worst)));
  return capitalized(text) + ".";
}

}  // namespace laptime
