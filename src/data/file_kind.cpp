// The table of file signatures, and heuristics based on values.
#include "data/file_kind.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "tensor/dtype.h"

namespace laptime {
namespace {

using namespace std::string_view_literals;

constexpr const char* kUnpack = "unpack it first";
constexpr const char* kTokenize = "tokenize it first and give the tokens";
constexpr const char* kUseAsWeights = "use it with --weights, or give a token file";
constexpr const char* kGiveTokens = "give a token file";

struct FileSignature {
  std::string_view bytes;
  std::string_view name;
  std::string_view remedy;
  int64_t at = 0;
};
constexpr std::array kSignatures{
    FileSignature{"\x1f\x8b\x08"sv, "a gzip archive", kUnpack},
    FileSignature{"PK\x03\x04"sv, "a zip archive, as written by torch.save or numpy.savez", kGiveTokens},
    FileSignature{"PK\x05\x06"sv, "an empty zip archive", kGiveTokens},
    FileSignature{"\x28\xb5\x2f\xfd"sv, "a zstd archive", kUnpack},
    FileSignature{"\xfd"
                  "7zXZ\0"sv,
                  "an xz archive", kUnpack},
    FileSignature{"7z\xbc\xaf\x27\x1c"sv, "a 7z archive", kUnpack},
    FileSignature{"1AY&SY"sv, "a bzip2 archive", kUnpack, 4},
    FileSignature{"\x04\x22\x4d\x18"sv, "an lz4 archive", kUnpack},
    FileSignature{"ustar"sv, "a tar archive", kUnpack, 257},
    FileSignature{"PAR1"sv, "a parquet table", kTokenize},
    FileSignature{"ARROW1"sv, "an arrow table", kTokenize},
    FileSignature{"\x89HDF\r\n\x1a\n"sv, "an HDF5 file", kTokenize},
    FileSignature{"Obj\x01"sv, "an Avro file", kTokenize},
    FileSignature{"SQLite format 3\0"sv, "an SQLite database", kTokenize},
    FileSignature{"%PDF-"sv, "a PDF", kTokenize},
    FileSignature{"\x7f"
                  "ELF"sv,
                  "a program", kGiveTokens},
    FileSignature{"\x89PNG"sv, "a picture", kGiveTokens},
    FileSignature{"GGUF"sv, "a GGUF checkpoint", kGiveTokens},
    FileSignature{"lmgg"sv, "a GGML checkpoint", kGiveTokens},
    FileSignature{"fmgg"sv, "a GGML checkpoint", kGiveTokens},
    FileSignature{"tjgg"sv, "a GGML checkpoint", kGiveTokens},
    FileSignature{"24ka"sv, "a llama2.c checkpoint", kGiveTokens},
    FileSignature{"MMIDIDX\0\0"sv, "an index of Megatron tokens", "give the .bin file next to it"}};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// llm.c's magic numbers are dates; its token files (token_layout.cpp) are recognised before this function is called.
FileKind llmc_kind(int32_t magic) {
  switch (magic) {
    case 20240326:
    case 20240803: return {"an llm.c checkpoint", kGiveTokens};
    case 20240327: return {"an llm.c debugging state", kGiveTokens};
    case 20240328: return {"an llm.c tokenizer", kGiveTokens};
    case 20240522: return {"an llm.c evaluation file", kGiveTokens};
    case 20240527: return {"an llm.c optimizer state", kGiveTokens};
    default: return {fmt::format("an llm.c file with magic number {}", magic), kGiveTokens};
  }
}

bool is_llmc(std::span<const std::byte> begin, int64_t size) {
  constexpr int64_t kHeader = 1024;
  const auto magic = number_at<int32_t>(begin, 0);
  const auto version = number_at<int32_t>(begin, 4);
  return size >= kHeader && magic > 20240000 && magic < 20300000 && version > 0 && version < 256;
}

// True if the file starts like an Arrow stream: a continuation mark, a length, and the offset of a flat buffer.
bool is_arrow_stream(std::span<const std::byte> begin) {
  return begin.size() > 12 && number_at<uint32_t>(begin, 0) == 0xFFFFFFFFU && number_at<uint32_t>(begin, 8) == 16;
}

bool is_safetensors(std::span<const std::byte> begin, int64_t size) {
  const auto header = number_at<uint64_t>(begin, 0);
  return size > 8 && header >= 2 && header <= static_cast<uint64_t>(size - 8) &&
         (text_of(begin).substr(8).starts_with("{\"") || text_of(begin).substr(8).starts_with("{}"));
}

// True for a Python pickle of protocols 2 to 5, as torch.save wrote before it used zip archives.
bool is_pickle(std::span<const std::byte> begin, std::span<const std::byte> end) {
  if (begin.size() < 4 || begin[0] != std::byte{0x80} || begin[1] < std::byte{2} || begin[1] > std::byte{5})
    return false;
  return (!end.empty() && end.back() == std::byte{'.'}) || text_of(begin.subspan(2)).starts_with("\x8a\x0al\xfc\x9c"sv);
}

// True if the `count` numbers that `value_at` returns may be weights: at least 64 numbers, of which 99 % are zero or of
// plausible magnitude, and 30 to 70 % are negative.
template <class ValueAt>
bool are_weights(size_t count, const ValueAt& value_at) {
  constexpr size_t kEnough = 64;
  if (count < kEnough) return false;
  size_t possible = 0;
  size_t negative = 0;
  for (size_t i = 0; i < count; ++i) {
    const double value = value_at(i);
    const double size = std::abs(value);
    possible += value == 0 || (size > 1e-9 && size < 1e3) ? 1 : 0;
    negative += value < 0 ? 1 : 0;
  }
  return 100 * possible >= 99 * count && 10 * negative >= 3 * count && 10 * negative <= 7 * count;
}

}  // namespace

std::vector<std::byte> bytes_at(const InputFile& file, int64_t begin, int64_t size) {
  std::vector<std::byte> bytes(static_cast<size_t>(std::clamp<int64_t>(file.size() - begin, 0, size)));
  file.read(begin, bytes);
  return bytes;
}

FileKind kind_by_signature(const InputFile& file) {
  constexpr int64_t kBegin = 512;
  const std::vector<std::byte> begin = bytes_at(file, 0, kBegin);
  const auto* const found = std::find_if(kSignatures.begin(), kSignatures.end(), [&](const FileSignature& signature) {
    const auto at = static_cast<size_t>(signature.at);
    return begin.size() > at && text_of(begin).substr(at).starts_with(signature.bytes);
  });
  if (found != kSignatures.end()) return {std::string(found->name), std::string(found->remedy)};
  if (is_llmc(begin, file.size())) return llmc_kind(number_at<int32_t>(begin, 0));
  if (is_arrow_stream(begin)) return {"an arrow stream", kTokenize};
  if (is_safetensors(begin, file.size())) return {"a safetensors file", kUseAsWeights};
  if (is_pickle(begin, bytes_at(file, file.size() - std::min<int64_t>(file.size(), 1), 1)))
    return {"a Python pickle, such as an old checkpoint", kGiveTokens};
  return {};
}

FileKind kind_of_text(std::span<const std::byte> begin) {
  constexpr std::array kKeys{"\"architectures\"", "\"model_type\"", "\"hidden_size\"", "\"num_hidden_layers\"",
                             "\"n_embd\"",        "\"weight_map\"", "\"torch_dtype\"", "\"added_tokens\"",
                             "\"d_model\"",       "\"vocab_size\""};
  const std::string_view text = text_of(begin);
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    return {"UTF-16 text", "convert it to UTF-8 (iconv -f UTF-16 -t UTF-8)"};
  const size_t first = text.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
  if (first == std::string_view::npos || text[first] != '{') return {};
  for (const std::string_view key : kKeys) {
    const size_t at = text.find(key);
    if (at == std::string_view::npos) continue;
    const size_t after = text.find_first_not_of(" \t\r\n", at + key.size());
    if (after != std::string_view::npos && text[after] == ':')
      return {fmt::format("JSON that describes a model (it has {})", key), kGiveTokens};
  }
  return {};
}

FileKind kind_by_values(std::span<const std::byte> sample) {
  const auto bfloat16_at = [&](size_t i) { return double{static_cast<float>(number_at<BFloat16>(sample, 2 * i))}; };
  const auto float16_at = [&](size_t i) { return double{static_cast<float>(number_at<Float16>(sample, 2 * i))}; };
  const bool found =
      are_weights(sample.size() / 4, [&](size_t i) { return double{number_at<float>(sample, 4 * i)}; }) ||
      are_weights(sample.size() / 8, [&](size_t i) { return number_at<double>(sample, 8 * i); }) ||
      are_weights(sample.size() / 2, bfloat16_at) || are_weights(sample.size() / 2, float16_at);
  return found ? FileKind{"floating-point numbers, such as weights", kGiveTokens} : FileKind{};
}

bool is_text(std::span<const std::byte> bytes) {
  return std::none_of(bytes.begin(), bytes.end(), [](std::byte byte) {
    const auto c = static_cast<unsigned char>(byte);
    return (c < ' ' && c != '\t' && c != '\n' && c != '\v' && c != '\f' && c != '\r' && c != '\x1b') || c == 0x7f;
  });
}

}  // namespace laptime
