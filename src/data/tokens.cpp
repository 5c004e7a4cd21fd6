// Reads token files, and makes batches from them or from random streams.
#include "data/tokens.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace laptime {
namespace {

// The header of llm.c token files is 256 little-endian int32, starting with magic, version and number of tokens.
constexpr int32_t kLlmcMagic = 20240520;
constexpr int32_t kLlmcVersion = 1;
constexpr int64_t kLlmcHeaderBytes = 1024;

int32_t int32_at(const InputFile& file, int64_t position) {
  std::array<std::byte, 4> bytes;
  file.read(position, bytes);
  int32_t value = 0;
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

DataFormat detect_format(const InputFile& file) {
  if (file.size() >= 4 && int32_at(file, 0) == kLlmcMagic) return DataFormat::kLlmc;
  return file.path().ends_with(".bin") ? DataFormat::kUint16 : DataFormat::kBytes;
}

void widen(std::span<const std::byte> from, int64_t token_bytes, std::span<int64_t> out) {
  if (token_bytes == 1) {
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<int64_t>(from[i]);
    return;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    uint16_t token = 0;
    std::memcpy(&token, from.data() + 2 * i, sizeof(token));
    out[i] = token;
  }
}

}  // namespace

TokenFile::TokenFile(const std::string& path, DataFormat format) : file_(path, "data file"), format_(format) {
  if (format_ == DataFormat::kAuto) format_ = detect_format(file_);
  if (format_ == DataFormat::kLlmc) {
    read_llmc_header();
  } else if (format_ == DataFormat::kUint16 && file_.size() % 2 != 0) {
    throw Error::format(
        "{} has {} bytes, an odd number, so it does not hold uint16 tokens; read it as text with "
        "--data-format bytes, or copy it again",
        text(), file_.size());
  } else {
    size_ = file_.size() / token_bytes();
  }
}

void TokenFile::read_llmc_header() {
  if (file_.size() < kLlmcHeaderBytes) {
    throw Error::format(
        "{} has {} bytes, fewer than the {} of llm.c's header; copy it again, or choose another "
        "--data-format",
        text(), file_.size(), kLlmcHeaderBytes);
  }
  const int32_t magic = int32_at(file_, 0);
  const int32_t version = int32_at(file_, 4);
  const int32_t count = int32_at(file_, 8);
  if (magic != kLlmcMagic) {
    throw Error::format("{} begins with {}, llm.c's token files with {}; choose another --data-format", text(), magic,
                        kLlmcMagic);
  }
  if (version != kLlmcVersion) {
    throw Error::format("{}: llm.c header at byte 4: version {}; only version {} (uint16 tokens) is read", text(),
                        version, kLlmcVersion);
  }
  const int64_t held = (file_.size() - kLlmcHeaderBytes) / 2;
  if (count < 0 || count != held || file_.size() % 2 != 0) {
    throw Error::format("{}: llm.c header at byte 8 states {} tokens, the {} bytes after it hold {}; copy it again",
                        text(), count, file_.size() - kLlmcHeaderBytes, held);
  }
  first_byte_ = kLlmcHeaderBytes;
  size_ = count;
}

void TokenFile::read(int64_t begin, std::span<int64_t> out) const {
  const auto count = static_cast<int64_t>(out.size());
  LAPTIME_CHECK(begin >= 0 && begin <= size_ - count, "tokens [{}, {} + {}) of {}", begin, begin, count, size_);
  std::vector<std::byte> bytes(out.size() * static_cast<size_t>(token_bytes()));
  file_.read(first_byte_ + begin * token_bytes(), bytes);
  widen(bytes, token_bytes(), out);
}

void TokenFile::check_vocabulary(int64_t vocab_size) const {
  if (vocab_size >= (int64_t{1} << (8 * token_bytes()))) return;
  constexpr int64_t kChunk = 1 << 18;
  std::vector<int64_t> tokens;
  for (int64_t begin = 0; begin < size_; begin += kChunk) {
    tokens.resize(static_cast<size_t>(std::min(kChunk, size_ - begin)));
    read(begin, tokens);
    const auto bad = std::find_if(tokens.begin(), tokens.end(), [&](int64_t token) { return token >= vocab_size; });
    if (bad == tokens.end()) continue;
    const int64_t position = begin + (bad - tokens.begin());
    throw Error::format("{}: token {} at position {} (byte {}) is not in the vocabulary of {}; give --vocab {} or more",
                        text(), *bad, position, first_byte_ + position * token_bytes(), vocab_size,
                        format_ == DataFormat::kBytes ? 256 : *bad + 1);
  }
}

RandomTokens::RandomTokens(int64_t seed, int64_t vocab_size, Batches batches)
    : tokens_(static_cast<uint64_t>(seed), "tokens"),
      targets_(static_cast<uint64_t>(seed), "targets"),
      vocab_size_(vocab_size),
      batches_(batches) {}

void RandomTokens::batch(int64_t step, std::span<int64_t> tokens, std::span<int64_t> targets) const {
  LAPTIME_CHECK(tokens.size() == targets.size(), "{} tokens, {} targets", tokens.size(), targets.size());
  const int64_t begin = batches_ == Batches::kFixed ? 0 : step * static_cast<int64_t>(tokens.size());
  fill_integers(tokens_, begin, tokens, vocab_size_);
  fill_integers(targets_, begin, targets, vocab_size_);
}

FileTokens::FileTokens(TokenFile file, int64_t seed, int64_t vocab_size, int64_t context_length, Batches batches)
    : file_(std::move(file)),
      windows_(static_cast<uint64_t>(seed), "windows"),
      context_length_(context_length),
      batches_(batches) {
  if (file_.size() <= context_length) {
    throw Error::format("{} holds {} tokens; a context of {} needs at least {}: give a shorter --context or more data",
                        file_.text(), file_.size(), context_length, context_length + 1);
  }
  file_.check_vocabulary(vocab_size);
}

void FileTokens::batch(int64_t step, std::span<int64_t> tokens, std::span<int64_t> targets) const {
  const auto length = static_cast<size_t>(context_length_);
  LAPTIME_CHECK(tokens.size() == targets.size() && tokens.size() % length == 0, "{} tokens, {} targets, context {}",
                tokens.size(), targets.size(), length);
  const auto rows = static_cast<int64_t>(tokens.size() / length);
  const auto positions = static_cast<uint64_t>(file_.size() - context_length_);
  std::vector<int64_t> window(length + 1);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t index = (batches_ == Batches::kFixed ? 0 : step * rows) + row;
    file_.read(static_cast<int64_t>(windows_[index] % positions), window);
    const auto at = static_cast<ptrdiff_t>(length) * row;
    std::copy_n(window.begin(), length, tokens.begin() + at);
    std::copy_n(window.begin() + 1, length, targets.begin() + at);
  }
}

std::unique_ptr<TokenSource> make_token_source(const RunConfig& config) {
  if (config.data.empty()) {
    return std::make_unique<RandomTokens>(config.seed, config.model.vocab_size, config.batches);
  }
  return std::make_unique<FileTokens>(TokenFile(config.data, config.data_format), config.seed, config.model.vocab_size,
                                      config.step_context(), config.batches);
}

}  // namespace laptime
