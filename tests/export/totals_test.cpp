// Every format contains the same times and bytes, added up from its output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "expect_totals.h"
#include "export/formats.h"
#include "report/record_files.h"
#include "small_trace.h"

namespace laptime {
namespace {

TEST(Totals, TimesOfAHandmadeTraceMatchInEveryFormat) {
  const TracedRecord traced = test::small_trace();
  test::expect_equal_totals(traced, ExportedSteps::kOne);
  test::expect_equal_totals(traced, ExportedSteps::kAll);
  EXPECT_EQ(folded_stacks({&traced, 1}, {}),
            "step;forward;layers.0;attn;scaled dot product attention;computing attention scores;matmul 1500\n"
            "step;forward;layers.0;attn;scaled dot product attention;computing softmax;softmax 1500\n"
            "step;forward;layers.0;ffn;w1;matmul 1000\n"
            "step;forward;layers.1;ffn;w1;matmul 2000\n"
            "step;backward;layers.1;ffn;w1;matmul 2000\n"
            "step;optimizer;adamw 500\n"
            "step;residue 1500\n");
}

TEST(Totals, NsysHasTheColumnsOfNsys) {
  const TracedRecord traced = test::small_trace();
  EXPECT_EQ(nsys({&traced, 1}, {}),
            "Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n"
            "52.9,4500,3,1500.0,1500.0,1000,2000,500.0,matmul:tiles_avx2\n"
            "23.5,2000,1,2000.0,2000.0,2000,2000,0.0,matmul:onednn\n"
            "17.6,1500,1,1500.0,1500.0,1500,1500,0.0,softmax:rows_avx2\n"
            "5.9,500,1,500.0,500.0,500,500,0.0,adamw:fused\n");
}

TEST(Totals, PeakBytesOfAHandmadeTraceMatchInEveryFormat) { test::expect_the_peak(test::small_trace()); }

TEST(Totals, JsonLinesContainTheRecordAndItsTrace) {
  const TracedRecord traced = test::small_trace();
  const std::string line = json_lines({&traced, 1}, {});
  EXPECT_EQ(parse_record(line), traced.record);
  EXPECT_EQ(Json::parse(line)["trace"]["launches"]["flops"].size(), 6U);
  const TracedRecord untraced{traced.record, std::nullopt};
  EXPECT_EQ(json_lines({&untraced, 1}, {}), to_text(traced.record) + "\n");
}

}  // namespace
}  // namespace laptime
