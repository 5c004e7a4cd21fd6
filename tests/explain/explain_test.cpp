// Explanations of points of any size on any device, made without allocating the memory of the step.
#include "explain/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "analysis/memory_ledger.h"
#include "backend/kernel.h"
#include "base/error.h"
#include "base/json.h"
#include "config/fields_json.h"
#include "measure/make_trace.h"
#include "prepare/prepare.h"
#include "prepare/step_graph.h"
#include "report/explanation_text.h"
#include "support/knowledge.h"
#include "support/points.h"
#include "support/twins.h"

namespace laptime {
namespace {

using testing::Contains;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

using test::Options;
using test::point_of;

SweepPoint tiny(const Options& more = {}) {
  return point_of({{"d-model", "40"},
                   {"d-ff", "104"},
                   {"num-layers", "2"},
                   {"num-heads", "5"},
                   {"vocab", "97"},
                   {"context", "18"},
                   {"batch", "3"},
                   {"device", "cpu"}},
                  more);
}

const Work* find_work(const std::vector<Work>& rows, const std::string& phase, const std::string& kind) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const Work& row) { return row.phase == phase && row.kind == kind; });
  return found == rows.end() ? nullptr : &*found;
}

TEST(Explain, CountsParametersAndModelFlops) {
  const Explanation small = explain(point_of({{"model", "small"}, {"device", "cpu"}}), {});
  EXPECT_EQ(small.parameters, 128'625'408);
  int64_t sum = 0;
  for (const ParameterGroup& group : small.parameter_groups) sum += group.parameters;
  EXPECT_EQ(sum, small.parameters);
  ASSERT_GT(small.parameter_groups.size(), 2U);
  EXPECT_EQ(small.parameter_groups[2].name, "layers.*.attn.q_proj.weight");
  EXPECT_EQ(small.parameter_groups[2].tensors, 12);
  EXPECT_NEAR(small.model_flops_forward, 0.257e12, 0.001e12);
  EXPECT_EQ(small.model_flops_attention, 4.0 * 12 * 4 * 256 * 256 * 768);
  EXPECT_EQ(small.model_flops_head, 2.0 * 4 * 256 * 768 * 10'000);
  // The formula counts exactly the FLOPs of the model's matrix products.
  const Work* forward = find_work(small.kinds, "forward", "contraction");
  const Work* backward = find_work(small.kinds, "backward", "contraction");
  ASSERT_TRUE(forward != nullptr && backward != nullptr);
  EXPECT_EQ(forward->flops, small.model_flops_forward);
  EXPECT_EQ(backward->flops, small.model_flops_backward);
}

TEST(Explain, OmitsBackwardFlopsIfThePassHasNoBackward) {
  for (const char* const pass : {"forward", "inference"}) {
    const Explanation explanation = explain(tiny({{"pass", pass}}), {});
    EXPECT_FALSE(explanation.model_flops_backward.has_value()) << pass;
    EXPECT_THAT(print(explanation), Not(HasSubstr("FLOP backward"))) << pass;
  }
  EXPECT_EQ(explain(tiny({{"pass", "backward"}}), {}).model_flops_backward,
            2 * explain(tiny(), {}).model_flops_forward);
}

// The planner elides the copies of updated parameters in the optimizer of 2025.
TEST(Explain, CountsTheLaunchesOfThePlan) {
  const SweepPoint asked = tiny({{"optimizer", "2025"}});
  const Explanation explanation = explain(asked, {});
  const Plan plan = prepare(asked.config, find_device(asked.config), {}).plan;
  for (const Work& phase : explanation.phases) {
    Work launches;
    for (const PlanStep& step : plan.steps) {
      if (name_of(step.phase) != phase.phase) continue;
      ++launches.nodes;
      launches.bytes += step.bytes;
    }
    EXPECT_EQ(phase.nodes, launches.nodes) << phase.phase;
    EXPECT_EQ(phase.bytes, launches.bytes) << phase.phase;
  }
  size_t nodes = 0;
  for (const KernelDecision& decision : explanation.kernels) nodes += static_cast<size_t>(decision.nodes);
  EXPECT_EQ(nodes, plan.setup.size() + plan.steps.size());
}

TEST(Explain, DescribesTheStepOfOneRank) {
  EXPECT_FALSE(explain(tiny(), {}).rank.has_value());
  for (const Shard shard : {Shard::kNone, Shard::kOptimizer}) {
    ResolvedPoint point(tiny({{"batch", "4"}}));  // without ranks, which machines without MPI reject
    point.config.ranks = 2;
    point.config.shard = shard;
    const Explanation explanation = explain(point, {});
    ASSERT_TRUE(explanation.rank.has_value());
    EXPECT_EQ(explanation.rank->shard, name_of(shard));
    EXPECT_EQ(explanation.rank->batch_size, 2);
    EXPECT_EQ(explanation.rank->context_length, 18);
    // A rank sends its part of the loss, and half of each gradient twice, or half of the gradient and of the parameter.
    EXPECT_EQ(explanation.rank->sent_bytes, 4 * explanation.parameters + 4);
    EXPECT_EQ(2 * find_work(explanation.kinds, "forward", "contraction")->flops, explanation.model_flops_forward);
  }
}

TEST(Explain, PartsAddUpToTotals) {
  const Explanation explanation = explain(tiny({{"dtype", "bfloat16"}}), {});
  std::vector<std::string> names;
  for (const PassOutcome& pass : explanation.passes) {
    names.push_back(pass.pass);
    EXPECT_EQ(pass.nodes, pass.setup + pass.forward + pass.backward + pass.optimizer);
  }
  EXPECT_EQ(names,
            (std::vector<std::string>{"model", "decompose", "autocast", "decompose", "differentiate", "dead_code"}));
  EXPECT_GT(explanation.passes[2].nodes, explanation.passes[1].nodes);  // autocast adds casts

  Work ops;
  Work kinds;
  Work phases;
  const auto add = [](Work& sum, const std::vector<Work>& rows) {
    for (const Work& row : rows) {
      sum.nodes += row.nodes;
      sum.flops += row.flops;
      sum.bytes += row.bytes;
    }
  };
  add(ops, explanation.ops);
  add(kinds, explanation.kinds);
  add(phases, explanation.phases);
  EXPECT_EQ(ops.nodes, phases.nodes);
  EXPECT_EQ(kinds.nodes, phases.nodes);
  EXPECT_EQ(ops.bytes, phases.bytes);
  EXPECT_EQ(kinds.bytes, phases.bytes);
  EXPECT_DOUBLE_EQ(ops.flops, phases.flops);
}

TEST(Explain, NamesChosenAndRejectedKernels) {
  const Explanation explanation = explain({tiny({{"mode", "compile"}}), test::find_device_with_twins}, {});
  const auto matmul = std::find_if(explanation.kernels.begin(), explanation.kernels.end(),
                                   [](const KernelDecision& decision) { return decision.op == "matmul"; });
  ASSERT_NE(matmul, explanation.kernels.end());
  EXPECT_EQ(matmul->chosen_by, "first");
  EXPECT_THAT(matmul->candidates, Contains(kReferenceName));
  const auto attention =
      std::find_if(explanation.kernels.begin(), explanation.kernels.end(),
                   [](const KernelDecision& decision) { return decision.op == "scaled_dot_product_attention"; });
  ASSERT_NE(attention, explanation.kernels.end());
  ASSERT_FALSE(attention->refused.empty());
  const RefusedKernel& refused = attention->refused.back();
  EXPECT_THAT(refused.kernel, testing::StartsWith("products_"));
  EXPECT_THAT(refused.reason, HasSubstr("wider than 256"));
  EXPECT_THAT(print(explanation), ContainsRegex("rejected: [^:\n]*" + refused.kernel + "[^:\n]*: " + refused.reason));
  for (const KernelDecision& decision : explanation.kernels) EXPECT_FALSE(decision.chosen.empty()) << decision.op;
}

TEST(Explain, ListsKernelsWithTheSameReasonOnOneLine) {
  Explanation explanation = explain(tiny(), {});
  KernelDecision& decision = explanation.kernels.front();
  decision.rivals = {"lib_2", "lib_3", "lib_4", "other_9", "lib_6", "lib_7", "lib_9", "lib_10", "lib_11", "plain"};
  decision.refused = {{"tf32_1", "too narrow"}, {"tf32_2", "too narrow"}, {"odd", "even"}, {"tf32_3", "too narrow"}};
  const std::string text = print(explanation, ExplainView::kKernels);
  EXPECT_THAT(text,
              HasSubstr("also supported: lib_2, lib_3, lib_4, other_9, lib_6, lib_7, lib_9, lib_10, lib_11, plain\n"));
  EXPECT_THAT(text, HasSubstr("rejected: tf32_1, tf32_2, tf32_3: too narrow\n      rejected: odd: even\n"));
}

TEST(Explain, UsesMeasuredChoices) {
  const ResolvedPoint point{tiny(), test::find_device_with_twins};
  const Explanation before = explain(point, {});
  const auto open = std::find_if(before.kernels.begin(), before.kernels.end(),
                                 [](const KernelDecision& decision) { return decision.chosen_by == "first"; });
  ASSERT_NE(open, before.kernels.end());
  const std::string other = open->candidates.front();
  ASSERT_NE(other, open->chosen);
  const Explanation after = explain(point, test::known({{"", open->example, other, 1e-6, ""}}));
  const auto measured = std::find_if(after.kernels.begin(), after.kernels.end(),
                                     [](const KernelDecision& decision) { return decision.chosen_by == "measured"; });
  ASSERT_NE(measured, after.kernels.end());
  EXPECT_EQ(measured->chosen, other);
  EXPECT_EQ(measured->example, open->example);
  EXPECT_EQ(measured->signatures, 1);
  EXPECT_THAT(print(after), HasSubstr("measured fastest here"));
}

TEST(Explain, IgnoresStoredChoiceOfAMissingKernel) {
  const ResolvedPoint point{tiny(), test::find_device_with_twins};
  const Explanation before = explain(point, {});
  const auto open = std::find_if(before.kernels.begin(), before.kernels.end(),
                                 [](const KernelDecision& decision) { return decision.chosen_by == "first"; });
  ASSERT_NE(open, before.kernels.end());
  const Explanation after = explain(point, test::known({{"", open->example, "gone", 1e-6, ""}}));
  for (const KernelDecision& decision : after.kernels) EXPECT_NE(decision.chosen_by, "measured") << decision.op;
}

TEST(Explain, PredictsTheMemoryOfThePlan) {
  for (const char* pass : {"inference", "forward", "step"}) {
    const SweepPoint asked = tiny({{"pass", pass}});
    const Explanation explanation = explain(asked, {});
    ASSERT_TRUE(explanation.memory.has_value());
    const Prepared prepared = prepare(asked.config, find_device(asked.config), {});
    const int64_t predicted = predicted_peak_bytes(prepared.plan, prepared.bound);
    EXPECT_EQ(explanation.memory->predicted_peak_bytes, predicted);
    int64_t parts = 0;
    for (const auto& [role, bytes] : explanation.memory->parts) parts += bytes;
    EXPECT_EQ(parts, predicted);
    EXPECT_TRUE(explanation.memory->does_not_fit.empty());
    EXPECT_EQ(explanation.memory->saved_bytes.has_value(), std::string(pass) != "inference");
  }
  // The bytes that PyTorch saves, according to the golden file of this model.
  EXPECT_EQ(explain(tiny(), {}).memory->saved_bytes, 552'996);
  EXPECT_EQ(explain(tiny({{"dtype", "bfloat16"}, {"pass", "forward"}}), {}).memory->saved_bytes, 474'276);
}

TEST(Explain, SavedBytesMatchTheTrace) {
  for (const Shard shard : {Shard::kNone, Shard::kParameters}) {
    for (const char* const dtype : {"float32", "bfloat16"}) {
      ResolvedPoint point(tiny({{"batch", "4"}, {"dtype", dtype}}));
      point.config.ranks = 2;
      point.config.shard = shard;
      const Prepared prepared = prepare(point.config, find_device(point.config), {});
      EXPECT_EQ(explain(point, {}).memory->saved_bytes, saved_bytes_of(trace_of(prepared.plan)).total)
          << name_of(shard) << " " << dtype;
    }
  }
}

const CompositeUse* find_composite(const Explanation& explanation, const std::string& op) {
  const auto found = std::find_if(explanation.composites.begin(), explanation.composites.end(),
                                  [&](const CompositeUse& use) { return use.op == op; });
  return found == explanation.composites.end() ? nullptr : &*found;
}

// In a compiled training step, the composite of head and loss stays whole if --keep names it, or if row groups save
// memory. On a CPU they always do, and on a GPU only with recomputation.
TEST(Explain, ListsCompositesThatStayWhole) {
  struct Row {
    Options options;
    bool whole;
  };
  for (const Row& row : std::vector<Row>{
           {{}, false},
           {{{"recompute", "block"}}, false},  // always lowered in eager mode
           {{{"mode", "compile"}}, true},
           {{{"mode", "compile"}, {"pass", "forward"}}, false},
           {{{"mode", "compile"}, {"device", "roofline:h200"}}, false},
           {{{"mode", "compile"}, {"device", "roofline:h200"}, {"recompute", "block"}}, true},
           {{{"mode", "compile"}, {"recompute", "block"}, {"lower", "linear_cross_entropy"}}, false},
           {{{"mode", "compile"}, {"recompute", "block"}, {"keep", "linear"}}, false},
           {{{"mode", "compile"}, {"keep", "linear_cross_entropy+linear"}}, true},
       }) {
    const Explanation explanation = explain(tiny(row.options), {});
    SCOPED_TRACE(print(explanation));
    const CompositeUse* const loss = find_composite(explanation, "linear_cross_entropy");
    ASSERT_NE(loss, nullptr);
    EXPECT_EQ(loss->whole, row.whole);
  }
  // The norms are still whole when autocast runs; eager mode lowers them afterwards.
  for (const char* mode : {"eager", "compile"}) {
    const Explanation narrow = explain(tiny({{"mode", mode}, {"dtype", "bfloat16"}}), {});
    ASSERT_NE(find_composite(narrow, "rms_norm"), nullptr);
    EXPECT_EQ(find_composite(narrow, "rms_norm")->whole, mode == std::string_view("compile"));
  }
  const Explanation compiled = explain(tiny({{"mode", "compile"}}), {});
  ASSERT_NE(find_composite(compiled, "cross_entropy"), nullptr);
  EXPECT_TRUE(find_composite(compiled, "cross_entropy")->whole);
  EXPECT_THAT(print(compiled), HasSubstr("composites, with recompute none"));
}

// On a GPU, `--recompute auto` first recomputes cheap ops, then also splits the loss into row groups, and only then
// recomputes layers.
TEST(Explain, SplitsTheLossBeforeItRecomputesLayers) {
  const Options big{
      {"mode", "compile"}, {"vocab", "50000"}, {"context", "256"}, {"batch", "8"}, {"device", "roofline:h200"}};
  const auto explained = [&](const char* key, const std::string& value) {
    Options options = big;
    options.emplace_back(key, value);
    return explain(tiny(options), {});
  };
  const auto below = [](const Explanation& step) {
    return std::to_string(step.memory->predicted_peak_bytes - 1) + "B";
  };
  const Explanation none = explained("recompute", "none");
  ASSERT_LT(explained("recompute", "block").memory->predicted_peak_bytes, none.memory->predicted_peak_bytes);
  const Explanation cheap = explained("memory-limit", below(none));
  EXPECT_EQ(cheap.recompute, "cheap ops");
  EXPECT_FALSE(find_composite(cheap, "linear_cross_entropy")->whole);
  const Explanation split = explained("memory-limit", below(cheap));
  EXPECT_EQ(split.recompute, "loss");
  EXPECT_TRUE(find_composite(split, "linear_cross_entropy")->whole);
}

TEST(CompositesOf, ListsCompositesInTheStep) {
  using testing::IsSupersetOf;
  EXPECT_THAT(composites_of(tiny({{"mode", "compile"}, {"pass", "forward"}}).config),
              IsSupersetOf({"linear", "cross_entropy"}));
  EXPECT_THAT(composites_of(tiny({{"optimizer", "2025"}}).config), Contains("adamw"));
  EXPECT_THAT(composites_of(tiny({{"optimizer", "torch"}}).config),
              Not(Contains("adamw")));  // PyTorch's update is one kernel even in eager mode
  EXPECT_THAT(composites_of(tiny({{"mode", "compile"}}).config),
              IsSupersetOf({"linear", "linear_cross_entropy", "cross_entropy"}));
}

TEST(Explain, SlowAllocatesNoMemoryForHugeModels) {
  rusage before{};
  getrusage(RUSAGE_SELF, &before);
  for (const char* device : {"cpu", "roofline:h200"}) {
    const Explanation explanation = explain(point_of({{"model", "10B"}, {"context", "1024"}, {"device", device}}), {});
    EXPECT_EQ(explanation.parameters, 12'832'823'808);
    ASSERT_TRUE(explanation.memory.has_value());
    EXPECT_GT(explanation.memory->predicted_peak_bytes, int64_t{200} << 30);
    EXPECT_THAT(explanation.memory->does_not_fit, HasSubstr("predicted: "));
    EXPECT_THAT(print(explanation), HasSubstr("DOES NOT FIT: "));
  }
  rusage after{};
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 1L << 20) << "KiB";

  const Explanation inference =
      explain(point_of({{"model", "10B"}, {"pass", "inference"}, {"device", "roofline:h200"}}), {});
  EXPECT_TRUE(inference.memory->does_not_fit.empty());
  EXPECT_NEAR(static_cast<double>(inference.memory->available_bytes.value()),
              0.95 * static_cast<double>(int64_t{141} << 30U), 1);
  EXPECT_THAT(print(inference), HasSubstr("fits: the step may use 133.9 GiB (95 % of 141.0 GiB, roofline:h200)\n"));
}

TEST(Explain, ListsConstants) {
  const Explanation explanation = explain(tiny(), {});
  std::vector<std::pair<std::string, int64_t>> constants;
  for (const ConstantUse& use : explanation.constants) constants.emplace_back(use.op, use.bytes);
  EXPECT_THAT(constants, testing::UnorderedElementsAre(std::pair<std::string, int64_t>("rope_table", 2 * 18 * 4 * 4),
                                                       std::pair<std::string, int64_t>("causal_mask", 18 * 18)));
}

TEST(Explain, StatesTheReasonIfTheDeviceCannotRunAPoint) {
  const Explanation explanation = explain(tiny({{"dtype", "tf32"}}), {});
  EXPECT_THAT(explanation.refused, HasSubstr("tf32"));
  EXPECT_GT(explanation.passes.size(), 3U);
  EXPECT_FALSE(explanation.memory.has_value());
  EXPECT_TRUE(explanation.kernels.empty());
  EXPECT_THAT(print(explanation), HasSubstr("DOES NOT RUN: tf32"));
  EXPECT_THROW(dump_plan(tiny({{"dtype", "tf32"}}), {}), Error);
}

TEST(Explain, StatesTheReasonIfAPointIsInvalid) {
  Sweep sweep;
  set_option(sweep, "d-model", "test", {"100"});
  set_option(sweep, "num-heads", "test", {"10", "7"});
  const SweepPoint invalid = expand(sweep).at(1);
  const Explanation explanation = explain(invalid, {});
  EXPECT_THAT(print(explanation), HasSubstr("DOES NOT RUN: d_model (100) must be divisible by num_heads (7)"));
  EXPECT_EQ(explanation.parameters, 0);
  EXPECT_THROW(dump_graph(invalid, {}), Error);
  EXPECT_TRUE(to_json(explanation).at("memory").is_null());
}

TEST(Explain, WritesJson) {
  const SweepPoint asked = tiny({{"edition", "gpt2"}, {"pass", "forward_backward"}});
  const Json json = to_json(explain(asked, {}));
  EXPECT_EQ(json.at("name"), asked.name);
  EXPECT_TRUE(json.at("refused").is_null());
  EXPECT_EQ(json.at("config").at("d_model"), 40);
  EXPECT_EQ(json.at("parameters"), explain(asked, {}).parameters);
  EXPECT_EQ(json.at("parameter_groups")[0].at("name"), "token_embeddings.weight");
  EXPECT_EQ(json.at("parameter_groups")[0].at("shape"), (Json{97, 40}));
  EXPECT_GT(json.at("passes").size(), 3U);
  EXPECT_GT(json.at("memory").at("parts").at("parameter").get<int64_t>(), 0);
  EXPECT_TRUE(json.at("memory").at("does_not_fit").is_null());
  EXPECT_FALSE(json.at("kernels")[0].at("chosen").is_null());
  EXPECT_GT(json.at("kinds")[0].at("flops").get<double>(), 0);
}

TEST(Explain, DumpsTheGraphAfterEachPassAndThePlan) {
  const SweepPoint asked = tiny({{"dtype", "bfloat16"}});
  const std::string graphs = dump_graph(asked, {});
  for (const char* pass : {"model", "decompose", "autocast", "differentiate", "dead_code"}) {
    EXPECT_THAT(graphs, HasSubstr(fmt::format("=== {}: after {}, ", asked.name, pass)));
  }
  EXPECT_THAT(graphs, HasSubstr("'layers.1.attn.scores'"));
  EXPECT_THAT(graphs, HasSubstr("output loss = %"));
  const std::string plan = dump_plan(asked, {});
  EXPECT_THAT(plan, HasSubstr("persistent parameter"));
  EXPECT_THAT(plan, HasSubstr("alloc b"));
  EXPECT_THAT(plan, HasSubstr("free b"));
  EXPECT_THAT(plan, HasSubstr("matmul:"));
  EXPECT_THAT(plan, Not(HasSubstr("scaled_dot_product_attention:")));
}

TEST(Explain, TextHasEveryPart) {
  const std::string text = print(explain(tiny(), {}));
  for (const char* part :
       {"edition 2025, 2 layers x 40", "parameters: ", "composites", "kernels\n", "memory: ", "the peak is at "}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
}

CompositeUse attention_of(const Options& options) {
  const Explanation explanation = explain(point_of({{"model", "attention"},
                                                    {"mode", "compile"},
                                                    {"batch", "2"},
                                                    {"pass", "forward_backward"},
                                                    {"device", "cpu"}},
                                                   options),
                                          {});
  for (const CompositeUse& use : explanation.composites) {
    if (use.op == "scaled_dot_product_attention") return use;
  }
  ADD_FAILURE() << "no attention";
  return {};
}

TEST(Explain, LowersAttentionWithWideHeadsAndShortContext) {
  const CompositeUse wide = attention_of({{"d-model", "512"}, {"context", "512"}});
  EXPECT_FALSE(wide.whole);
  EXPECT_THAT(wide.reason, HasSubstr("faster"));
  EXPECT_TRUE(attention_of({{"d-model", "512"}, {"context", "513"}}).whole);
  EXPECT_TRUE(attention_of({{"d-model", "256"}, {"context", "64"}}).whole);
  const CompositeUse kept =
      attention_of({{"d-model", "512"}, {"context", "512"}, {"keep", "scaled_dot_product_attention"}});
  EXPECT_TRUE(kept.whole);
  EXPECT_EQ(kept.reason, "--keep");
}

}  // namespace
}  // namespace laptime
