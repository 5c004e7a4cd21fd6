// Lines that describe steps of another program.
#include "measure/step_line.h"

#include "fuzz/fuzz_target.h"

namespace laptime::fuzz {

std::vector<std::string> seeds() {
  return {R"({"step": 12000000})",
          R"({"step": 12000000, "forward": 4000000, "backward": 7e6, "optimizer": 0.5, "begin": 81200345678})",
          R"({"step": 1, "loss": 9.25, "peak_bytes": 1073741824, "peak_rss_bytes": 9223372036854775807})",
          R"({"step": 1, "loss": null})"};
}

std::vector<std::string> words() {
  return {"[", "]", "{", "}", ",", ":", "\"\"", "null", "1e308", "-1", "18446744073709551615", "\"begin\"", "[[[["};
}

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  laptime::fuzz::accept_or_refuse([&] { laptime::parse_step_line(laptime::fuzz::text_of(data, size)); });
  return 0;
}
