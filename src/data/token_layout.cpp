// Parses headers of token files, and guesses the type of tokens in files without a header.
#include "data/token_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/ranges.h"
#include "base/words.h"
#include "data/file_kind.h"

namespace laptime {
namespace {

using Bytes = std::vector<std::byte>;

// The header of llm.c's token files is 256 little-endian int32: magic, version, number of tokens.
struct LlmcVersion {
  int32_t magic, version;
  TokenType type;
};
constexpr std::array kLlmcVersions{LlmcVersion{20240520, 1, TokenType::kUint16},   // GPT-2
                                   LlmcVersion{20240801, 7, TokenType::kUint32}};  // Llama 3
constexpr int64_t kLlmcHeaderBytes = 1024;

std::optional<TokenLayout> llmc_layout(const InputFile& file) {
  const Bytes begin = bytes_at(file, 0, kLlmcHeaderBytes);
  if (begin.size() < 4) return {};
  const auto magic = number_at<int32_t>(begin, 0);
  const LlmcVersion* const known = find_in(kLlmcVersions, magic, &LlmcVersion::magic);
  if (known == nullptr) return {};
  if (std::ssize(begin) < kLlmcHeaderBytes) {
    throw Error::format("{} has {} bytes, fewer than the {} of llm.c's header; copy it again", file.text(), file.size(),
                        kLlmcHeaderBytes);
  }
  const auto version = number_at<int32_t>(begin, 4);
  if (version != known->version) {
    throw Error::format(
        "{}: llm.c header at byte 4: version {} is unknown; with magic {}, only version {} ({} tokens) is supported",
        file.text(), version, magic, known->version, name_of(known->type));
  }
  const auto count = number_at<int32_t>(begin, 8);
  const int64_t bytes = file.size() - kLlmcHeaderBytes;
  if (count < 0 || count * size_of(known->type) != bytes) {
    throw Error::format(
        "{}: the llm.c header states {} tokens, but the {} bytes after the header contain {}; copy the file again",
        file.text(), count, bytes, bytes / size_of(known->type));
  }
  return TokenLayout{DataFormat::kLlmc, known->type, kLlmcHeaderBytes, count};
}

constexpr std::string_view kNpyMagic = "\x93NUMPY";

// The text for `key` in the Python dictionary of a .npy header, up to the comma, brace or parenthesis that ends the
// value; empty if the key is missing.
std::string_view npy_value(std::string_view header, std::string_view key) {
  const size_t at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) return {};
  std::string_view value = header.substr(at + key.size() + 3);
  value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
  const size_t end = value.starts_with('(') ? value.find(')') : value.find_first_of(",}");
  return value.substr(0, end);
}

int64_t npy_count(const InputFile& file, std::string_view shape) {
  const auto refuse = [&] {
    throw Error::format("{}: numpy header: shape {} is not a tuple of sizes; write the array again", file.text(),
                        quote(shape));
  };
  if (!shape.starts_with('(')) refuse();
  int64_t count = 1;
  for (const char* at = shape.data() + 1; at < shape.data() + shape.size();) {
    int64_t size = 0;
    const auto [stop, problem] = std::from_chars(at, shape.data() + shape.size(), size);
    if (problem != std::errc() || size < 0 || __builtin_mul_overflow(count, size, &count)) refuse();
    at = std::find_if(stop, shape.data() + shape.size(), [](char c) { return c != ',' && c != ' ' && c != 'L'; });
  }
  return count;
}

std::optional<TokenLayout> npy_layout(const InputFile& file) {
  constexpr int64_t kMostHeader = 65'536;
  const Bytes begin = bytes_at(file, 0, kMostHeader);
  const std::string_view text(reinterpret_cast<const char*>(begin.data()), begin.size());
  if (!text.starts_with(kNpyMagic)) return {};
  constexpr size_t kVersionAt = 6;
  constexpr size_t kLengthAt = 8;
  const bool is_wide = begin.size() > 12 && begin[kVersionAt] > std::byte{1};  // version 1 has a 16-bit length
  const size_t header_at = kLengthAt + (is_wide ? 4 : 2);
  const int64_t length = begin.size() < header_at ? kMostHeader
                         : is_wide                ? number_at<uint32_t>(begin, kLengthAt)
                                                  : number_at<uint16_t>(begin, kLengthAt);
  const int64_t first_byte = static_cast<int64_t>(header_at) + length;
  if (first_byte > std::ssize(begin))
    throw Error::format(
        "{}: numpy header of {} bytes runs past the end of the file, or is longer than {} bytes; write the array again",
        file.text(), length, kMostHeader);
  const std::string_view header = text.substr(header_at, static_cast<size_t>(length));
  struct Type {
    std::string_view descr;
    TokenType type;
  };
  constexpr std::array kTypes{Type{"'<u2'", TokenType::kUint16}, Type{"'<u4'", TokenType::kUint32},
                              Type{"'<i4'", TokenType::kInt32}, Type{"'<i8'", TokenType::kInt64},
                              Type{"'|u1'", TokenType::kUint8}};
  const std::string_view descr = npy_value(header, "descr");
  const Type* const type = find_in(kTypes, descr, &Type::descr);
  if (type == nullptr) {
    const bool is_quoted = descr.size() > 2 && descr.starts_with('\'') && descr.ends_with('\'');
    throw Error::format(
        "{}: numpy array of type {} is not supported; use uint8, uint16, uint32, int32 or int64, little-endian",
        file.text(), quote(is_quoted ? descr.substr(1, descr.size() - 2) : descr));
  }
  const std::string_view shape = npy_value(header, "shape");
  const int64_t count = npy_count(file, shape);
  if (npy_value(header, "fortran_order") != "False") {
    throw Error::format("{}: numpy array in Fortran order; convert it with numpy.ascontiguousarray", file.text());
  }
  if (count > file.size() || count * size_of(type->type) + first_byte != file.size()) {
    throw Error::format(
        "{}: numpy header states {} numbers of {} bytes each, but {} bytes follow it; copy the file again", file.text(),
        count, size_of(type->type), file.size() - first_byte);
  }
  return TokenLayout{DataFormat::kNpy, type->type, first_byte, count};
}

TokenLayout raw_layout(const InputFile& file, TokenType type, DataFormat format) {
  if (file.size() % size_of(type) != 0) {
    throw Error::format(
        "{} has {} bytes, not a multiple of {}, so it does not contain {} tokens; copy it again, or read it "
        "as text with --data-format bytes",
        file.text(), file.size(), size_of(type), name_of(type));
  }
  return {format, type, 0, file.size() / size_of(type)};
}

// The whole file if it is short; otherwise parts from its start, middle and end, each beginning at a multiple of 8.
Bytes sample_of(const InputFile& file) {
  constexpr int64_t kPart = 1 << 16;
  if (file.size() <= 3 * kPart) return bytes_at(file, 0, 3 * kPart);
  Bytes sample;
  for (const int64_t begin : {int64_t{0}, file.size() / 2 / 8 * 8, (file.size() - kPart) / 8 * 8}) {
    const Bytes part = bytes_at(file, begin, kPart);
    sample.insert(sample.end(), part.begin(), part.end());
  }
  return sample;
}

// Statistics of the lower and upper halves of the words in a sample. A few outliers are tolerated, because the
// vocabulary check reports tokens that are too large.
struct Halves {
  static constexpr uint32_t kSmall = 31;
  std::set<uint32_t> low{}, small_high{};
  size_t words = 0, zero_high = 0, large_high = 0;

  bool high_is_zero() const { return 100 * zero_high >= 99 * words && low.size() > 1; }
  bool high_is_small() const { return 100 * large_high <= words; }
};

template <class Half>
Halves halves_of(std::span<const std::byte> sample) {
  Halves halves;
  for (size_t at = 0; at + 2 * sizeof(Half) <= sample.size(); at += 2 * sizeof(Half)) {
    const auto high = number_at<Half>(sample, at + sizeof(Half));
    halves.low.insert(number_at<Half>(sample, at));
    ++halves.words;
    halves.zero_high += high == 0 ? 1 : 0;
    halves.large_high += high > Halves::kSmall ? 1 : 0;
    if (high <= Halves::kSmall) halves.small_high.insert(high);
  }
  return halves;
}

// The upper halves of 32-bit tokens have few values, all small; the lower halves have many. For 16-bit tokens, both
// halves are tokens and have the same distribution.
bool looks_like_uint32(std::span<const std::byte> sample) {
  constexpr size_t kEnough = 32;  // words
  const Halves halves = halves_of<uint16_t>(sample);
  if (halves.words < kEnough) return false;
  return halves.high_is_zero() ||
         (halves.high_is_small() && halves.low.size() >= std::max<size_t>(16, 4 * halves.small_high.size()));
}

bool looks_like_int64(const InputFile& file, std::span<const std::byte> sample) {
  const Halves halves = halves_of<uint32_t>(sample);
  return file.size() % 8 == 0 && halves.words > 0 && halves.high_is_zero();
}

[[noreturn]] void refuse(const InputFile& file, const FileKind& kind) {
  throw Error::format("{} is {}, not tokens; {}", file.text(), kind.name, kind.remedy);
}

TokenLayout guessed_layout(const InputFile& file) {
  constexpr size_t kShort = 64;  // a file of fewer bytes is too short to distinguish text from tokens
  const Bytes sample = sample_of(file);
  if (const FileKind kind = kind_of_text(sample); !kind.name.empty()) refuse(file, kind);
  const bool may_be_raw = file.path().ends_with(".bin");
  if (is_text(sample) && !(may_be_raw && sample.size() < kShort))
    return {DataFormat::kBytes, TokenType::kUint8, 0, file.size()};
  if (const FileKind kind = kind_by_values(sample); !kind.name.empty()) refuse(file, kind);
  if (!may_be_raw) {
    throw Error::format(
        "{} is neither text nor in a known format; state its content with --data-format uint16, uint32 or bytes",
        file.text());
  }
  if (looks_like_int64(file, sample)) {
    refuse(file, {"64-bit numbers without a header",
                  "write them as uint16 or uint32, or as a .npy file, which states its type"});
  }
  const bool is_wide = file.size() % 4 == 0 && looks_like_uint32(sample);
  TokenLayout layout = is_wide ? raw_layout(file, TokenType::kUint32, DataFormat::kUint32)
                               : raw_layout(file, TokenType::kUint16, DataFormat::kUint16);
  layout.is_guessed = true;
  return layout;
}

}  // namespace

std::string_view name_of(TokenType type) {
  switch (type) {
    case TokenType::kUint8: return "uint8";
    case TokenType::kUint16: return "uint16";
    case TokenType::kUint32: return "uint32";
    case TokenType::kInt32: return "int32";
    case TokenType::kInt64: return "int64";
  }
  return "?";
}

TokenLayout token_layout(const InputFile& file, DataFormat format) {
  if (format == DataFormat::kBytes) return {DataFormat::kBytes, TokenType::kUint8, 0, file.size()};
  for (const auto& read_header : {llmc_layout, npy_layout}) {
    const std::optional<TokenLayout> layout = read_header(file);
    if (!layout) continue;
    if (format == DataFormat::kAuto || format == layout->format) return *layout;
    throw Error::format("{} has format {}, not {}; leave out --data-format", file.text(), name_of(layout->format),
                        name_of(format));
  }
  if (const FileKind kind = kind_by_signature(file); !kind.name.empty()) refuse(file, kind);
  switch (format) {
    case DataFormat::kUint16: return raw_layout(file, TokenType::kUint16, format);
    case DataFormat::kUint32: return raw_layout(file, TokenType::kUint32, format);
    case DataFormat::kLlmc:
      throw Error::format("{} does not begin with llm.c's magic number {} or {}; choose another --data-format",
                          file.text(), kLlmcVersions[0].magic, kLlmcVersions[1].magic);
    case DataFormat::kNpy:
      throw Error::format("{} does not begin with numpy's magic bytes; choose another --data-format", file.text());
    default: return guessed_layout(file);
  }
}

}  // namespace laptime
