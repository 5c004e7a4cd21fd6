// Plans points on several ranks, and formats the plans as lines and tables.
#include "cluster/parallel_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "analysis/plan_findings.h"
#include "base/error.h"
#include "base/units.h"
#include "base/words.h"
#include "config/label.h"
#include "report/words.h"
#include "table/value_text.h"

namespace laptime {
namespace {

constexpr double kHour = 3600;

std::string machine_name(const ParallelPlan& plan) { return plan.run.config.device.substr(kMachinePrefix.size()); }

double training_seconds(const ParallelPlan& plan, double tokens) {
  return training_steps(tokens, plan.run.tokens) * plan.time.step;
}

std::optional<double> cost(const ParallelPlan& plan, const ParallelQuery& query) {
  const auto price = query.prices.find(priced_name(plan.run.config.device));
  if (price == query.prices.end() || !plan.refusal.empty()) return std::nullopt;
  return training_seconds(plan, query.priced_tokens()) / kHour * price->second *
         static_cast<double>(plan.run.step.layout.ranks);
}

double exposed_share(const ParallelPlan& plan) {
  return (plan.time.exposed_tensor + plan.time.exposed_data) / plan.time.step;
}

std::string fit_words(const ParallelPlan& plan) {
  if (!plan.refusal.empty()) return plan.refusal;
  if (plan.fits()) return plan.run.recomputes_cheap_ops ? "yes, recompute: cheap ops" : "yes";
  const std::string excess = format_bytes(static_cast<int64_t>(plan.bytes.total() - plan.available));
  return fmt::format("{} too much", excess);
}

Table plan_table(const std::vector<ParallelPlan>& plans, const ParallelQuery& query) {
  const bool names_points = std::ranges::any_of(plans, [](const ParallelPlan& plan) { return !plan.point.empty(); });
  Table table{
      .name = "parallel",
      .columns = columns_from(
          std::string(names_points ? "<point=point; " : "") +
          "<device=device; ranks=ranks; <layout=layout; step_s=step; low_s; high_s; "
          "tokens_per_second=tokens/s; exposed_share=exposed@2; bubble_share=bubble@2; training_s=training" +
          std::string(query.tokens ? "" : "@1") + "; cost=cost" + (query.sort == ParallelSort::kCost ? "" : "@1") +
          "; peak_bytes=GPU; parameters_bytes=parameters@4; gradients_bytes=gradients@4; "
          "optimizer_bytes=optimizer@4; gathered_bytes=gathered@4; activations_bytes=activations@4; "
          "loss_bytes=loss@4; framework_bytes=framework@4; <fits=fits; <remedy")};
  const auto bytes = [](double number) { return Json(static_cast<int64_t>(number)); };
  for (const ParallelPlan& plan : plans) {
    std::vector<TableCell> cells;
    if (names_points) cells.emplace_back(plan.point);
    cells.insert(cells.end(), {machine_name(plan), plan.run.step.layout.ranks,
                               TableCell(Json(choice_of(plan).words()), choice_of(plan).brief())});
    if (plan.refusal.empty()) {
      const std::optional<double> price = cost(plan, query);
      const auto training = [&](double tokens) {
        const double seconds = training_seconds(plan, tokens);
        return TableCell(Json(seconds), long_time(seconds));
      };
      const std::vector<TableCell> values{plan.time.step,
                                          plan.low,
                                          plan.high,
                                          plan.tokens_per_second(),
                                          exposed_share(plan),
                                          plan.time.bubble / plan.time.step,
                                          query.tokens ? training(*query.tokens) : TableCell(),
                                          price ? TableCell(Json(*price), price_words(*price)) : TableCell(),
                                          bytes(plan.bytes.total()),
                                          bytes(plan.bytes.parameters),
                                          bytes(plan.bytes.gradients),
                                          bytes(plan.bytes.optimizer),
                                          bytes(plan.bytes.gathered),
                                          bytes(plan.bytes.activations),
                                          bytes(plan.bytes.loss),
                                          bytes(plan.bytes.framework)};
      cells.insert(cells.end(), values.begin(), values.end());
    } else {
      cells.resize(table.columns.size() - 2);
    }
    cells.emplace_back(Json(plan.fits() ? "yes" : fit_words(plan)), plan.fits() ? fit_words(plan) : "no");
    cells.push_back(plan.remedy.empty() ? TableCell() : TableCell(plan.remedy));
    if (!plan.fits()) {
      table.notes.push_back(fmt::format("{}{}{} {}, {}: {}{}", plan.point, plan.point.empty() ? "" : ": ",
                                        plan.run.step.layout.ranks, machine_name(plan), choice_of(plan).brief(),
                                        fit_words(plan), plan.remedy.empty() ? "" : "; fits with " + plan.remedy));
    }
    table.add(std::move(cells));
  }
  return table;
}

// For example "2.90 s per step (2.50 s to 3.40 s), 65,000 tokens/s, 381,470 steps, 13 days (11 days to 15 days), 385
// for 100B tokens". Without a number of tokens, steps and their time are left out.
std::string step_words(const ParallelPlan& plan, const ParallelQuery& query) {
  std::string words = fmt::format("{} per step", brief_seconds(plan.time.step));
  if (plan.low) words += fmt::format(" ({} to {})", brief_seconds(*plan.low), brief_seconds(*plan.high));
  words += fmt::format(", {} tokens/s", grouped_digits(fmt::format("{:.0f}", plan.tokens_per_second())));
  const std::optional<double> price = cost(plan, query);
  if (query.tokens) {
    const double steps = training_steps(*query.tokens, plan.run.tokens);
    words += fmt::format(", {} steps, {}", count_words(steps), long_time(steps * plan.time.step));
    if (plan.low) words += fmt::format(" ({} to {})", long_time(steps * *plan.low), long_time(steps * *plan.high));
  }
  if (price) words += fmt::format(", {}", price_words(*price));
  if (price || query.tokens) words += fmt::format(" for {} tokens", count_words(query.priced_tokens()));
  return words;
}

std::string place_words(const ParallelPlan& plan) {
  return fmt::format("{}{}{} {} {}", plan.point, plan.point.empty() ? "" : ": ", plan.run.step.layout.ranks,
                     machine_name(plan), choice_of(plan).words());
}

std::string best_words(const ParallelPlan& best, const ParallelQuery& query) {
  return fmt::format("{} that fits: {}: {}", query.sort == ParallelSort::kCost ? "cheapest" : "fastest",
                     place_words(best), step_words(best, query));
}

// Names the parts that make a plan slower than the best one, or says why it cannot be used.
std::string drawback(const ParallelPlan& plan, const ParallelPlan& best) {
  if (!plan.fits()) return fit_words(plan);
  std::vector<std::string> reasons;
  const auto more = [&](double of_plan, double of_best, std::string_view what) {
    constexpr double kWorthTelling = 0.01;
    if (of_plan - of_best > kWorthTelling * best.time.step)
      reasons.push_back(fmt::format("{} {}", what, change_text((of_plan - of_best) / best.time.step)));
  };
  more(plan.time.exposed_tensor + plan.time.exposed_data, best.time.exposed_tensor + best.time.exposed_data,
       "exposed communication");
  more(plan.time.bubble, best.time.bubble, "pipeline bubble");
  more(plan.time.optimizer, best.time.optimizer, "optimizer");
  if (plan.run.step.checkpointing == Checkpointing::kFull && best.run.step.checkpointing != Checkpointing::kFull)
    reasons.emplace_back("recomputes layers");
  const double slower = plan.time.step / best.time.step - 1;
  const double bytes = plan.bytes.total() - best.bytes.total();
  if (std::abs(slower) <= kSameTime && bytes > 0)
    return fmt::format("same time, {} more", format_bytes(static_cast<int64_t>(bytes)));
  const std::string time = fmt::format("{} time", change_text(slower));
  return reasons.empty() ? time : fmt::format("{}: {}", time, joined(reasons, ", "));
}

Checkpointing checkpointing_of(const RunConfig& config) {
  if (config.recompute == "none") return Checkpointing::kNone;
  if (config.recompute == "block") return Checkpointing::kFull;
  throw Error::format("laptime plan: --recompute {}: not supported with several ranks; use none or block",
                      config.recompute);
}

// Throws Error if a point is not a whole step, or keeps its gradients for the next step.
void require_steps(const std::vector<ResolvedPoint>& points) {
  for (const ResolvedPoint& point : points) {
    if (point.config.pass != Pass::kStep)
      throw Error::format(
          "laptime plan: --pass {}: only whole steps are predicted for several ranks; use --pass step, or leave out "
          "--ranks",
          name_of(point.config.pass));
    if (point.config.accumulate) throw Error("laptime plan: --ranks excludes --accumulate; use --micro-batches");
  }
}

std::vector<ParallelLayout> layouts_of(const RankQuestion& question) {
  std::vector<ParallelLayout> layouts;
  for (const int64_t ranks : question.ranks) {
    for (const Shard shard : question.shards) {
      for (const int64_t tensor : question.tensors) {
        for (const int64_t pipeline : question.pipelines)
          layouts.push_back({.ranks = ranks, .tensor = tensor, .pipeline = pipeline, .shard = shard});
      }
    }
  }
  return layouts;
}

// Names each point by the words that distinguish it, without the device, which has its own column.
std::vector<std::string> names_of(const std::vector<ResolvedPoint>& points) {
  const std::vector<std::string> names = mapped(
      points, [](const ResolvedPoint& point) { return without_words(point.name, "device:" + point.config.device); });
  if (std::ranges::count(names, names.front()) == std::ssize(names)) return std::vector<std::string>(names.size());
  const std::string common = common_words(names);
  return mapped(names, [&](const std::string& name) { return spoken_name(name, common); });
}

ParallelPlan refused_plan(const ResolvedPoint& point, int64_t ranks) {
  ParallelPlan plan;
  plan.run.config = point.config;
  plan.run.step.layout.ranks = ranks;
  plan.refusal = point.refusal;
  return plan;
}

// The plans of the point, one for each layout in the question.
std::vector<ParallelPlan> plans_of(const ResolvedPoint& point, const RankQuestion& question, SharePlans& shares) {
  ParallelChoice choice{.layout = {}, .micro_batches = point.config.micro_batches};
  if (question.follows_recompute) choice.checkpointing = checkpointing_of(point.config);
  std::vector<ParallelPlan> plans;
  for (const ParallelLayout& layout : layouts_of(question)) {
    choice.layout = layout;
    ParallelPlan& plan = plans.emplace_back(plan_parallel(point.config, question.program, choice, shares));
    if (plan.refusal.empty() && !plan.fits()) plan.remedy = remedy_of(point.config, question.program, choice, shares);
  }
  return plans;
}

// Marks the answer as unsupported, for this reason.
void refuse(std::string reason, PointAnswer& answer) {
  answer.status = name_of(Status::kUnsupported);
  answer.say(fmt::format("no layout can be predicted: {}", reason));
  answer.reason = std::move(reason);
}

}  // namespace

PointAnswer parallel_answer(std::vector<ParallelPlan> plans, const ParallelQuery& query) {
  PointAnswer answer{.name = "ranks"};
  const auto key = [&](const ParallelPlan& plan) {
    const double last = std::numeric_limits<double>::infinity();
    if (!plan.refusal.empty()) return std::pair(2, last);
    const double value = query.sort == ParallelSort::kCost ? cost(plan, query).value_or(last) : plan.time.step;
    return std::pair(plan.fits() ? 0 : 1, value);
  };
  std::ranges::stable_sort(plans, [&](const ParallelPlan& a, const ParallelPlan& b) { return key(a) < key(b); });
  const bool any_fits = !plans.empty() && plans.front().fits();
  if (any_fits) {
    answer.say(best_words(plans.front(), query));
  } else if (!plans.empty()) {
    const ParallelPlan& first = plans.front();
    if (!first.refusal.empty()) {
      refuse(first.refusal, answer);
      answer.keep(plan_table(plans, query));
      return answer;
    }
    answer.say(fmt::format("none fits: {}: {}{}", place_words(first), fit_words(first),
                           first.remedy.empty() ? "" : "; fits with " + first.remedy));
  }
  answer.show(plan_table(plans, query));
  return answer;
}

PointAnswer best_answer(const std::vector<ParallelPlan>& found, const ParallelQuery& query) {
  constexpr size_t kNext = 3;
  PointAnswer answer{.name = "best"};
  if (found.empty()) {
    refuse("the batch, heads or layers of this step cannot be divided evenly among the ranks", answer);
    return answer;
  }
  const ParallelPlan& best = found.front();
  if (!best.refusal.empty()) {
    refuse(best.refusal, answer);
    return answer;
  }
  answer.say(best.fits() ? best_words(best, query)
                         : fmt::format("none of the {} layouts fits; {} needs the least memory: {}", found.size(),
                                       place_words(best), fit_words(best)));
  Table next{.name = "next", .columns = columns_from("<layout=next; step_s=step; peak_bytes=GPU@1; <reason=why not")};
  std::vector<ParallelPlan> shown{best};
  for (const ParallelPlan& plan : found) {
    if (shown.size() > kNext) break;
    if (&plan == &best) continue;
    shown.push_back(plan);
    next.add({TableCell(Json(choice_of(plan).words()), choice_of(plan).brief()), plan.time.step,
              static_cast<int64_t>(plan.bytes.total()), drawback(plan, best)});
  }
  answer.show(std::move(next));
  answer.parts.push_back({.table = plan_table(shown, query), .for_people = query.verbose});
  return answer;
}

std::vector<PointAnswer> rank_answers(const RankQuestion& question, const ParallelQuery& query) {
  require_steps(question.points);
  SharePlans shares;
  std::vector<ParallelPlan> plans;
  std::vector<std::vector<ParallelPlan>> searches;
  const std::vector<std::string> names = names_of(question.points);
  for (size_t i = 0; i < question.points.size(); ++i) {
    const ResolvedPoint& point = question.points[i];
    const auto add = [&](ParallelPlan plan) {
      plan.point = names[i];
      plans.push_back(std::move(plan));
    };
    if (!point.refusal.empty()) {
      for (const int64_t ranks : question.ranks) add(refused_plan(point, ranks));
    } else if (!question.searches) {
      for (ParallelPlan& plan : plans_of(point, question, shares)) add(std::move(plan));
    } else {
      for (const int64_t ranks : question.ranks) {
        std::vector<ParallelPlan>& found =
            searches.emplace_back(best_plans(point.config, question.program, ranks, shares));
        for (ParallelPlan& plan : found) plan.point = names[i];
        if (!found.empty()) plans.push_back(found.front());
      }
    }
  }
  // Several searches are compared before each is shown. All layouts of a search use the same devices, so the fastest is
  // also the cheapest, and only the comparison is sorted by cost.
  ParallelQuery of_search = query;
  const bool compares = !question.searches || plans.size() > 1 || question.points.size() > 1;
  if (plans.size() > 1) of_search.sort = ParallelSort::kTime;
  std::vector<PointAnswer> answers;
  if (compares) answers.push_back(parallel_answer(std::move(plans), query));
  for (const std::vector<ParallelPlan>& search : searches) {
    // Skips a search that predicts nothing if the comparison already says why.
    if (!compares || search.empty() || search.front().refusal.empty())
      answers.push_back(best_answer(search, of_search));
  }
  return answers;
}

}  // namespace laptime
