// Whole safetensors files. Reads every tensor in each type that the program uses.
#include "data/safetensors.h"
#include "data/written_file.h"
#include "fuzz/fuzz_target.h"

namespace laptime::fuzz {

std::vector<std::string> seeds() {
  const std::string numbers("\0\0\x80\x3f\0\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10", 24);
  std::vector<std::string> files{safetensors_bytes("{}", "")};
  for (const char* type : {"F64", "I64"}) {
    files.push_back(
        safetensors_bytes(fmt::format(R"({{"a":{{"dtype":"{}","shape":[3],"data_offsets":[0,24]}}}})", type), numbers));
  }
  files.push_back(safetensors_bytes(
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F16","shape":[2,2],"data_offsets":[8,16]},)"
      R"("c":{"dtype":"BOOL","shape":[8],"data_offsets":[16,24]}})",
      numbers));
  return files;
}

std::vector<std::string> words() {
  return {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "U8", "BOOL", "[0,24]", "[1]", "[24]"};
}

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace laptime;
  const fuzz::InputAsFile input(fuzz::text_of(data, size));
  fuzz::accept_or_refuse([&] {
    const SafetensorsFile file(input.path());
    for (const StoredTensor& tensor : file.tensors()) {
      fuzz::accept_or_refuse([&] { file.read<float>(tensor); });
      fuzz::accept_or_refuse([&] { file.read<double>(tensor); });
      fuzz::accept_or_refuse([&] { file.read<int64_t>(tensor); });
    }
  });
  return 0;
}
