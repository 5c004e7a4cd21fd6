// Messages between a sweep and the process of a launched point.
#include "sweep/launch_messages.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "points/expand.h"

namespace laptime {
namespace {

SweepPoint a_point() {
  Sweep sweep;
  set_option(sweep, "model", "test", {"small"});
  set_option(sweep, "dtype", "test", {"bfloat16"});
  set_option(sweep, "seed", "test", {"9200000000000000000"});
  set_option(sweep, "lr", "test", {"0.1"});
  set_option(sweep, "memory-limit", "test", {"8GiB"});
  set_option(sweep, "label", "test", {"{model} at {dtype}"});
  return expand(sweep).front();
}

TEST(LaunchMessages, PreserveEveryOption) {
  const SweepPoint point = a_point();
  PointRequest request = request_of(point);
  request.sweep = "a";
  request.run = "b";
  request.asked_hash = "c";
  const std::string line = message_text(request);
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const std::optional<PointRequest> read = parse_request(line);
  ASSERT_TRUE(read);
  const SweepPoint again = point_of(*read);
  EXPECT_EQ(again.config, point.config);
  EXPECT_EQ(again.name, point.name);
  EXPECT_EQ(again.label, "small at bfloat16");
  EXPECT_EQ(read->sweep + read->run + read->asked_hash, "abc");
}

TEST(LaunchMessages, PreserveTheNameOfAModelFolder) {
  SweepPoint point = a_point();
  point.config.model.name = "my-model";
  EXPECT_EQ(point_of(request_of(point)).config, point.config);
}

TEST(LaunchMessages, RejectInvalidPoints) {
  PointRequest request = request_of(a_point());
  request.options["batch_size"] = "-1";
  EXPECT_THROW(point_of(request), Error);
  request.options.erase("batch_size");
  EXPECT_THROW(point_of(request), Error);
  EXPECT_THROW(parse_request("{\"other\": 1}"), Error);
  EXPECT_THROW(parse_request("text"), Error);
  EXPECT_FALSE(parse_request(probe_text()));
}

TEST(LaunchMessages, DistinguishAHelloFromOtherText) {
  const std::optional<PointHello> hello = parse_hello(message_text(PointHello{.device = "a", .binary = "b"}));
  ASSERT_TRUE(hello);
  EXPECT_EQ(hello->device, "a");
  EXPECT_TRUE(hello->asked);
  EXPECT_FALSE(parse_hello("hello, welcome to this machine"));
  EXPECT_FALSE(parse_hello("{\"progress\": {\"stage\": \"hello\"}}"));
}

TEST(LaunchMessages, PreserveMachineKnowledge) {
  MachineKnowledge known;
  known.peaks = {{"machine", "float32", 1e12, "FLOP/s", "2025-01-02T03:04:05Z"}};
  known.prediction_errors = {0.25};
  const MachineKnowledge read = parse_known(message_text(known));
  EXPECT_EQ(read.peaks, known.peaks);
  EXPECT_EQ(read.prediction_errors, known.prediction_errors);
  EXPECT_THROW(parse_known(stop_text()), Error);
}

}  // namespace
}  // namespace laptime
