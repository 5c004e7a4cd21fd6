// Points in child processes: every point gets a record, however its process ends.
#include "sweep/child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <thread>

#include "base/error.h"
#include "sweep/child_messages.h"
#include "sweep/pipe.h"

namespace laptime {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr Seconds kLong{30};

Record described() {
  Record record;
  record.name = "step/model:tiny";
  record.config_hash = "0123456789abcdef";
  return record;
}

PointResult finished(Status status = Status::kOk) {
  PointResult result{described(), {}};
  result.record.status = status;
  return result;
}

Record record_of(const PointBody& body, const ChildLimits& limits = {kLong}, const ChildCallbacks& callbacks = {}) {
  StopSignals signals;
  return run_in_child(described(), body, limits, signals, callbacks).record;
}

TEST(Child, SendsRecordAndMeasurements) {
  StopSignals signals;
  const PointResult result = run_in_child(
      described(),
      [](const PointHooks&) {
        PointResult result = finished();
        result.record.reason = "caf\xc3\xa9 \"quoted\"\nsecond line";
        result.record.loss.values = {0.1, 1.0 / 3, 1e-300};
        result.record.tokens_per_second = 12345.678901234567;
        result.learned.kernel_choices = {{"machine", "matmul 3x4", "tiles", 0.1 + 0.2, "2025-01-02T03:04:05Z"}};
        result.learned.peaks = {{"machine", "float32", 1e12, "FLOP/s", "2025-01-02T03:04:05Z"}};
        return result;
      },
      {kLong}, signals);
  EXPECT_EQ(result.record.status, Status::kOk);
  EXPECT_EQ(result.record.reason, "caf\xc3\xa9 \"quoted\"\nsecond line");
  EXPECT_EQ(result.record.loss.values, (std::vector<double>{0.1, 1.0 / 3, 1e-300}));
  EXPECT_EQ(result.record.tokens_per_second, 12345.678901234567);
  ASSERT_EQ(result.learned.kernel_choices.size(), 1U);
  EXPECT_EQ(result.learned.kernel_choices[0],
            (KernelChoice{"machine", "matmul 3x4", "tiles", 0.1 + 0.2, "2025-01-02T03:04:05Z"}));
  ASSERT_EQ(result.learned.peaks.size(), 1U);
  EXPECT_EQ(result.learned.peaks[0], (MeasuredPeak{"machine", "float32", 1e12, "FLOP/s", "2025-01-02T03:04:05Z"}));
}

TEST(Child, RunsInItsOwnProcess) {
  int ours = 1;
  const Record record = record_of([&](const PointHooks&) {
    ours = 2;
    PointResult result = finished();
    result.record.reason = std::to_string(getpid());
    return result;
  });
  EXPECT_EQ(ours, 1);
  EXPECT_NE(record.reason, std::to_string(getpid()));
  EXPECT_EQ(kill(std::stoi(record.reason), 0), -1);  // the child has been reaped
}

TEST(Child, SendsLargeRecords) {
  const Record record = record_of([](const PointHooks&) {
    PointResult result = finished();
    result.record.loss.values.assign(300'000, 0.123456789012345);
    return result;
  });
  EXPECT_EQ(record.loss.values.size(), 300'000U);
}

TEST(Child, KeepsTheRecordIfItsTraceIsTooLarge) {
  StopSignals signals;
  const PointResult result = run_in_child(
      described(),
      [](const PointHooks&) {
        PointResult result = finished();
        result.record.loss.values = {0.5};
        result.trace.emplace().texts = {std::string(kMaxDocumentBytes, 'x')};
        return result;
      },
      {kLong}, signals);
  EXPECT_EQ(result.record.status, Status::kOk) << result.record.reason;
  EXPECT_EQ(result.record.loss.values, std::vector<double>{0.5});
  EXPECT_FALSE(result.trace);
  EXPECT_EQ(result.record.verdict.reasons,
            std::vector<std::string>{"the trace is too large to keep; use fewer --traced-steps"});
}

TEST(Child, ReportsProgressButNotEveryShortStep) {
  std::vector<PointProgress> heard;
  ChildCallbacks callbacks;
  callbacks.progress = [&](const PointProgress& progress, Seconds elapsed) {
    EXPECT_GE(elapsed.count(), 0);
    heard.push_back(progress);
  };
  record_of(
      [](const PointHooks& hooks) {
        hooks.progress({.stage = "plan"});
        hooks.progress({.stage = "weights"});
        for (int step = 1; step <= 1000; ++step) hooks.progress({"steps", step, 1000, 1e-6});
        return finished();
      },
      {kLong}, callbacks);
  ASSERT_GE(heard.size(), 3U);
  EXPECT_LT(heard.size(), 200U);
  EXPECT_EQ(heard[0].stage, "plan");
  EXPECT_EQ(heard[1].stage, "weights");
  EXPECT_EQ(heard[2].stage, "steps");
  EXPECT_EQ(heard[2].done, 1);
  EXPECT_EQ(heard[2].expected, 1000);
}

TEST(Child, ReportsAFatalSignalWithTheStep) {
  const Record record = record_of([](const PointHooks& hooks) {
    hooks.progress({"steps", 3, 10, 0.5});
    std::signal(SIGSEGV, SIG_DFL);
    raise(SIGSEGV);
    return finished();
  });
  EXPECT_EQ(record.status, Status::kFailed);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("SIGSEGV"), HasSubstr("after step 3 of 10")));
  EXPECT_EQ(record.name, "step/model:tiny");
  EXPECT_EQ(record.config_hash, "0123456789abcdef");
}

TEST(Child, ReportsFailedCheck) {
  std::string printed;
  ChildCallbacks callbacks;
  callbacks.output = [&](std::string_view text) { printed += text; };
  const Record record = record_of(
      [](const PointHooks&) {
        std::signal(SIGABRT, SIG_DFL);
        LAPTIME_CHECK(2 + 2 == 5, "sum is {}", 4);
        return finished();
      },
      {kLong}, callbacks);
  EXPECT_EQ(record.status, Status::kFailed);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("SIGABRT"), HasSubstr("sum is 4")));
  EXPECT_THAT(printed, HasSubstr("internal check failed"));
}

TEST(Child, DistinguishesOomKillFromOtherKills) {
  const Record record = record_of([](const PointHooks&) {
    raise(SIGKILL);
    return finished();
  });
  if (record.status == Status::kOutOfMemory) GTEST_SKIP() << "this kernel does not count its OOM kills";
  EXPECT_EQ(record.status, Status::kFailed);
  EXPECT_THAT(record.reason, HasSubstr("killed by another process"));
}

TEST(Child, ReportsAFailedAllocationAsOutOfMemory) {
  const Record record = record_of([](const PointHooks& hooks) {
    Record planned = described();
    planned.memory.predicted_peak_bytes = 12345;
    planned.math_mode = "float32";
    hooks.planned(planned);
    throw std::bad_alloc();
    return finished();
  });
  EXPECT_EQ(record.status, Status::kOutOfMemory);
  EXPECT_EQ(record.bytes_requested, 12345);
  EXPECT_GT(record.bytes_available.value_or(0), 0);
  EXPECT_EQ(record.math_mode, "float32");
}

TEST(Child, ReportsExceptionsAndExitCodesAsFailures) {
  const Record thrown = record_of([](const PointHooks&) -> PointResult { throw std::runtime_error("out of cheese"); });
  EXPECT_EQ(thrown.status, Status::kFailed);
  EXPECT_THAT(thrown.reason, HasSubstr("out of cheese"));

  const Record left = record_of([](const PointHooks&) -> PointResult { _exit(7); });
  EXPECT_EQ(left.status, Status::kFailed);
  EXPECT_THAT(left.reason, AllOf(HasSubstr("exit code 7"), HasSubstr("before it reported anything")));

  const Record silent = record_of([](const PointHooks&) -> PointResult { _exit(0); });
  EXPECT_EQ(silent.status, Status::kFailed);
  EXPECT_THAT(silent.reason, HasSubstr("without a result"));
}

// Writes to every inherited pipe except the standard streams.
PointResult babble(const std::string& text) {
  for (int descriptor = 3; descriptor < 64; ++descriptor) {
    if (write(descriptor, text.data(), text.size()) < 0) continue;
  }
  return finished();
}

TEST(Child, ReportsGarbageOutputAsAFailure) {
  for (const std::string& garbage : {std::string("\x01\x02nonsense\n"), std::string("{\"progress\": 3}\n"),
                                     std::string("{}\n"), std::string("[1,2]\n")}) {
    const Record record = record_of([&](const PointHooks&) { return babble(garbage); });
    EXPECT_EQ(record.status, Status::kFailed) << garbage;
    EXPECT_THAT(record.reason, HasSubstr("is not a valid message")) << garbage;
  }
}

TEST(Child, ReportsATruncatedResultAsAFailure) {
  const Record record = record_of([](const PointHooks&) {
    babble("{\"record\": {\"name\"");
    _exit(0);
    return finished();
  });
  EXPECT_EQ(record.status, Status::kFailed);
}

TEST(Child, SlowIsKilledIfItClosesItsPipes) {
  const Record record = record_of([](const PointHooks&) {
    for (int descriptor = 1; descriptor < 64; ++descriptor) close(descriptor);
    std::this_thread::sleep_for(1h);
    return finished();
  });
  EXPECT_EQ(record.status, Status::kFailed);
  EXPECT_THAT(record.reason, HasSubstr("closed its pipes"));
}

TEST(Child, TimeoutKillsTheChild) {
  const auto start = std::chrono::steady_clock::now();
  const Record record = record_of(
      [](const PointHooks& hooks) {
        hooks.progress({"steps", 2, 9, 0.1});
        std::this_thread::sleep_for(1h);
        return finished();
      },
      {Seconds(0.3)});
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  EXPECT_EQ(record.status, Status::kTimeout);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("300.0 ms"), HasSubstr("after step 2 of 9"), HasSubstr("--timeout")));
}

TEST(Child, SlowIsKilledBeforeTheTimeoutIfItHangs) {
  const auto start = std::chrono::steady_clock::now();
  const Record record = record_of(
      [](const PointHooks& hooks) {
        hooks.progress({"steps", 2, 9, 0.1});
        std::this_thread::sleep_for(1h);
        return finished();
      },
      {.timeout = Seconds(600), .silence = Seconds(1)});
  EXPECT_LT(std::chrono::steady_clock::now() - start, 20s);
  EXPECT_EQ(record.status, Status::kTimeout);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("hung"), HasSubstr("after step 2 of 9")));
}

TEST(Child, SlowIsKilledIfSuspended) {
  const Record record = record_of(
      [](const PointHooks&) {
        raise(SIGSTOP);
        return finished();
      },
      {.timeout = Seconds(600), .silence = Seconds(1)});
  EXPECT_EQ(record.status, Status::kTimeout);
  EXPECT_THAT(record.reason, HasSubstr("hung"));
}

// Computes without sending any messages.
void compute(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {}
}

TEST(Child, SlowIsNotKilledWhileBusy) {
  const Record record = record_of(
      [](const PointHooks& hooks) {
        hooks.progress({.stage = "plan"});
        compute(4s);
        return finished();
      },
      {.timeout = Seconds(600), .silence = Seconds(1)});
  EXPECT_EQ(record.status, Status::kOk) << record.reason;
}

TEST(Child, SlowTimesOutIfAStepFarExceedsEarlierOnes) {
  const Record record = record_of(
      [](const PointHooks& hooks) {
        hooks.progress({"steps", 2, 9, 0.01});
        compute(60s);
        return finished();
      },
      {.timeout = Seconds(600), .silence = Seconds(1)});
  EXPECT_EQ(record.status, Status::kTimeout);
  EXPECT_THAT(record.reason, AllOf(HasSubstr("slowest earlier step"), HasSubstr("after step 2 of 9")));
}

TEST(Child, PassesOutputOfTheChildToTheCallback) {
  std::string printed;
  ChildCallbacks callbacks;
  callbacks.output = [&](std::string_view text) { printed += text; };
  testing::internal::CaptureStdout();
  const Record record = record_of(
      [](const PointHooks&) {
        std::puts("a library's banner");
        std::fputs("and a warning\n", stderr);
        return finished();
      },
      {kLong}, callbacks);
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(record.status, Status::kOk);
  EXPECT_THAT(printed, AllOf(HasSubstr("a library's banner"), HasSubstr("and a warning")));
}

TEST(Child, BufferedOutputIsWrittenOnce) {
  testing::internal::CaptureStdout();
  std::fputs("before;", stdout);
  record_of([](const PointHooks&) -> PointResult { std::exit(0); });
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "before;");
}

// A point that runs steps until it is interrupted.
PointResult step_until_asked(const PointHooks& hooks) {
  for (int step = 1; step < 10'000; ++step) {
    std::this_thread::sleep_for(5ms);
    hooks.progress({"steps", step, 0, 5e-3});
    if (hooks.interrupted()) {
      PointResult result = finished(Status::kInterrupted);
      result.record.reason = "by itself";
      return result;
    }
  }
  return finished();
}

TEST(Child, FirstSignalStopsTheChildAfterItsStep) {
  ChildCallbacks callbacks;
  bool sent = false;
  callbacks.progress = [&](const PointProgress& progress, Seconds) {
    if (progress.done >= 1 && !sent) sent = kill(getpid(), SIGINT) == 0;
  };
  StopSignals signals;
  const Record record = run_in_child(described(), step_until_asked, {kLong}, signals, callbacks).record;
  EXPECT_EQ(record.status, Status::kInterrupted);
  EXPECT_EQ(record.reason, "by itself");
  EXPECT_EQ(signals.count(), 1);
}

TEST(Child, SignalBeforeTheStartInterruptsTheChild) {
  StopSignals signals;
  ASSERT_EQ(raise(SIGTERM), 0);
  ASSERT_EQ(signals.count(), 1);  // the signal is counted before the child starts
  const Record record = run_in_child(described(), step_until_asked, {kLong}, signals, {}).record;
  EXPECT_EQ(record.status, Status::kInterrupted);
  EXPECT_THAT(record.reason, StartsWith("stopped by a signal"));
}

TEST(Child, EveryStopSignalStopsTheChildAfterItsStep) {
  for (const EndingSignal& signal : ending_signals()) {
    if (signal.answer != SignalAnswer::kStop) continue;
    SCOPED_TRACE(signal.number);
    bool sent = false;
    ChildCallbacks callbacks;
    callbacks.progress = [&](const PointProgress& progress, Seconds) {
      if (progress.done >= 1 && !sent) sent = raise(signal.number) == 0;
    };
    StopSignals signals;
    const Record record = run_in_child(described(), step_until_asked, {kLong}, signals, callbacks).record;
    EXPECT_EQ(record.status, Status::kInterrupted);
    EXPECT_EQ(record.reason, "by itself");
    EXPECT_EQ(signals.count(), 1);
  }
}

TEST(Child, StopRequestOnTheInputStopsTheChildAfterItsStep) {
  Pipe asker;
  ChildCallbacks callbacks;
  bool sent = false;
  callbacks.progress = [&](const PointProgress& progress, Seconds) {
    if (progress.done >= 1 && !sent) sent = write(asker.writing(), "stop\n", 5) == 5;
  };
  StopSignals signals;
  const Record record =
      run_in_child(described(), step_until_asked, {.timeout = kLong, .asker = asker.reading()}, signals, callbacks)
          .record;
  EXPECT_EQ(record.status, Status::kInterrupted);
  EXPECT_EQ(record.reason, "by itself");
}

TEST(Child, EndOfTheInputKillsTheChild) {
  Pipe asker;
  ChildCallbacks callbacks;
  callbacks.progress = [&](const PointProgress&, Seconds) { asker.close_writing(); };
  StopSignals signals;
  const Record record = run_in_child(
                            described(),
                            [&](const PointHooks& hooks) {
                              asker.close_writing();  // closes the copy in the child
                              hooks.progress({"steps", 1, 0, 0.2});
                              std::this_thread::sleep_for(1h);
                              return finished();
                            },
                            {.timeout = kLong, .asker = asker.reading()}, signals, callbacks)
                            .record;
  EXPECT_EQ(record.status, Status::kFailed);
  EXPECT_THAT(record.reason, HasSubstr("after step 1"));
}

TEST(Child, SecondSignalKillsTheChild) {
  ChildCallbacks callbacks;
  int sent = 0;
  callbacks.progress = [&](const PointProgress& progress, Seconds) {
    if (progress.stage == "deaf" || progress.done == 0) return;
    if (sent++ < 2) kill(getpid(), sent == 1 ? SIGINT : SIGTERM);
  };
  StopSignals signals;
  const Record record = run_in_child(
                            described(),
                            [](const PointHooks& hooks) {
                              for (int step = 1; step < 100; ++step) {
                                hooks.progress({"steps", step, 0, 0.2});
                                std::this_thread::sleep_for(200ms);
                              }
                              return finished();
                            },
                            {kLong}, signals, callbacks)
                            .record;
  EXPECT_EQ(record.status, Status::kInterrupted);
  EXPECT_THAT(record.reason, HasSubstr("stopped by a signal after step"));
}

TEST(Child, SignalBeforeTheFirstStepKillsTheChild) {
  ChildCallbacks callbacks;
  callbacks.progress = [&](const PointProgress&, Seconds) { kill(getpid(), SIGTERM); };
  StopSignals signals;
  const Record record = run_in_child(
                            described(),
                            [](const PointHooks& hooks) {
                              hooks.progress({.stage = "weights"});
                              std::this_thread::sleep_for(1h);
                              return finished();
                            },
                            {kLong}, signals, callbacks)
                            .record;
  EXPECT_EQ(record.status, Status::kInterrupted);
  EXPECT_THAT(record.reason, HasSubstr("at stage: weights"));
}

TEST(Child, DiesWithItsParent) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const pid_t parent = fork();
  if (parent == 0) {  // another sweep, which is killed while its child sleeps
    StopSignals signals;
    ChildCallbacks callbacks;
    callbacks.progress = [](const PointProgress&, Seconds) { raise(SIGKILL); };
    run_in_child(
        described(),
        [&](const PointHooks& hooks) {
          hooks.progress({.stage = "asleep"});
          std::this_thread::sleep_for(1h);
          return finished();
        },
        {kLong}, signals, callbacks);
    _exit(0);
  }
  close(ends[1]);
  char byte = 0;
  EXPECT_EQ(read(ends[0], &byte, 1), 0);  // end of file: every process has closed the other end
  close(ends[0]);
}

TEST(ChildMessages, EveryMessageIsOneLine) {
  const PointProgress progress{"steps\n", 3, 7, 0.25};
  const std::string line = message_text(progress);
  EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1);
  const auto read = std::get<PointProgress>(parse_message(line));
  EXPECT_EQ(read.stage, "steps\n");
  EXPECT_EQ(read.done, 3);
  EXPECT_EQ(read.expected, 7);
  EXPECT_EQ(read.step_seconds, 0.25);
}

}  // namespace
}  // namespace laptime
