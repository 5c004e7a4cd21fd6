// Whole sweeps on a virtual clock: order, durability, resuming, and stores that fail.
#include "sweep/run_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "measure/describe.h"
#include "record/sample_record.h"
#include "record/store.h"
#include "support/error_of.h"
#include "sweep/claims.h"
#include "sweep/sweep_points.h"
#include "sweep/sweep_store.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Bench : public testing::Test {
 protected:
  Bench() { fs::create_directories(folder_); }
  ~Bench() override { fs::remove_all(folder_); }

  fs::path folder_ = fs::path(testing::TempDir()) / ("laptime_bench_" + std::to_string(getpid()));
  fs::path store_ = folder_ / "records.sqlite";
};

// One point for each value of `contexts`, on a roofline device unless `more` names another device.
std::vector<ResolvedPoint> points_of(const std::vector<std::string>& contexts,
                                     const std::vector<std::pair<std::string, std::string>>& more = {}) {
  Sweep sweep;
  std::vector<std::pair<std::string, std::string>> options{
      {"d-model", "32"}, {"d-ff", "64"},  {"num-layers", "1"}, {"num-heads", "2"},         {"vocab", "64"},
      {"batch", "1"},    {"warmup", "1"}, {"steps", "2"},      {"device", "roofline:h100"}};
  options.insert(options.end(), more.begin(), more.end());
  for (const auto& [flag, value] : options) set_option(sweep, flag, "--" + flag, {value});
  set_option(sweep, "context", "--context", contexts);
  return resolved(expand(sweep));
}

struct Seen {
  std::vector<Record> records;
  std::vector<PointSource> sources;
  std::vector<std::string> warnings;

  SweepCallbacks callbacks() {
    SweepCallbacks callbacks;
    callbacks.finished = [this](size_t index, const PointResult& result, PointSource source, Seconds) {
      const Record& record = result.record;
      EXPECT_EQ(index, records.size());
      records.push_back(record);
      sources.push_back(source);
    };
    callbacks.warning = [this](const std::string& message) { warnings.push_back(message); };
    return callbacks;
  }
};

std::vector<Status> statuses(const std::vector<Record>& records) {
  std::vector<Status> statuses;
  statuses.reserve(records.size());
  for (const Record& record : records) statuses.push_back(record.status);
  return statuses;
}

TEST_F(Bench, ChangedCoreMaskDoesNotCountAsChangedFiles) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
  if (CPU_COUNT(&all) < 2) GTEST_SKIP() << "needs at least two allowed cores";
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  std::ofstream(folder_ / "a.txt") << std::string(1000, '1');
  Seen seen;
  SweepCallbacks callbacks = seen.callbacks();
  callbacks.progress = [&](size_t, const PointProgress&, Seconds) { sched_setaffinity(0, sizeof(one), &one); };
  run_sweep(points_of({"8"}, {{"device", "cpu"}, {"threads", "1"}, {"data", (folder_ / "a.txt").string()}}), {},
            callbacks);
  cpu_set_t after;
  ASSERT_EQ(sched_getaffinity(0, sizeof(after), &after), 0);
  ASSERT_EQ(sched_setaffinity(0, sizeof(all), &all), 0);
  EXPECT_EQ(CPU_COUNT(&after), 1);
  EXPECT_EQ(statuses(seen.records), std::vector{Status::kOk}) << seen.records.at(0).reason;
}

TEST_F(Bench, ReportsPointsInOrderAfterStoringThem) {
  Seen seen;
  SweepCallbacks callbacks = seen.callbacks();
  const auto remember = callbacks.finished;
  callbacks.finished = [&](size_t index, const PointResult& result, PointSource source, Seconds elapsed) {
    const Record& record = result.record;
    const std::vector<Record> stored = whole_records(Store::open(store_, Store::Access::kRead));
    ASSERT_EQ(stored.size(), index + 1);
    EXPECT_EQ(stored.back(), record);
    remember(index, result, source, elapsed);
  };
  const auto points = points_of({"8", "16", "24"});
  const SweepOutcome outcome = run_sweep(points, {store_, false, "contexts"}, callbacks);
  EXPECT_FALSE(outcome.failed || outcome.interrupted);
  EXPECT_EQ(outcome.lost, 0U);
  ASSERT_EQ(seen.records.size(), 3U);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(seen.records[i].status, Status::kOk) << seen.records[i].reason;
    EXPECT_EQ(seen.records[i].name, points[i].name);
    EXPECT_EQ(seen.records[i].sweep, "contexts");
    EXPECT_EQ(seen.records[i].run, seen.records[0].run);
    ASSERT_NE(seen.records[i].main_time(), nullptr);
    EXPECT_EQ(seen.records[i].main_time()->count, 2);
  }
}

TEST_F(Bench, RecordsInvalidPoints) {
  Sweep sweep;
  set_option(sweep, "device", "--device", {"roofline:h100"});
  set_option(sweep, "d-model", "--d-model", {"32"});
  set_option(sweep, "num-heads", "--num-heads", {"2", "3"});
  set_option(sweep, "steps", "--steps", {"1"});
  Seen mixed;
  const SweepOutcome with_invalid = run_sweep(resolved(expand(sweep)), {store_, false, ""}, mixed.callbacks());
  EXPECT_FALSE(with_invalid.failed);
  EXPECT_THAT(statuses(mixed.records), ElementsAre(Status::kOk, Status::kUnsupported));
  EXPECT_EQ(mixed.sources[1], PointSource::kInvalid);
  EXPECT_THAT(mixed.records[1].reason, HasSubstr("3"));
  EXPECT_EQ(whole_records(Store::open(store_)).size(), 2U);
}

TEST_F(Bench, SweepWithoutASupportedPointFails) {
  Seen seen;
  const auto points = points_of({"8", "16"}, {{"device", "cpu"}, {"dtype", "tf32"}});
  EXPECT_TRUE(run_sweep(points, {store_, false, ""}, seen.callbacks()).failed);
  EXPECT_THAT(statuses(seen.records), ElementsAre(Status::kUnsupported, Status::kUnsupported));
}

TEST_F(Bench, OversizedPointsSuggestSizesThatFit) {
  Seen seen;
  const auto points = points_of({"4096", "8192"}, {{"batch", "8"}, {"memory-limit", "64MiB"}, {"recompute", "none"}});
  EXPECT_FALSE(run_sweep(points, {store_, false, ""}, seen.callbacks()).failed);
  ASSERT_THAT(statuses(seen.records), ElementsAre(Status::kOutOfMemory, Status::kOutOfMemory));
  const std::string& reason = seen.records[0].reason;
  EXPECT_THAT(seen.records[1].reason, HasSubstr("; it fits with --context "));
  const size_t at = reason.find("; it fits with --context ");
  ASSERT_NE(at, std::string::npos) << reason;
  const int context = std::stoi(reason.substr(reason.rfind(' ')));
  const std::vector<std::pair<std::string, std::string>> more{
      {"batch", "8"}, {"memory-limit", "64MiB"}, {"recompute", "none"}};
  Seen sizes;
  run_sweep(points_of({std::to_string(context), std::to_string(context + 1)}, more), {store_, false, ""},
            sizes.callbacks());
  EXPECT_THAT(statuses(sizes.records), ElementsAre(Status::kOk, Status::kOutOfMemory));
}

TEST_F(Bench, ResumeTakesFinishedPointsFromTheStore) {
  Seen first;
  run_sweep(points_of({"8", "16"}), {store_, false, ""}, first.callbacks());
  Seen second;
  run_sweep(points_of({"8", "16", "24"}), {store_, true, ""}, second.callbacks());
  EXPECT_THAT(second.sources, ElementsAre(PointSource::kStored, PointSource::kStored, PointSource::kMeasured));
  EXPECT_EQ(second.records[0], first.records[0]);
  EXPECT_EQ(second.records[1], first.records[1]);
  EXPECT_EQ(whole_records(Store::open(store_)).size(), 3U);
}

TEST_F(Bench, ResumeNamesAndLabelsStoredPointsAsTheCommandDoes) {
  auto points = points_of({"8"});
  run_sweep(points, {store_, false, ""});
  const std::string first_name = points[0].name;
  points[0].name = "step/model:other";
  points[0].label = "a label";
  Seen seen;
  run_sweep(points, {store_, true, ""}, seen.callbacks());
  ASSERT_THAT(seen.sources, ElementsAre(PointSource::kStored));
  EXPECT_EQ(seen.records[0].name, "step/model:other");
  EXPECT_EQ(seen.records[0].label, "a label");
  EXPECT_EQ(whole_records(Store::open(store_)).at(0).name, first_name);
  Record described = describe_point(points[0]);
  described.asked_hash = "asked";
  Record elsewhere = described;
  elsewhere.name = first_name;
  Store::open(store_).append(elsewhere);
  const std::optional<Store::Finished> anywhere = SweepStore(store_).reusable_anywhere(described);
  ASSERT_TRUE(anywhere);
  EXPECT_EQ(anywhere->record.name, "step/model:other");
  EXPECT_EQ(anywhere->record.label, "a label");
}

TEST_F(Bench, ReusesARecordOnlyIfTheSameActivationsWouldBeRecomputed) {
  const auto points = points_of({"64"}, {{"batch", "8"}, {"recompute", "auto"}, {"memory-limit", "1GiB"}});
  Seen seen;
  run_sweep(points, {store_, false, ""}, seen.callbacks());
  const Record described = describe_point(points[0]);
  EXPECT_TRUE(SweepStore(store_).reusable(points[0], described, {}));
  Record lean = seen.records.at(0);
  ASSERT_EQ(lean.memory.recompute, "none");
  lean.memory.recompute = "block";
  fs::remove(store_);
  Store::open(store_).append(lean);
  EXPECT_TRUE(SweepStore(store_).finished(described));
  EXPECT_FALSE(SweepStore(store_).reusable(points[0], described, {}));
}

TEST_F(Bench, ResumeRepeatsUnfinishedPoints) {
  Seen first;
  run_sweep(points_of({"8"}), {store_, false, ""}, first.callbacks());
  Record failed = first.records[0];
  fs::remove(store_);
  for (const Status status :
       {Status::kFailed, Status::kTimeout, Status::kInterrupted, Status::kOutOfMemory, Status::kUnsupported}) {
    failed.status = status;
    Store::open(store_).append(failed);
  }
  Record elsewhere = first.records[0];
  elsewhere.fingerprint = "another machine";
  Store::open(store_).append(elsewhere);
  elsewhere = first.records[0];
  elsewhere.binary.id = "another build";
  Store::open(store_).append(elsewhere);
  Seen second;
  run_sweep(points_of({"8"}), {store_, true, ""}, second.callbacks());
  EXPECT_THAT(second.sources, ElementsAre(PointSource::kMeasured));
}

TEST_F(Bench, ResumeMeasuresAgainAfterAFileHasChanged) {
  const fs::path text = folder_ / "text";
  const auto points = [&] { return points_of({"8"}, {{"data", text}, {"vocab", "256"}}); };
  std::ofstream(text) << "some words of text";
  Seen first;
  run_sweep(points(), {store_, false, ""}, first.callbacks());
  Seen second;
  run_sweep(points(), {store_, true, ""}, second.callbacks());
  EXPECT_THAT(second.sources, ElementsAre(PointSource::kStored));
  std::ofstream(text) << "some other text, y";
  Seen third;
  run_sweep(points(), {store_, true, ""}, third.callbacks());
  EXPECT_THAT(third.sources, ElementsAre(PointSource::kMeasured));
}

TEST_F(Bench, ChangedInputFileFailsThePoint) {
  const fs::path text = folder_ / "text";
  std::ofstream(text) << "some words of text";
  Seen seen;
  SweepCallbacks callbacks = seen.callbacks();
  callbacks.progress = [&](size_t, const PointProgress& progress, Seconds) {
    if (progress.stage == "steps") std::ofstream(text) << "some other text, y";
  };
  bool has_trace = false;
  const auto remember = callbacks.finished;
  callbacks.finished = [&](size_t index, const PointResult& result, PointSource source, Seconds elapsed) {
    has_trace = result.trace.has_value();
    remember(index, result, source, elapsed);
  };
  const auto outcome =
      run_sweep(points_of({"8"}, {{"data", text}, {"vocab", "256"}}),
                {.store = store_, .name = "", .trace = {.wanted = true, .traced_steps = 1}}, callbacks);
  EXPECT_FALSE(has_trace);
  EXPECT_TRUE(outcome.failed);
  EXPECT_THAT(statuses(seen.records), ElementsAre(Status::kFailed));
  EXPECT_THAT(seen.records[0].reason, AllOf(HasSubstr("--data"), HasSubstr("changed")));
  EXPECT_EQ(seen.records[0].main_time(), nullptr);
}

TEST_F(Bench, ResumeWaitsForPointsThatAnotherProgramMeasures) {
  const auto points = points_of({"8", "16", "24"});
  Store::open(store_).check_writable();
  const Record described = describe_point(points[0]);
  // The test acts as another program: it claims the first point until the other points are done, and then stores it.
  std::optional<PointClaim> claim = PointClaim::take(store_, described);
  ASSERT_TRUE(claim.has_value());
  std::vector<size_t> order;
  std::vector<PointSource> sources;
  bool waited = false;
  SweepCallbacks callbacks;
  callbacks.finished = [&](size_t index, const PointResult&, PointSource source, Seconds) {
    order.push_back(index);
    sources.push_back(source);
  };
  callbacks.progress = [&](size_t index, const PointProgress& progress, Seconds) {
    if (progress.stage != "another program is measuring it") return;
    EXPECT_EQ(index, 0U);
    waited = true;
    if (!claim) return;
    Record theirs = described;
    theirs.reason = "measured elsewhere";
    Store::open(store_).append(theirs);
    claim.reset();
  };
  run_sweep(points, {store_, true, ""}, callbacks);
  EXPECT_TRUE(waited);
  EXPECT_THAT(order, ElementsAre(1, 2, 0));
  EXPECT_THAT(sources, ElementsAre(PointSource::kMeasured, PointSource::kMeasured, PointSource::kStored));
  EXPECT_EQ(whole_records(Store::open(store_)).size(), 3U);
}

TEST_F(Bench, ResumeMeasuresAPointWhoseClaimWasReleased) {
  const auto points = points_of({"8"});
  Store::open(store_).check_writable();
  const Record described = describe_point(points[0]);
  std::optional<PointClaim> claim = PointClaim::take(store_, described);
  Seen seen;
  SweepCallbacks callbacks = seen.callbacks();
  callbacks.progress = [&](size_t, const PointProgress&, Seconds) { claim.reset(); };
  run_sweep(points, {store_, true, ""}, callbacks);
  EXPECT_THAT(seen.sources, ElementsAre(PointSource::kMeasured));
}

TEST_F(Bench, ResumeNeedsAStore) { EXPECT_THROW(run_sweep(points_of({"8"}), {std::nullopt, true, ""}), Error); }

TEST_F(Bench, EveryProcessOfMpirunMustBeARank) {
  const auto refusal_of = [](const std::vector<ResolvedPoint>& points) {
    return test::error_of([&] { run_sweep(points, {.store = std::nullopt, .name = "", .ranks = {.size = 2}}); });
  };
  EXPECT_THAT(refusal_of(points_of({"8"}, {{"device", "cpu"}})),
              HasSubstr("2 processes were started, but the point has --ranks 1"));
  EXPECT_EQ(refusal_of(points_of({"8"})), "") << "predicted points run in one process";
}

TEST_F(Bench, RejectsAnUnusableStoreBeforeAnythingRuns) {
  std::ofstream(folder_ / "file") << "not a directory";
  bool begun = false;
  SweepCallbacks callbacks;
  callbacks.begin = [&](size_t) { begun = true; };
  EXPECT_THROW(run_sweep(points_of({"8"}), {folder_ / "file" / "records.sqlite", false, ""}, callbacks), Error);
  EXPECT_THROW(run_sweep(points_of({"8"}), {folder_ / "file", false, ""}, callbacks), Error);
  EXPECT_FALSE(begun);
}

TEST_F(Bench, FailingStoreIsReportedOnce) {
  Seen seen;
  SweepCallbacks callbacks = seen.callbacks();
  const auto remember = callbacks.finished;
  callbacks.finished = [&](size_t index, const PointResult& result, PointSource source, Seconds elapsed) {
    remember(index, result, source, elapsed);
    if (index == 0) {
      fs::remove(store_);
      fs::create_directory(store_);  // every write fails now
    }
  };
  const SweepOutcome outcome = run_sweep(points_of({"8", "16", "24"}), {store_, false, ""}, callbacks);
  EXPECT_EQ(outcome.lost, 3U);  // the first record was removed with the store
  EXPECT_EQ(seen.records.size(), 3U);
  EXPECT_EQ(seen.warnings.size(), 1U);
  EXPECT_THAT(statuses(seen.records), ElementsAre(Status::kOk, Status::kOk, Status::kOk));
}

TEST_F(Bench, UnsavedRecordsAreStoredLater) {
  Seen seen;
  SweepCallbacks callbacks = seen.callbacks();
  const auto remember = callbacks.finished;
  callbacks.finished = [&](size_t index, const PointResult& result, PointSource source, Seconds elapsed) {
    remember(index, result, source, elapsed);
    if (index == 0) fs::rename(store_, folder_ / "away"), fs::create_directory(store_);
    if (index == 2) fs::remove(store_), fs::rename(folder_ / "away", store_);
  };
  const SweepOutcome outcome = run_sweep(points_of({"8", "16", "24", "32"}), {store_, false, ""}, callbacks);
  EXPECT_EQ(outcome.lost, 0U);
  const std::vector<Record> stored = whole_records(Store::open(store_));
  ASSERT_EQ(stored.size(), 4U);
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(stored[i].name, seen.records[i].name);
}

TEST_F(Bench, SignalKeepsFinishedPoints) {
  Seen seen;
  SweepCallbacks callbacks = seen.callbacks();
  const auto remember = callbacks.finished;
  callbacks.finished = [&](size_t index, const PointResult& result, PointSource source, Seconds elapsed) {
    remember(index, result, source, elapsed);
    if (index == 1) kill(getpid(), SIGINT);
  };
  const SweepOutcome outcome = run_sweep(points_of({"8", "16", "24", "32"}), {store_, false, ""}, callbacks);
  EXPECT_TRUE(outcome.interrupted);
  EXPECT_EQ(seen.records.size(), 2U);
  EXPECT_EQ(whole_records(Store::open(store_)).size(), 2U);
}

TEST_F(Bench, FailedPointFailsTheSweep) {
  Seen seen;
  const SweepOutcome outcome = run_sweep(points_of({"8"}, {{"device", "cpu"}, {"timeout", "0.001"}, {"threads", "1"}}),
                                         {std::nullopt, false, ""}, seen.callbacks());
  EXPECT_TRUE(outcome.failed);
  EXPECT_THAT(statuses(seen.records), ElementsAre(Status::kTimeout));
}

PointResult learned(const std::string& name, const std::string& signature, const std::string& kernel) {
  PointResult result;
  result.record.name = name;
  result.learned.kernel_choices = {{"machine", signature, kernel, 1, "2025-01-01T00:00:00Z"}};
  result.learned.peaks = {{"machine", "peak of " + kernel, 1, "FLOP/s", "2025-01-01T00:00:00Z"}};
  return result;
}

TEST_F(Bench, MeasurementsAreKeptInTheStoreOrInMemory) {
  for (const std::optional<fs::path>& path : {std::optional<fs::path>(), std::optional<fs::path>(store_)}) {
    SweepStore store(path);
    EXPECT_TRUE(store.known("machine").kernel_choices.empty());
    EXPECT_EQ(store.keep(learned("a", "matmul 1", "slow")), std::nullopt);
    EXPECT_EQ(store.keep(learned("b", "matmul 2", "other")), std::nullopt);
    EXPECT_EQ(store.keep(learned("c", "matmul 1", "fast")), std::nullopt);
    const MachineKnowledge known = store.known("machine");
    ASSERT_EQ(known.kernel_choices.size(), 2U);
    EXPECT_EQ(known.kernel_choices[0].kernel, "fast");
    EXPECT_EQ(known.kernel_choices[1].kernel, "other");
    EXPECT_EQ(known.peaks.size(), 3U);
    EXPECT_TRUE(store.known("another").kernel_choices.empty());
    EXPECT_TRUE(store.known("another").peaks.empty());
  }
  EXPECT_EQ(SweepStore(store_).known("machine").kernel_choices.size(), 2U);
  EXPECT_TRUE(SweepStore(store_).known("another").kernel_choices.empty());
}

std::string refusal(const std::vector<ResolvedPoint>& points) {
  return test::error_of([&] { check_inputs({points.begin(), points.end()}); });
}

TEST_F(Bench, InputsAreCheckedBeforeAnythingRuns) {
  EXPECT_EQ(refusal(points_of({"8"})), "");
  EXPECT_THAT(refusal(points_of({"8"}, {{"data", folder_ / "none.txt"}})), HasSubstr("none.txt"));
  EXPECT_THAT(refusal(points_of({"8"}, {{"weights", folder_ / "none.safetensors"}})), HasSubstr("none.safetensors"));
  std::ofstream(folder_ / "text") << "0123456789";
  EXPECT_THAT(refusal(points_of({"8"}, {{"data", folder_ / "text"}, {"vocab", "50"}})), HasSubstr("text"));
  for (const char* const mode : {"eager", "compile"}) {
    const std::string unknown = refusal(points_of({"8"}, {{"mode", mode}, {"keep", "rms_nrom"}}));
    EXPECT_THAT(unknown, HasSubstr("did you mean 'rms_norm'?")) << mode;
  }
}

TEST_F(Bench, PointsWithBadInputsAreMarkedInvalid) {
  std::ofstream(folder_ / "text") << "0123456789";
  const std::vector<ResolvedPoint> asked = points_of({"8", "16"}, {{"data", folder_ / "text"}, {"vocab", "256"}});
  const std::vector<ResolvedPoint> points = check_inputs({asked.begin(), asked.end()});
  EXPECT_EQ(points[0].invalid, "");
  EXPECT_THAT(points[1].invalid, HasSubstr("text"));
}

}  // namespace
}  // namespace laptime
