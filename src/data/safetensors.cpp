// Opens a safetensors file, and reads its values as float32, float64 or int64.
#include "data/safetensors.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <type_traits>

#include "base/error.h"
#include "base/words.h"
#include "tensor/dtype.h"

namespace laptime {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and its bytes are read without swapping");

constexpr uint64_t kLongestHeader = 100'000'000;  // the limit of the safetensors library

// Reads the header text after checking its length against the size of the file.
std::string header_text(const InputFile& file) {
  const auto size = static_cast<uint64_t>(file.size());
  if (size < kLengthBytes) {
    throw Error::format("{} has {} bytes, too few for a safetensors file; copy or download it again", file.text(),
                        size);
  }
  uint64_t length = 0;
  file.read(0, std::as_writable_bytes(std::span(&length, 1)));
  if (length > kLongestHeader) {
    throw Error::format(
        "{}: the first 8 bytes state a header of {} bytes, more than the {} allowed; this is not a "
        "safetensors file; choose another file",
        file.text(), length, kLongestHeader);
  }
  if (length > size - kLengthBytes) {
    throw Error::format(
        "{}: the header should end at byte {}, but the file ends at byte {}; it is truncated or not a "
        "safetensors file; copy or download it again",
        file.text(), kLengthBytes + length, size);
  }
  std::string text(length, '\0');
  file.read(kLengthBytes, std::as_writable_bytes(std::span(text)));
  if (text.empty() || text.front() != '{') {
    throw Error::format(
        "{}: the header at byte {} does not begin with '{{'; this is not a safetensors file; choose another file",
        file.text(), kLengthBytes);
  }
  return text;
}

// Converts stored values to `out` up to the first that T cannot represent; returns how many were written.
template <class Stored, class T>
size_t convert(const std::byte* from, std::span<T> out) {
  if constexpr (std::is_same_v<Stored, T>) {
    if (!out.empty()) std::memcpy(out.data(), from, out.size_bytes());
  } else {
    for (size_t i = 0; i < out.size(); ++i) {
      Stored stored;
      std::memcpy(&stored, from + i * sizeof(Stored), sizeof(Stored));
      if constexpr (std::is_integral_v<T> && !std::is_integral_v<Stored>) {
        constexpr double kBeyond = 0x1p63;
        const auto wide =
            static_cast<double>(static_cast<std::conditional_t<sizeof(Stored) == 8, double, float>>(stored));
        if (!(std::fabs(wide) < kBeyond) || wide != std::trunc(wide)) return i;
        out[i] = static_cast<T>(wide);
      } else if constexpr (std::is_same_v<Stored, BFloat16> || std::is_same_v<Stored, Float16>) {
        out[i] = static_cast<T>(static_cast<float>(stored));
      } else {
        out[i] = static_cast<T>(stored);
      }
    }
  }
  return out.size();
}

template <class T>
size_t convert(StoredType type, const std::byte* from, std::span<T> out) {
  switch (type) {
    case StoredType::kF64: return convert<double>(from, out);
    case StoredType::kF32: return convert<float>(from, out);
    case StoredType::kF16: return convert<Float16>(from, out);
    case StoredType::kBF16: return convert<BFloat16>(from, out);
    case StoredType::kI64: return convert<int64_t>(from, out);
    case StoredType::kI32: return convert<int32_t>(from, out);
    case StoredType::kI16: return convert<int16_t>(from, out);
    case StoredType::kU8: return convert<uint8_t>(from, out);
    case StoredType::kBool: {
      const size_t count = convert<uint8_t>(from, out);
      for (T& value : out) value = static_cast<T>(value != 0);
      return count;
    }
  }
  return 0;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path, "safetensors file") {
  header_ = parse_safetensors_header(header_text(file_), file_.size(), text());
  for (const StoredTensor& tensor : header_.tensors) by_name_.emplace(tensor.name, &tensor);
}

const StoredTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = by_name_.find(name);
  return found == by_name_.end() ? nullptr : found->second;
}

const StoredTensor& SafetensorsFile::tensor(std::string_view name) const {
  const StoredTensor* const found = find(name);
  if (found == nullptr) {
    throw Error::format("{} has no tensor {} among its {} tensors; choose another file", text(), quote(name),
                        header_.tensors.size());
  }
  return *found;
}

template <class T>
void SafetensorsFile::read(const StoredTensor& tensor, int64_t begin, std::span<T> out) const {
  const auto count = static_cast<int64_t>(out.size());
  LAPTIME_CHECK(begin >= 0 && begin <= tensor.numel() - count, "{}: elements [{}, {} + {}) of {}", tensor.name, begin,
                begin, count, tensor.numel());
  constexpr int64_t kPiece = 1 << 16;  // elements
  const int64_t element = size_of(tensor.type);
  std::vector<std::byte> stored(static_cast<size_t>(std::min(kPiece, count) * element));
  for (int64_t at = 0; at < count; at += kPiece) {
    const auto size = static_cast<size_t>(std::min(kPiece, count - at));
    const auto bytes = std::span(stored).first(size * static_cast<size_t>(element));
    file_.read(tensor.begin + (begin + at) * element, bytes);
    const size_t done = convert(tensor.type, bytes.data(), out.subspan(static_cast<size_t>(at), size));
    if (done == size) continue;
    const int64_t bad = begin + at + static_cast<int64_t>(done);
    throw Error::format(
        "{}: tensor {}: element {} (byte {}) is not a 64-bit integer; choose a file with integers there", text(),
        quote(tensor.name), bad, tensor.begin + bad * element);
  }
}

template <class T>
std::vector<T> SafetensorsFile::read(const StoredTensor& tensor) const {
  std::vector<T> values(static_cast<size_t>(tensor.numel()));
  read<T>(tensor, 0, values);
  return values;
}

template void SafetensorsFile::read(const StoredTensor&, int64_t, std::span<float>) const;
template void SafetensorsFile::read(const StoredTensor&, int64_t, std::span<double>) const;
template void SafetensorsFile::read(const StoredTensor&, int64_t, std::span<int64_t>) const;
template std::vector<float> SafetensorsFile::read(const StoredTensor&) const;
template std::vector<double> SafetensorsFile::read(const StoredTensor&) const;
template std::vector<int64_t> SafetensorsFile::read(const StoredTensor&) const;

}  // namespace laptime
