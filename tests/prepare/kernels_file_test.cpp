// Kernel choices from records of earlier runs: accepted forms, errors, and their effect on runs.
#include "prepare/kernel_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/json.h"
#include "config/fields_json.h"
#include "explain/explain.h"
#include "measure/describe.h"
#include "measure/run_one.h"
#include "prepare/device.h"
#include "prepare/step_graph.h"
#include "record/record.h"
#include "report/explanation_text.h"
#include "support/error_of.h"
#include "support/knowledge.h"
#include "support/points.h"
#include "support/twins.h"
#include "sweep/sweep_points.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;
using test::Options;
using test::point_of;
using testing::AllOf;
using testing::HasSubstr;

class KernelsFile : public testing::Test {
 protected:
  KernelsFile() { fs::create_directories(folder_); }
  ~KernelsFile() override { fs::remove_all(folder_); }

  std::string file(const std::string& content, const std::string& name = "choices.json") const {
    std::ofstream(folder_ / name, std::ios::binary) << content;
    return (folder_ / name).string();
  }
  std::string refusal(const std::string& content) const {
    return test::error_of([&] { read_kernels_file(file(content)); });
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("laptime_kernels_" + std::to_string(getpid()));
};

Json record_with(const KernelsBySignature& choices) {
  Json kernels = Json::array();
  for (const auto& [signature, kernel] : choices) {
    const std::string op = signature.substr(0, signature.find('('));
    kernels.push_back({{"op", op}, {"signature", signature}, {"kernel", kernel}});
  }
  return {{"kernels", kernels}};
}

TEST_F(KernelsFile, ReadsRecordsFromJsonAndJsonLines) {
  Record first;
  first.name = "first";
  first.kernels = {{"matmul", "matmul(a)", "tiles"}, {"add", "add(b)", "strips"}};
  Record second;
  second.name = "second";
  second.kernels = {{"matmul", "matmul(a)", "tiles"}, {"matmul", "matmul(c)", "onednn"}};
  Record failed;
  failed.name = "failed";
  failed.status = Status::kFailed;
  const KernelsBySignature both{{"matmul(a)", "tiles"}, {"add(b)", "strips"}, {"matmul(c)", "onednn"}};
  const std::string texts[] = {to_text(first), to_text(second), to_text(failed)};
  const std::string array = fmt::format("[\n{},\n{},\n{}\n]\n", texts[0], texts[1], texts[2]);
  EXPECT_EQ(read_kernels_file(file(array)), both);
  EXPECT_EQ(read_kernels_file(file(fmt::format("[{},{}]", texts[0], texts[1]))), both);
  EXPECT_EQ(read_kernels_file(file(fmt::format("{}\n{}\n{}\n", texts[0], texts[1], texts[2]))), both);
  EXPECT_EQ(read_kernels_file(file(fmt::format("\r\n{}\r\n\r\n{}", texts[0], texts[1]))), both);
  EXPECT_EQ(read_kernels_file(file(texts[0])).size(), 2U);
  EXPECT_EQ(read_kernels_file(file(to_json(first).dump(2))).size(), 2U);
}

TEST_F(KernelsFile, ReadsRecordsThatHaveOnlyKernels) {
  const KernelsBySignature choices{{"matmul(a)", "tiles"}};
  EXPECT_EQ(read_kernels_file(file(record_with(choices).dump())), choices);
}

TEST_F(KernelsFile, RejectsOtherFiles) {
  const auto missing = [&](const std::string& path) { return test::error_of([&] { read_kernels_file(path); }); };
  EXPECT_THAT(missing((folder_ / "none.json").string()), AllOf(HasSubstr("none.json"), HasSubstr("No such file")));
  EXPECT_THAT(missing(folder_.string()), HasSubstr("a directory"));
  EXPECT_THAT(refusal(""), AllOf(HasSubstr("choices.json"), HasSubstr("is empty")));
  EXPECT_THAT(refusal(" \n\n"), HasSubstr("is empty"));
  EXPECT_THAT(refusal("tiles everywhere"), AllOf(HasSubstr("not valid JSON at byte 2"), HasSubstr("--output json")));
  EXPECT_THAT(refusal(std::string("\x7f"
                                  "ELF\0\x01\xff\n",
                                  8)),
              HasSubstr("not valid JSON at byte 1"));
  EXPECT_THAT(refusal("[{\"kernels\": []}"), HasSubstr("not JSON"));
  EXPECT_THAT(refusal("{\"kernels\": []}\n{\"kernels\""), HasSubstr("line 2: not JSON"));
  EXPECT_THAT(refusal(std::string(100'000, '[')), HasSubstr("nested deeper"));
  EXPECT_THAT(refusal("42"), HasSubstr("record 1 has no 'kernels' list"));
  EXPECT_THAT(refusal("[{\"kernels\": []}, {\"name\": \"x\"}]"), HasSubstr("record 2 has no 'kernels' list"));
  EXPECT_THAT(refusal("{\"kernels\": {\"matmul\": \"tiles\"}}"), HasSubstr("no 'kernels' list"));
  EXPECT_THAT(refusal("[]"), HasSubstr("no kernel choices"));
  EXPECT_THAT(refusal("{\"kernels\": []}"), HasSubstr("no kernel choices"));
  const std::string path = file("");
  fs::resize_file(path, kMaxKernelsFile + 1);  // a sparse file
  EXPECT_THAT(missing(path), HasSubstr("more than the limit of"));
}

TEST_F(KernelsFile, RejectsMalformedAndConflictingChoices) {
  for (const char* use : {"\"tiles\"", "{}", "{\"op\": \"matmul\", \"signature\": \"matmul(a)\"}",
                          "{\"op\": \"matmul\", \"signature\": \"matmul(a)\", \"kernel\": 3}",
                          "{\"op\": \"mul\", \"signature\": \"matmul(a)\", \"kernel\": \"tiles\"}",
                          "{\"op\": \"matmul\", \"example\": \"matmul(a)\", \"chosen\": \"tiles\"}"}) {
    EXPECT_THAT(refusal(fmt::format("{{\"kernels\": [{}]}}", use)), HasSubstr("record 1: '")) << use;
  }
  const std::string two =
      record_with({{"matmul(a)", "tiles"}}).dump() + "\n" + record_with({{"matmul(a)", "onednn"}}).dump();
  EXPECT_THAT(refusal(two),
              HasSubstr("record 2 chooses 'onednn' for matmul(a), but an earlier record chooses 'tiles'"));
}

SweepPoint one_layer(const Options& more = {}) {
  return point_of({{"d-model", "40"},
                   {"d-ff", "104"},
                   {"num-layers", "1"},
                   {"num-heads", "5"},
                   {"vocab", "97"},
                   {"context", "18"},
                   {"batch", "3"},
                   {"device", "cpu"},
                   {"threads", "1"},
                   {"pass", "forward"},
                   {"steps", "2"},
                   {"warmup", "0"}},
                  more);
}

// The signature of a matrix product in the test's step, and the kernel "reference", which runs only if a file names it.
std::pair<std::string, std::string> unlikely_choice() {
  const Graph graph = lowered_graph(one_layer().config);
  const auto product = std::find_if(graph.nodes.begin(), graph.nodes.end(),
                                    [](const Node& node) { return node.op->name == std::string_view("matmul"); });
  return {signature_of(graph, *product).text(), kReferenceName};
}

std::string problem_of(const SweepPoint& point) {
  try {
    return check_inputs({point}).front().invalid;
  } catch (const Error& error) {
    return error.what();
  }
}

TEST_F(KernelsFile, PinnedKernelRunsWithoutATrial) {
  const auto [signature, kernel] = unlikely_choice();
  const std::string path = file(record_with({{signature, kernel}, {"matmul(of another model)", "reference"}}).dump());
  const SweepPoint point = one_layer({{"kernels", path}});
  EXPECT_EQ(problem_of(point), "");
  const PointResult result = run_one({point, test::find_device_with_twins}, {});
  ASSERT_EQ(result.record.status, Status::kOk) << result.record.reason;
  const auto& uses = result.record.kernels;
  EXPECT_TRUE(std::any_of(uses.begin(), uses.end(), [&, text = signature, name = kernel](const KernelUse& use) {
    return use.signature == text && use.kernel == name;
  }));
  for (const KernelChoice& choice : result.learned.kernel_choices) EXPECT_NE(choice.signature, signature);
  EXPECT_FALSE(result.learned.kernel_choices.empty());  // signatures that the file does not list are measured
  EXPECT_EQ(result.record.config.text("kernels_file"), path);
}

TEST_F(KernelsFile, RecordPinsEveryKernel) {
  const PointResult measured = run_one({one_layer(), test::find_device_with_twins}, {});
  ASSERT_EQ(measured.record.status, Status::kOk) << measured.record.reason;
  const PointResult again =
      run_one({one_layer({{"kernels", file(to_text(measured.record))}}), test::find_device_with_twins}, {});
  ASSERT_EQ(again.record.status, Status::kOk) << again.record.reason;
  EXPECT_EQ(again.record.kernels, measured.record.kernels);
  EXPECT_EQ(again.record.loss, measured.record.loss);
  EXPECT_TRUE(again.learned.kernel_choices.empty());
}

TEST_F(KernelsFile, PinnedChoicesOverrideMeasuredOnes) {
  const auto [signature, kernel] = unlikely_choice();
  const SweepPoint point = one_layer({{"kernels", file(record_with({{signature, kernel}}).dump())}});
  const Explanation explanation =
      explain({point, test::find_device_with_twins}, test::known({{"", signature, "twin", 1e-6, ""}}));
  const auto pinned = std::find_if(explanation.kernels.begin(), explanation.kernels.end(),
                                   [](const KernelDecision& decision) { return decision.chosen_by == "pinned"; });
  ASSERT_NE(pinned, explanation.kernels.end());
  EXPECT_EQ(pinned->chosen, kernel);
  EXPECT_EQ(pinned->example, signature);
  EXPECT_EQ(pinned->signatures, 1);
  EXPECT_THAT(print(explanation), HasSubstr("pinned by --kernels"));
}

TEST_F(KernelsFile, RejectsImpossibleChoicesBeforeAnythingRuns) {
  const auto [signature, kernel] = unlikely_choice();
  const auto problem = [&](const KernelsBySignature& choices, const std::string& device = "cpu") {
    return problem_of(one_layer({{"kernels", file(record_with(choices).dump())}, {"device", device}}));
  };
  EXPECT_THAT(problem({{signature, kernel + "x"}}),
              AllOf(HasSubstr("choices.json"), HasSubstr("unknown"), HasSubstr("did you mean '" + kernel + "'?")));
  EXPECT_THAT(problem({{signature, kernel}, {"matmul(of another model)", "tilez"}}), HasSubstr("'tilez'"));
  EXPECT_THAT(problem({{"matmull(a)", "tiles"}}), HasSubstr("unknown op 'matmull'; did you mean 'matmul'?"));
  EXPECT_THAT(problem({{"matmul(of another model)", "reference"}}),
              HasSubstr("contains no kernel choice for this point"));
  EXPECT_THAT(problem({{signature, kernel}}, "roofline:h100"), HasSubstr("(one of: roofline)"));
  EXPECT_THAT(problem_of(one_layer({{"kernels", (folder_ / "none.json").string()}})), HasSubstr("none.json"));
}

TEST_F(KernelsFile, ErrorStatesWhyAPinnedKernelIsUnsupported) {
  const Explanation explanation = explain(one_layer({{"mode", "compile"}}), {});
  const auto decision = std::find_if(explanation.kernels.begin(), explanation.kernels.end(),
                                     [](const KernelDecision& one) { return !one.refused.empty(); });
  ASSERT_NE(decision, explanation.kernels.end());
  const RefusedKernel& refused = decision->refused.front();
  const SweepPoint point =
      one_layer({{"mode", "compile"}, {"kernels", file(record_with({{decision->example, refused.kernel}}).dump())}});
  const std::string expected =
      fmt::format("kernel '{}' cannot run {}: {}", refused.kernel, decision->example, refused.reason);
  EXPECT_THAT(problem_of(point), HasSubstr(expected));
  const PointResult result = run_one(point, {});  // detects the error although check_inputs has not run
  EXPECT_EQ(result.record.status, Status::kFailed);
  EXPECT_THAT(result.record.reason, HasSubstr(expected));
}

TEST_F(KernelsFile, RunIdentityDependsOnTheChoicesNotTheFileName) {
  const auto hash = [&](const std::string& path) { return describe_point(one_layer({{"kernels", path}})).config_hash; };
  const std::string one = record_with({{"matmul(a)", "tiles"}}).dump();
  const std::string first = hash(file(one));
  EXPECT_EQ(hash(file("[" + one + "]", "moved.json")), first);
  EXPECT_NE(hash(file(record_with({{"matmul(a)", "onednn"}}).dump())), first);
  EXPECT_NE(hash(file(record_with({{"matmul(a)", "tiles"}, {"matmul(b)", "tiles"}}).dump())), first);
  EXPECT_EQ(hash(file(one)), first);
  EXPECT_NE(describe_point(one_layer()).config_hash, first);
  EXPECT_NE(hash((folder_ / "none.json").string()),
            first);  // the file does not exist, but the identity must still be computed
}

}  // namespace
}  // namespace laptime
