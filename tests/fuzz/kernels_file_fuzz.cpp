// Files for --kernels: records of earlier runs in every accepted form, whole or reduced to their kernel choices.
#include "prepare/kernel_choice.h"

#include "fuzz/fuzz_target.h"

namespace laptime::fuzz {

std::vector<std::string> seeds() {
  const std::string choice =
      R"json({"op":"matmul","signature":"matmul(float32[2,3], float32[3,4])","kernel":"tiles"})json";
  const std::string record = R"({"schema_version":1,"name":"a","status":"ok","kernels":[)" + choice + "]}";
  return {"[" + record + "," + record + "]", record + "\n" + record + "\n\n",
          R"({"kernels":[)" + choice + "," + choice + "]}", "[" + record + "\n,\n" + record + "\n]\n",
          R"({"kernels":[]})"};
}

std::vector<std::string> words() {
  return {"[",       "]",    "{",         "}",          ",", ":",    "\n",          "null",        "\"kernels\":",
          "\"op\":", "\"\"", "\"tiles\"", "\"matmul\"", "(", "[[[[", "\"kernel\":", "\"matmul(\"", "\"signature\":"};
}

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace laptime;
  const fuzz::InputAsFile input(fuzz::text_of(data, size));
  fuzz::accept_or_refuse([&] {
    const KernelsBySignature choices = read_kernels_file(input.path());
    LAPTIME_CHECK(!choices.empty(), "a file without a choice is an error");
    for (const auto& [signature, kernel] : choices) {
      LAPTIME_CHECK(signature.find('(') != std::string::npos && !kernel.empty(), "{} by {}", signature, kernel);
    }
  });
  return 0;
}
