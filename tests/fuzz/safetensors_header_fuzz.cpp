// The JSON header of a safetensors file. The input is the header, for files with 0, 9 and 24 bytes of data.
#include "data/safetensors_header.h"

#include "fuzz/fuzz_target.h"

namespace laptime::fuzz {

std::vector<std::string> seeds() {
  return {
      R"({})", R"({"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}})",
      R"({"__metadata__":{"k":"v"},"a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]},)"
      R"("b":{"dtype":"I64","shape":[0,5],"data_offsets":[2,2]},"c":{"dtype":"BOOL","shape":[7],"data_offsets":[2,9]}})"};
}

std::vector<std::string> words() {
  return {"\"dtype\":",
          "\"shape\":",
          "\"data_offsets\":",
          "\"__metadata__\":",
          "F64",
          "F16",
          "I32",
          "U8",
          "F8_E4M3",
          "[0,24]",
          "\"a\":",
          "{",
          "true",
          "1.5",
          "-3",
          ","};
}

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace laptime;
  for (const int64_t data_bytes : {0, 9, 24}) {
    fuzz::accept_or_refuse([&] {
      const int64_t file_size = 8 + static_cast<int64_t>(size) + data_bytes;
      for (const StoredTensor& tensor :
           parse_safetensors_header(fuzz::text_of(data, size), file_size, "file").tensors) {
        LAPTIME_CHECK(tensor.begin >= 8 && tensor.bytes >= 0 && tensor.begin + tensor.bytes <= file_size,
                      "{} bytes at {} of {}", tensor.bytes, tensor.begin, file_size);
      }
    });
  }
  return 0;
}
