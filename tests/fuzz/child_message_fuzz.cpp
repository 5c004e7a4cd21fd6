// Messages from the process of a point, one per line: progress, a record, or a result.
#include "sweep/child_messages.h"

#include "fuzz/fuzz_target.h"
#include "record/sample_record.h"

namespace laptime::fuzz {

std::vector<std::string> seeds() {
  PointResult result;
  result.record = sample_record();
  result.learned.kernel_choices = {{"machine", "matmul(float32 [2, 2])", "tiles", 0.5, "2026-01-02T03:04:05Z"}};
  result.learned.peaks = {{"machine", "float32", 1e11, "FLOP/s", "2026-01-02T03:04:05Z"}};
  return {message_text(PointProgress{"steps", 3, 10, 0.5}), message_text(sample_record()), message_text(result)};
}

std::vector<std::string> words() { return {"[", "]", "{", "}", ",", ":", "\"\"", "null", "1e308", "\"ok\"", "[[[["}; }

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  laptime::fuzz::accept_or_refuse([&] { laptime::parse_message(laptime::fuzz::text_of(data, size)); });
  return 0;
}
