// Memory ledgers, saved bytes, largest tensors and findings of handmade traces with known sums; usable memory.
#include "analysis/memory_findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>

#include "analysis/made_trace.h"
#include "base/error.h"
#include "base/json.h"

namespace laptime {
namespace {

TEST(MemoryLedger, CountsBuffersWhileTheyAreAlive) {
  const MemoryLedger ledger({}, two_layers());
  EXPECT_EQ(ledger.held(0).total(), 3008 + 300);
  EXPECT_EQ(ledger.held(1).total(), 3008 + 320);
  EXPECT_EQ(ledger.held(2).total(), 3008 + 620);
  EXPECT_EQ(ledger.held(3).total(), 3008 + 1050);
  EXPECT_EQ(ledger.held(4).total(), 3008 + 1150);
  EXPECT_EQ(ledger.held(7).total(), 3008 + 500);
}

TEST(MemoryLedger, CategoriesAndRoundingAddUpToThePlannedBytes) {
  const StepTrace trace = two_layers();
  const MemoryLedger ledger({}, trace);
  EXPECT_EQ(ledger.peak_launch(), 4U);
  EXPECT_EQ(ledger.peak()[MemoryCategory::kSaved], 650);
  EXPECT_EQ(ledger.peak()[MemoryCategory::kGradients], 500);
  EXPECT_EQ(ledger.peak()[MemoryCategory::kWorkspace], 0);
  EXPECT_EQ(ledger.held(3)[MemoryCategory::kWorkspace], 400);
  EXPECT_EQ(ledger.held(1)[MemoryCategory::kTemporaries], 20);
  EXPECT_EQ(ledger.peak()[MemoryCategory::kInputs], 8);
  EXPECT_EQ(ledger.peak().total() + ledger.rounding(), trace.resident_bytes + trace.arena_bytes);
}

TEST(MemoryLedger, PlannedBytesAreThePredictedPeakIfTheRecordHasOne) {
  const StepTrace trace = two_layers();
  const auto ledger = [&](const std::optional<int64_t>& predicted) {
    Record record;
    record.memory.predicted_peak_bytes = predicted;
    return MemoryLedger(record, trace);
  };
  EXPECT_EQ(ledger({}).planned(), trace.resident_bytes + trace.arena_bytes);
  EXPECT_EQ(ledger(8192).planned(), 8192);
  EXPECT_EQ(ledger(8192).rounding(), 8192 - 4158);
  EXPECT_EQ(ledger(std::numeric_limits<int64_t>::min()).rounding(), 0);
}

TEST(MemoryLedger, ReportsAPeakForEachPhase) {
  const MemoryLedger ledger({}, two_layers());
  ASSERT_EQ(ledger.phases().size(), 3U);
  EXPECT_EQ(ledger.phases()[0].peak, 3U);
  EXPECT_EQ(ledger.phases()[1].peak, 4U);
  EXPECT_EQ(ledger.phases()[2].peak, 7U);
  EXPECT_EQ(ledger.sections().size(), 3U);
}

TEST(MemoryLedger, MergesAlternatingPhasesIntoOneSection) {
  MadeTrace made;
  for (const char* phase : {"forward", "backward", "optimizer", "backward", "optimizer"}) made.launch(phase, "a", "b");
  const std::vector<Section> sections = MemoryLedger({}, made.trace).sections();
  ASSERT_EQ(sections.size(), 2U);
  EXPECT_EQ(sections[1].title, "backward and optimizer");
  EXPECT_EQ(sections[1].first, 1U);
  EXPECT_EQ(sections[1].last, 4U);
}

TEST(MemoryLedger, DetectsOptimizerThatRunsDuringBackward) {
  const auto runs_in_backward = [](std::initializer_list<const char*> phases) {
    MadeTrace made;
    for (const char* phase : phases) made.launch(phase, "a", "b");
    return MemoryLedger({}, made.trace).optimizer_runs_in_backward();
  };
  EXPECT_TRUE(runs_in_backward({"forward", "backward", "optimizer", "backward", "optimizer"}));
  EXPECT_FALSE(runs_in_backward({"forward", "backward", "forward", "backward", "optimizer"}));  // as with row groups
  EXPECT_FALSE(runs_in_backward({"forward", "backward"}));
}

TEST(SavedBytes, EqualLayersMergeAndPartsAddUp) {
  const SavedBytes saved = saved_bytes_of(two_layers());
  EXPECT_EQ(saved.total, 658);
  EXPECT_EQ(saved.shared, 8);
  EXPECT_EQ(saved.rest.bytes, 50);
  ASSERT_EQ(saved.blocks.size(), 1U);
  EXPECT_EQ(saved.blocks[0].layers, (std::vector<int64_t>{0, 1}));
  EXPECT_EQ(saved.blocks[0].bytes, 300);
  ASSERT_EQ(saved.blocks[0].tensors.size(), 1U);
  EXPECT_EQ(saved.blocks[0].tensors[0].scope, "attn.scores");
  int64_t parts = 0;
  for (const SavedTensors& part : saved.parts) parts += part.bytes;
  EXPECT_EQ(parts, saved.total);
  EXPECT_EQ(saved.parts[0].scope, "attn");
  EXPECT_EQ(saved.parts[0].count, 2);
}

TEST(SavedBytes, MergesFoldedAndUnfoldedBatchShapes) {
  MadeTrace made;
  made.launch("forward", "layers.0.ffn", "mul", 0, "ffn");
  made.buffer(48, 0, 0, true, "activation", "", "[1, 6, 2]");
  made.buffer(48, 0, 0, true, "activation", "", "[2, 3, 2]");
  made.buffer(48, 0, 0, true, "activation", "", "[1, 5, 2]");
  const std::vector<SavedTensors> tensors = saved_bytes_of(made.trace).blocks.at(0).tensors;
  ASSERT_EQ(tensors.size(), 2U);
  EXPECT_EQ(tensors[0].shape, "[2, 3, 2]");
  EXPECT_EQ(tensors[0].count, 2);
  EXPECT_EQ(tensors[1].shape, "[1, 5, 2]");
}

TEST(SavedBytes, IgnoresMalformedShapesAndRejectsOverflowingOnes) {
  const auto total_with = [](const std::string& shape) {
    MadeTrace made;
    made.launch("forward", "layers.0.ffn", "mul", 0, "ffn");
    made.buffer(48, 0, 0, true, "activation", "", shape);
    return saved_bytes_of(made.trace).total;
  };
  EXPECT_EQ(total_with(",4,2"), 48);
  EXPECT_THROW(total_with("[4611686018427387904, 4, 2]"), Error);
}

TEST(SavedBytes, CountsOnlyTheFirstMicroBatch) {
  MadeTrace made;
  for (const char* phase : {"forward", "backward", "forward", "backward"}) made.launch(phase, "lm_head", "matmul");
  made.buffer(50, 0, 1, true);
  made.buffer(50, 2, 3, true);
  made.resident(8, "input", "tokens", true);
  EXPECT_EQ(saved_bytes_of(made.trace).total, 58);
  EXPECT_EQ(MemoryLedger({}, made.trace).held(2)[MemoryCategory::kSaved], 50);
}

TEST(SavedBytes, FormatsLayerRanges) {
  EXPECT_EQ(layers_text({3}), "layer 3");
  EXPECT_EQ(layers_text({0, 1, 2, 4, 6, 7}), "layers 0-2, 4, 6-7");
}

TEST(TensorNames, OmitTheLayerNumber) {
  EXPECT_EQ(any_layer("m/layers.12.attn.q_proj.weight"), "m/layers.*.attn.q_proj.weight");
  EXPECT_EQ(any_layer("w1"), "w1");
  EXPECT_EQ(any_layer(""), "");
  EXPECT_EQ(within_layer("layers.3.attn.scores", 3), "attn.scores");
  EXPECT_EQ(within_layer("layers.3", 3), "");
  EXPECT_EQ(within_layer("lm_head", -1), "lm_head");
  EXPECT_EQ(within_layer("elsewhere", 3), "elsewhere");
}

TEST(LargestTensors, MergesEqualLayers) {
  const StepTrace trace = two_layers();
  const std::vector<LargeTensors> all = largest_tensors(trace, 4, 100);
  EXPECT_EQ(all[0].name, "m/lm_head.weight");
  EXPECT_EQ(all[1].name, "lm_head.weight");
  EXPECT_EQ(category_of(all[1].first), MemoryCategory::kParameters);
  EXPECT_EQ(category_of(all[2].first), MemoryCategory::kGradients);
  const auto scores = std::ranges::find(all, "layers.*.attn.scores", &LargeTensors::name);
  ASSERT_NE(scores, all.end());
  EXPECT_EQ(scores->buffers.size(), 2U);
  EXPECT_EQ(scores->alive_at_peak, 2);
}

TEST(LargestTensors, SeparatesSavedTensorsFromTemporaryOnes) {
  MadeTrace made;
  for (int64_t layer = 0; layer < 4; ++layer)
    made.launch("forward", "layers." + std::to_string(layer) + ".ffn", "gelu", layer, "ffn");
  for (int64_t layer = 0; layer < 4; ++layer) made.buffer(300, layer, 3, layer % 2 == 0);
  const std::vector<LargeTensors> groups = largest_tensors(made.trace, 3, 100);
  ASSERT_EQ(groups.size(), 2U);
  for (const LargeTensors& group : groups) EXPECT_EQ(group.buffers.size(), 2U);
  EXPECT_EQ(category_of(groups[0].first), MemoryCategory::kSaved);
  EXPECT_EQ(category_of(groups[1].first), MemoryCategory::kTemporaries);
}

TEST(MemoryFindings, PeakStatesItsLocationAndWhetherItFits) {
  const Finding peak = one(memory_findings(held_record(), two_layers()), "memory_peak");
  EXPECT_EQ(peak.integer("bytes"), 4372);
  EXPECT_EQ(peak.integer("requested_bytes"), 4158);
  EXPECT_EQ(peak.integer("held_bytes"), 4372);
  EXPECT_EQ(peak.text("phase"), "backward");
  EXPECT_EQ(peak.text("op"), "matmul");
  EXPECT_EQ(peak.text("scope"), "lm_head");
  EXPECT_EQ(peak.trust, FindingTrust::kMeasured);
  Record planned;
  planned.status = Status::kOutOfMemory;
  const Finding predicted = one(memory_findings(planned, two_layers()), "memory_peak");
  EXPECT_FALSE(predicted.values.json().at("fits").get<bool>());
  EXPECT_FALSE(predicted.has("held_bytes"));
  EXPECT_EQ(predicted.trust, FindingTrust::kPredicted);
}

TEST(MemoryFindings, SharesAddUpToThePeak) {
  int64_t bytes = 0;
  double share = 0;
  int64_t last = 1 << 20;
  for (const Finding& finding : memory_findings(held_record(), two_layers())) {
    if (finding.kind != "memory_share") continue;
    bytes += finding.integer("bytes");
    share += finding.number("share");
    EXPECT_LE(finding.integer("bytes"), last) << "largest first";
    last = finding.integer("bytes");
  }
  EXPECT_EQ(bytes, 4372);
  EXPECT_NEAR(share, 1, 1e-12);
}

TEST(MemoryFindings, FirstForwardPassExcludesOptimizerState) {
  const std::vector<Finding> findings = memory_findings(held_record(), two_layers());
  EXPECT_EQ(one(findings, "phase_peak", "forward").integer("bytes"), 4058);
  EXPECT_EQ(one(findings, "phase_peak", "forward").integer("first_step_bytes"), 2058);
  EXPECT_EQ(one(findings, "phase_peak", "optimizer").integer("first_step_bytes"), 3508);
  EXPECT_EQ(one(findings, "phase_peak", "backward").integer("gradients_bytes"), 500);
}

TEST(MemoryFindings, ReportsSavedBytesPerLayerAndInTotal) {
  const Finding saved = one(memory_findings(held_record(), two_layers()), "saved_for_backward");
  EXPECT_EQ(saved.integer("bytes"), 658);
  EXPECT_EQ(saved.integer("layer_bytes"), 300);
  EXPECT_EQ(saved.text("layers"), "layers 0-1");
  EXPECT_EQ(saved.integer("copies_bytes"), 0);
}

TEST(MemoryFindings, CountsLayersThatSaveTheSameTensors) {
  MadeTrace made;
  made.trace = two_layers();
  EXPECT_FALSE(one(memory_findings(held_record(), made.trace), "saved_for_backward").has("model_layers"));
  made.launch("forward", "layers.2.ffn", "gelu", 2, "ffn");
  const Finding saved = one(memory_findings(held_record(), made.trace), "saved_for_backward");
  EXPECT_EQ(saved.integer("layer_count"), 2);
  EXPECT_EQ(saved.integer("model_layers"), 3);
}

TEST(MemoryFindings, ReportsOptimizerStateAndTemporaries) {
  MadeTrace made;
  made.launch("forward", "lm_head", "matmul");
  made.launch("backward", "lm_head", "matmul");
  made.launch("optimizer", "lm_head", "adamw");
  made.buffer(600, 2, 2, false);
  made.buffer(100, 2, 2, false, "workspace");
  made.resident(2048, "optimizer_state", "m/lm_head.weight");
  const Finding optimizer = one(memory_findings(held_record(), made.trace), "optimizer_memory");
  EXPECT_EQ(optimizer.integer("state_bytes"), 2048);
  EXPECT_EQ(optimizer.integer("temporaries_bytes"), 700);
  made.launch("backward", "embedding", "matmul");
  const Finding in_backward = one(memory_findings(held_record(), made.trace), "optimizer_memory");
  EXPECT_TRUE(in_backward.values.json().at("runs_in_backward").get<bool>());
  EXPECT_FALSE(in_backward.has("temporaries_bytes"));
}

TEST(UsableMemory, UsesTheLimitOrAShareOfDeviceMemory) {
  Record record;
  EXPECT_FALSE(usable_memory(record).has_value());
  record.bytes_available = int64_t{3} << 30;
  record.config = Json{{"memory_limit", "3GiB"}, {"device", "cpu"}};
  EXPECT_TRUE(usable_memory(record)->is_limit);
  record.config = Json{{"memory_limit", nullptr}, {"device", "roofline:h100"}};
  record.bytes_available = int64_t{76} << 30;
  EXPECT_FALSE(usable_memory(record)->is_limit);
  record.verdict.rating = kPredicted;
  EXPECT_EQ(usable_memory(record)->whole, int64_t{80} << 30);
  for (const int64_t unknown : {int64_t{-1}, std::numeric_limits<int64_t>::max()}) {
    record.bytes_available = unknown;
    EXPECT_FALSE(usable_memory(record).has_value()) << unknown;
  }
}

}  // namespace
}  // namespace laptime
