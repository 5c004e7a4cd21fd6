// Messages between a sweep and the process of a launched point, one per line: a point, a hello, or stored knowledge.
#include "fuzz/fuzz_target.h"
#include "points/expand.h"
#include "sweep/launch_messages.h"

namespace laptime::fuzz {

std::vector<std::string> seeds() {
  Sweep sweep;
  set_option(sweep, "model", "seed", {"small"});
  MachineKnowledge known;
  known.peaks = {{"machine", "float32", 1e11, "FLOP/s", "2026-01-02T03:04:05Z"}};
  return {message_text(request_of(expand(sweep).front())), message_text(PointHello{.device = "cpu", .binary = "0123"}),
          message_text(known), probe_text(), stop_text()};
}

std::vector<std::string> words() { return {"[", "]", "{", "}", ",", ":", "\"\"", "null", "1e308", "\"-1\"", "[[[["}; }

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using laptime::fuzz::accept_or_refuse;
  const auto text = laptime::fuzz::text_of(data, size);
  accept_or_refuse([&] {
    if (const auto request = laptime::parse_request(text)) laptime::point_of(*request);
  });
  accept_or_refuse([&] { laptime::parse_hello(text); });
  accept_or_refuse([&] { laptime::parse_known(text); });
  return 0;
}
