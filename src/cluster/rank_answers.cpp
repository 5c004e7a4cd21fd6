// Plans each point with all layouts, or searches for the best ones.
#include "cluster/rank_answers.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "config/label.h"

namespace laptime {
namespace {

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

// What distinguishes each point, apart from its device, which has its own column; empty if nothing does.
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

// The plans with all layouts.
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

}  // namespace

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
      add(refused_plan(point, question.ranks.front()));
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
  // Compares the results of several searches before it shows each. Among layouts of one device, the fastest is also the
  // cheapest, so only the comparison is by cost.
  ParallelQuery of_search = query;
  const bool compares = !question.searches || plans.size() > 1;
  if (plans.size() > 1) of_search.sort = ParallelSort::kTime;
  std::vector<PointAnswer> answers;
  if (compares) answers.push_back(parallel_answer(std::move(plans), query));
  for (const std::vector<ParallelPlan>& search : searches) {
    // The comparison has stated why nothing can be predicted.
    if (!compares || search.empty() || search.front().refusal.empty())
      answers.push_back(best_answer(search, of_search));
  }
  return answers;
}

}  // namespace laptime
