// Sentences about first steps, about points that do not fit, and about how reliable times are.
#include "report/point_text.h"

#include <gmock/gmock.h>

#include "base/json.h"

namespace laptime {
namespace {

TEST(FirstSteps, StateHowMuchLongerTheyTook) {
  Record record;
  Transient& transient = record.transient;
  transient.steps = 1;
  transient.excess = 1;
  EXPECT_EQ(first_steps_text(record), "first step 1.000 s longer");
  transient.steps = 3;
  transient.page_faults = 0.25;
  EXPECT_EQ(first_steps_text(record), "first 3 steps together 1.000 s longer, 250.0 ms of it page faults");
  transient.excess = 0;
  EXPECT_EQ(first_steps_text(record), "first steps: no longer than later ones");
}

TEST(PointText, HasNoEmptyLineForAPassOfOnePhase) {
  Record record;
  record.config.json()["pass"] = "backward";
  record.phases = {{"forward", 1, 0.25}, {"backward", 3, 0.75}};
  record.time["forward"] = make_time_stats(std::vector{1.0});
  record.time["backward"] = make_time_stats(std::vector{3.0});
  const std::vector<Record> records{record};
  const std::string text = point_text(record, Heading(RecordList(records)), {}, /*quiet=*/true, /*is_stored=*/false);
  EXPECT_EQ(std::ranges::count(text, '\n'), 1) << text;
}

Record without_memory(int64_t context, int64_t bytes) {
  Record record;
  record.name = "forward/model:attention/ctx:" + std::to_string(context) + "/d_model:16";
  record.status = Status::kOutOfMemory;
  record.reason = "predicted: more GiB than there are";
  record.bytes_requested = bytes;
  return record;
}

Record smallest_of(const std::vector<Record>& records) {
  std::optional<Record> smallest;
  for (const Record& record : records) {
    if (is_smaller_shortage(record, smallest)) smallest = record;
  }
  return smallest.value();
}

TEST(Shortage, ExplainsTheSmallestPoint) {
  Record small = without_memory(8192, 5000);
  small.memory.predicted_peak_bytes = 5000;
  small.memory.largest = {{"", "exp", "attn.weights", "backward", "activation", "float32", {8, 1, 16}, 512},
                          {"q", "", "", "setup", "input", "float32", {8, 2}, 64},
                          {"k", "", "", "setup", "input", "float32", {8, 2}, 64},
                          {"", "matmul", "attn.scores", "forward", "workspace", "", {}, 48},
                          {"mask", "", "", "setup", "constant", "bool", {4, 4}, 16}};
  const std::vector<Record> records{without_memory(16384, 9000), small, without_memory(4096, 6000)};
  EXPECT_EQ(explain_shortage(smallest_of(records)),
            "\nthe smallest point that does not fit: forward attention ctx 8192 d_model 16\n"
            "  predicted: more GiB than there are\n"
            "live at the peak:\n"
            "  8 x 1 x 16 x 4 bytes = 512 B  made by exp in attn.weights, backward (activation)\n"
            "  8 x 2 x 4 bytes = 64 B        q (input)\n"
            "  8 x 2 x 4 bytes = 64 B        k (input)\n"
            "  48 B                          made by matmul in attn.scores, forward (workspace)\n"
            "  4 x 4 x 1 byte = 16 B         mask (constant)\n"
            "  4.195 KiB                     everything else, and gaps between tensors\n"
            "  4.883 KiB                     total\n");
}

TEST(Shortage, StatesOnlyTheReasonIfNothingWasPlanned) {
  const std::vector<Record> records{without_memory(64, 1), Record()};
  EXPECT_EQ(explain_shortage(smallest_of(records)),
            "\nthe smallest point that does not fit: forward attention ctx 64 d_model 16\n"
            "  predicted: more GiB than there are\n");
}

const std::vector<double> kCalm{1.00, 1.01, 0.99, 1.00, 1.02, 0.98, 1.00, 1.01, 0.99, 1.00};

Record rated(const std::vector<double>& samples, const std::string& rating, const std::string& reason = "") {
  Record record;
  record.config.json()["pass"] = "step";
  record.time["step"] = make_time_stats(samples);
  record.verdict = {rating, {reason}};
  record.binary.build_type = "Release";
  return record;
}

std::string trust_in(const Record& record) {
  TrustLine trust;
  trust.add(record);
  return trust.line();
}

TEST(TrustLine, IsEmptyForNarrowIntervals) { EXPECT_EQ(trust_in(rated(kCalm, "noisy")), ""); }

TEST(TrustLine, StatesWideIntervals) {
  EXPECT_THAT(trust_in(rated({1, 1.3, 0.8, 1.2, 0.9, 1.25, 0.85, 1.3}, "unstable", "spread")),
              testing::MatchesRegex("! times are known to ±[0-9]+ %"));
}

TEST(TrustLine, StatesThatThereAreFewSamples) {
  EXPECT_EQ(trust_in(rated({1, 1, 1, 1, 1}, "untested")), "! only 5 samples: accurate to about 5 %");
}

TEST(TrustLine, SingleSampleLeavesTheSpreadUnknown) {
  TrustLine trust;
  for (const std::vector<double>& samples : {kCalm, std::vector{1.0}}) trust.add(rated(samples, "untested"));
  EXPECT_EQ(trust.line(), "! only 1 sample, so the spread is unknown");
}

TEST(TrustLine, StatesThatTheMachineWasBusy) {
  Record record = rated(kCalm, "unstable", "waiting for a core");
  record.verdict.lost = 0.7;
  EXPECT_EQ(trust_in(record), "! 70 % of the time lost to other programs: compare ratios, not times");
  record.verdict.lost_to = "to a CPU quota";
  EXPECT_EQ(trust_in(record), "! 70 % of the time lost to a CPU quota: compare ratios, not times");
  record.verdict.lost = 0.05;
  EXPECT_EQ(trust_in(record), "");
}

TEST(TrustLine, StatesDriftAndDebugBuilds) {
  EXPECT_EQ(trust_in(rated(kCalm, "no_steady_state", "steps got faster (by 9 %)")), "! steps got faster");
  Record record = rated(kCalm, "unstable", "a debug build");
  record.binary.build_type = "Debug";
  EXPECT_EQ(trust_in(record), "! a debug build");
}

TEST(TrustLine, StatesThatTimesArePredicted) {
  EXPECT_EQ(trust_in(rated(kCalm, "predicted")), "! predicted, not measured");
  EXPECT_EQ(trust_in(Record()), "");
}

}  // namespace
}  // namespace laptime
