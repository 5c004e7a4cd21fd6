// communicate: where a step starts communication, and where it waits for the result.
#include "passes/communicate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "ops/collective/collective.h"
#include "support/training.h"

namespace laptime::test {
namespace {

RunConfig config_of(Shard shard, const std::string& bucket) {
  RunConfig config = tiny_config(Edition::k2025);
  config.model.batch_size = 4;
  config.ranks = 2;
  config.shard = shard;
  config.bucket = bucket;
  return config;
}

Graph communicating_step(const RunConfig& config) {
  PipelineOptions options = eager_options(config);
  options.bucket_bytes = parse_bytes("bucket", config.bucket);
  return run_passes(build_train_step(config), options);
}

std::vector<size_t> places(const Graph& graph, const OpCard& op) {
  std::vector<size_t> found;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (graph.nodes[i].op == &op) found.push_back(i);
  }
  return found;
}

size_t last_of(const Graph& graph, Phase phase) {
  size_t last = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) last = graph.nodes[i].annotations.phase == phase ? i : last;
  return last;
}

TEST(Communicate, BucketsAreReducedDuringBackward) {
  const Graph graph = communicating_step(config_of(Shard::kNone, "1B"));
  const std::vector<size_t> reductions = places(graph, kAllReduce);
  EXPECT_EQ(reductions.size(), parameter_list(config_of(Shard::kNone, "1B").step_model()).size() + 1)
      << "one per parameter, and one for the loss";
  const size_t backward = last_of(graph, Phase::kBackward);
  EXPECT_LT(reductions.front(), backward / 2);
  EXPECT_GT(std::count_if(reductions.begin(), reductions.end(), [&](size_t at) { return at + 20 < backward; }), 10);
  EXPECT_EQ(places(graph, kWaitForRanks).size(), reductions.size());
}

TEST(Communicate, LargeBucketHoldsAllGradients) {
  const Graph graph = communicating_step(config_of(Shard::kNone, "1GiB"));
  ASSERT_EQ(places(graph, kAllReduce).size(), 1U);
  const Node& all = graph.nodes[places(graph, kAllReduce).front()];
  EXPECT_EQ(all.inputs.size(), parameter_list(config_of(Shard::kNone, "1GiB").step_model()).size() + 1);
}

// Each layer is gathered in forward and in backward, one layer ahead of its use.
TEST(Communicate, ParametersAreGatheredBeforeEachUse) {
  const Graph graph = communicating_step(config_of(Shard::kParameters, "25MiB"));
  const std::vector<size_t> gathers = places(graph, kAllGather);
  const auto gathers_of = [&](int64_t layer, Phase phase) {
    return std::count_if(gathers.begin(), gathers.end(), [&](size_t at) {
      const NodeAnnotations& annotations = graph.nodes[at].annotations;
      return annotations.region.layer == layer && annotations.phase == phase;
    });
  };
  for (const int64_t layer : {0, 1}) EXPECT_EQ(gathers_of(layer, Phase::kForward), 1) << layer;
  EXPECT_EQ(gathers_of(0, Phase::kBackward), 1);
  for (const size_t at : gathers) {
    size_t wait = at + 1;
    while (wait < graph.nodes.size() && (graph.nodes[wait].op != &kWaitForRanks ||
                                         graph.nodes[wait].inputs.front() != graph.nodes[at].outputs.front()))
      ++wait;
    ASSERT_LT(wait, graph.nodes.size()) << "no node waits for the gather";
    EXPECT_TRUE(at == gathers.front() || wait > at + 1) << "no computation overlaps with the gather";
  }
  // The embedding, the final norm and the head are gathered too.
  EXPECT_GE(gathers.size(), 6U);
}

// Whole gradients live until the wait, so a step that waited only at its end would hold all of them.
TEST(Communicate, AtMostTwoGradientBucketsAreInFlight) {
  for (const Shard shard : {Shard::kNone, Shard::kOptimizer, Shard::kGradients, Shard::kParameters}) {
    const Graph graph = communicating_step(config_of(shard, "1B"));
    std::set<int32_t> under_way;  // first results of started buckets
    size_t most = 0;
    for (const Node& node : graph.nodes) {
      if (node.op == &kWaitForRanks) under_way.erase(node.inputs.front().index);
      if (node.op == &kAllReduce || node.op == &kReduceScatter || node.op == &kReduceScatterInPlace)
        under_way.insert(node.outputs.front().index);
      most = std::max(most, under_way.size());
    }
    EXPECT_EQ(most, 2U) << name_of(shard);
  }
}

TEST(Communicate, WaitsForAllCommunication) {
  for (const Shard shard : {Shard::kNone, Shard::kOptimizer, Shard::kGradients, Shard::kParameters}) {
    const Graph graph = communicating_step(config_of(shard, "10KiB"));
    size_t started = 0;
    for (const Node& node : graph.nodes) started += node.op->kind == OpKind::kCommunication ? 1 : 0;
    EXPECT_EQ(places(graph, kWaitForRanks).size(), started) << name_of(shard);
  }
}

}  // namespace
}  // namespace laptime::test
