// Hashes a file in four independent streams of words, so that hashing is as fast as reading, and finds the range of the
// tokens in the file.
#include "data/file_scan.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/random.h"

namespace laptime {
namespace {

constexpr int64_t kPiece = int64_t{1} << 18;  // bytes read at a time

class Hash {
 public:
  // `bytes` must be a whole number of blocks.
  void add(std::span<const std::byte> bytes) {
    for (size_t at = 0; at < bytes.size(); at += kBlock) {
      std::array<uint64_t, kStreams> words{};
      std::memcpy(words.data(), bytes.data() + at, kBlock);
      for (size_t i = 0; i < kStreams; ++i) {
        streams_[i] =
            (streams_[i] ^ words[i]) * 0x9E3779B97F4A7C15ULL;  // odd factor: distinct words give distinct products
        streams_[i] ^= streams_[i] >> 32U;                     // lets the high bits affect the low ones
      }
    }
  }

  uint64_t value(int64_t size) const {
    uint64_t value = splitmix64(static_cast<uint64_t>(size));
    for (const uint64_t stream : streams_) value = splitmix64(value ^ stream);
    return value;
  }

  static constexpr size_t kStreams = 4;
  static constexpr size_t kBlock = kStreams * sizeof(uint64_t);

 private:
  std::array<uint64_t, kStreams> streams_{1, 2, 3, 4};
};

template <class T>
void add_tokens(std::span<const std::byte> bytes, TokenRange& range) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    T token{};
    std::memcpy(&token, bytes.data() + at, sizeof(T));
    const auto value = static_cast<int64_t>(token);
    range.smallest = std::min(range.smallest, value);
    range.largest = std::max(range.largest, value);
    range.zeros += value == 0 ? 1 : 0;
  }
}

// Adds tokens that begin in bytes [begin, begin + size) of the file; `piece` contains those bytes and the rest of the
// last token.
void add_tokens(const TokenLayout& layout, int64_t begin, int64_t size, std::span<const std::byte> piece,
                TokenRange& range) {
  const int64_t width = size_of(layout.type);
  const auto token_from = [&](int64_t position) {
    return std::clamp<int64_t>((position - layout.first_byte + width - 1) / width, 0, layout.count);
  };
  const int64_t first = token_from(begin);
  const int64_t count = token_from(begin + size) - first;
  if (count <= 0) return;
  const auto at = static_cast<size_t>(layout.first_byte + first * width - begin);
  const auto bytes = piece.subspan(at, static_cast<size_t>(count * width));
  with_token_type(layout.type, [&]<class T>(T) { add_tokens<T>(bytes, range); });
}

FileScan read_all(const InputFile& file, const std::optional<TokenLayout>& layout) {
  constexpr int64_t kWidest = 8;
  Hash hash;
  TokenRange range{std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::min(), 0};
  std::vector<std::byte> piece(static_cast<size_t>(kPiece + kWidest));
  for (int64_t begin = 0; begin < file.size();) {
    const int64_t held = std::min(kPiece + kWidest, file.size() - begin);
    const int64_t size = std::min(kPiece, held);
    file.read(begin, std::span(piece).first(static_cast<size_t>(held)));
    if (layout) add_tokens(*layout, begin, size, piece, range);
    const size_t whole = (static_cast<size_t>(size) + Hash::kBlock - 1) / Hash::kBlock * Hash::kBlock;
    if (size < kPiece) std::fill(piece.begin() + size, piece.begin() + static_cast<ptrdiff_t>(whole), std::byte{});
    hash.add(std::span(piece).first(whole));
    begin += size;
  }
  FileScan scan{hash.value(file.size()), {}};
  if (layout && layout->count > 0) scan.tokens = range;
  return scan;
}

using ScanKey = std::pair<FileStamp, std::optional<TokenLayout>>;

std::map<ScanKey, FileScan>& known_scans() {
  static std::map<ScanKey, FileScan> scans;
  return scans;
}

}  // namespace

FileScan scan_file(const InputFile& file, const std::optional<TokenLayout>& layout) {
  const FileStamp stamp = file.stamp();
  const auto known = known_scans().find({stamp, layout});
  if (known != known_scans().end()) return known->second;
  const bool is_settled = InputFile::is_settled(stamp);
  const FileScan scan = read_all(file, layout);
  if (is_settled && file.stamp() == stamp) known_scans()[{stamp, layout}] = scan;
  return scan;
}

}  // namespace laptime
