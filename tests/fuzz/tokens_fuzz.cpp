// Token files. The first byte of the input selects the format and the vocabulary, and the remaining bytes are the file.
#include "data/tokens.h"
#include "data/written_file.h"
#include "fuzz/fuzz_target.h"

namespace laptime::fuzz {

std::vector<std::string> seeds() {
  const std::string tokens("\x01\0\x02\0\x03\0\x04\0\x05\0\x06\0", 12);
  std::string header;
  for (const int32_t number : {20240520, 1, 6}) header += bytes_of(number);
  header.resize(1024, '\0');
  std::vector<std::string> inputs;
  std::string array =
      std::string("\x93NUMPY\x01\0\x37\0", 10) + "{'descr': '<u2', 'fortran_order': False, 'shape': (6,)}";
  for (char first = 0; first < 16; ++first) {
    inputs.push_back(std::string(1, first).append(tokens));
    inputs.push_back(std::string(1, first).append(header).append(tokens));
    inputs.push_back(std::string(1, first).append(array).append(tokens));
  }
  return inputs;
}

std::vector<std::string> words() {
  return {std::string("\x88\xd7\x34\x01", 4),
          std::string("\xa1\xd9\x34\x01\x07\0\0\0", 8),
          std::string("\xff\xff\xff\x7f", 4),
          "'<i8'",
          "(3, 2)",
          "'fortran_order': True"};
}

}  // namespace laptime::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using laptime::DataFormat;
  if (size == 0) return 0;
  constexpr std::array kFormats{DataFormat::kAuto,   DataFormat::kUint16, DataFormat::kLlmc, DataFormat::kBytes,
                                DataFormat::kUint32, DataFormat::kNpy,    DataFormat::kAuto, DataFormat::kAuto};
  const DataFormat format = kFormats[data[0] % kFormats.size()];
  const int64_t vocab_size = (data[0] & 8) == 0 ? 10 : 60'000;
  const laptime::fuzz::InputAsFile input(laptime::fuzz::text_of(data + 1, size - 1));
  laptime::fuzz::accept_or_refuse([&] {
    laptime::TokenData file(input.path(), format);
    const laptime::FileTokens source(std::move(file), 1, vocab_size, 4, laptime::Batches::kFresh);
    std::vector<int64_t> tokens(8);
    std::vector<int64_t> targets(8);
    source.batch(data[0], tokens, targets);
    for (const int64_t token : tokens) LAPTIME_CHECK(token >= 0 && token < vocab_size, "token {}", token);
  });
  return 0;
}
