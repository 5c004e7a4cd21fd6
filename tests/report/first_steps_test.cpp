// Sentences about first steps.
#include "report/first_steps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "report/stored_records.h"

namespace laptime {
namespace {

using testing::HasSubstr;

Transient slow_start() {
  Transient transient;
  transient.steps = 1;
  transient.excess = 1;
  transient.page_faults = 0;
  return transient;
}

TEST(FirstSteps, NameThePhasesAndClassesThatWereLonger) {
  Record record;
  Transient& transient = record.transient;
  transient = slow_start();
  transient.parts = {{"forward", "matmul", 0.2, 0.2},
                     {"forward", "softmax", 0.01, 0.01},
                     {"backward", "matmul", 0.5, 0.5},
                     {"backward", "elementwise", 0.1, 0.1},
                     {"optimizer", "optimizer", -0.1, -0.1}};
  EXPECT_EQ(first_steps_text(record),
            "first step 1.000 s longer; where: backward 600.0 ms (matmul 500.0 ms, elementwise 100.0 ms), forward "
            "210.0 ms (matmul 200.0 ms), optimizer 100.0 ms shorter, elsewhere 290.0 ms; why: not known");
  transient.parts.front().seconds = 1;
  EXPECT_THAT(first_steps_text(record), HasSubstr(", elsewhere 510.0 ms shorter;"));
  transient.steps = 3;
  transient.page_faults = 0.25;
  transient.parts = {{"forward", "", 1, 1}};
  EXPECT_EQ(first_steps_text(record),
            "first 3 steps together 1.000 s longer; where: forward 1.000 s; why: page faults 250.0 ms, not known for "
            "750.0 ms");
  transient.page_faults = 0.99;
  EXPECT_THAT(first_steps_text(record), testing::EndsWith("; why: page faults 990.0 ms"));
  transient.parts.clear();
  transient.page_faults.reset();
  EXPECT_EQ(first_steps_text(record), "first 3 steps together 1.000 s longer");
  transient.excess = 0;
  EXPECT_EQ(first_steps_text(record), "first steps: none longer than later ones");
}

TEST(FirstSteps, AreNoiseWhereALaterStepTookAsLong) {
  Record record = stored_records().front();
  record.transient = slow_start();
  record.transient.warmup = {2};
  record.time["step"].samples = {1, 1, 1, 1.5};
  EXPECT_EQ(first_steps_text(record), "first step 1.000 s longer; why: not known");
  record.time["step"].samples.back() = 2;
  EXPECT_EQ(first_steps_text(record), "first step 1.000 s longer; a later step took as long, so this is noise");
}

}  // namespace
}  // namespace laptime
