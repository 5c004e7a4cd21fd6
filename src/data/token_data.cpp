// Finds shards, reads their tokens, and checks the tokens against a vocabulary.
#include "data/token_data.h"

#include <fmt/format.h>
#include <glob.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <limits>

#include "base/checked.h"
#include "base/error.h"
#include "base/random.h"
#include "base/words.h"
#include "config/option_table.h"
#include "data/file_scan.h"

namespace laptime {
namespace {

constexpr const char* kPurpose = "data file";
constexpr size_t kMostShards = 100'000;

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

void add_matches(const std::string& pattern, std::vector<std::string>& files) {
  if (exists(pattern) || pattern.find_first_of("*?[") == std::string::npos) {
    files.push_back(pattern);
    return;
  }
  glob_t found{};
  const int problem = ::glob(pattern.c_str(), GLOB_ERR, nullptr, &found);
  for (size_t i = 0; problem == 0 && i < found.gl_pathc; ++i) files.emplace_back(found.gl_pathv[i]);
  ::globfree(&found);
  if (problem != 0) {
    throw Error::format("--data: no file matches {}; check the pattern and its folder", quote(pattern));
  }
}

template <class T>
void widen(std::span<const std::byte> from, std::span<int64_t> out) {
  for (size_t i = 0; i < out.size(); ++i) {
    T token{};
    std::memcpy(&token, from.data() + i * sizeof(T), sizeof(T));
    out[i] = static_cast<int64_t>(token);
  }
}

}  // namespace

std::vector<std::string> data_files(const std::string& data) {
  std::vector<std::string> files;
  if (exists(data)) return {data};
  for (size_t begin = 0; begin <= data.size();) {
    const size_t end = std::min(data.find(',', begin), data.size());
    add_matches(data.substr(begin, end - begin), files);
    begin = end + 1;
  }
  if (files.size() > kMostShards)
    throw Error::format("--data: {} names more than {} files; merge some of them", quote(data), kMostShards);
  return files;
}

TokenData::TokenData(const std::string& data, DataFormat format) {
  for (const std::string& path : data_files(data)) {
    file_.emplace(path, kPurpose);
    shards_.push_back({path, file_->stamp(), token_layout(*file_, format)});
    const Shard& first = shards_.front();
    const Shard& last = shards_.back();
    if (last.layout.format == first.layout.format && last.layout.type == first.layout.type) continue;
    throw Error::format("{} contains {} tokens ({}), but '{}' contains {} ({}); give files with the same format",
                        file_->text(), name_of(last.layout.type), name_of(last.layout.format), first.path,
                        name_of(first.layout.type), name_of(first.layout.format));
  }
}

int64_t TokenData::size() const {
  Size size = 0;
  for (const Shard& shard : shards_) size += shard.layout.count;
  return size.value();
}

std::string TokenData::text() const {
  const std::string first = fmt::format("{} {}", kPurpose, quote(shards_.front().path));
  return shards_.size() == 1 ? first : fmt::format("{} and {} more", first, shards_.size() - 1);
}

const InputFile& TokenData::open(const Shard& shard) const {
  if (file_ && file_->path() == shard.path) return *file_;
  file_.emplace(shard.path, kPurpose);
  if (file_->stamp() != shard.stamp) {
    const std::string name = file_->text();
    file_.reset();
    throw Error::format("{} has changed since it was opened; do not change it during a run", name);
  }
  return *file_;
}

void TokenData::read(const Shard& shard, int64_t begin, std::span<int64_t> out) const {
  const int64_t width = size_of(shard.layout.type);
  std::vector<std::byte> bytes(out.size() * static_cast<size_t>(width));
  open(shard).read(shard.layout.first_byte + begin * width, bytes);
  with_token_type(shard.layout.type, [&]<class T>(T) { widen<T>(bytes, out); });
}

int64_t TokenData::window_count(int64_t length) const {
  int64_t count = 0;
  for (const Shard& shard : shards_) count += std::max<int64_t>(shard.layout.count - length + 1, 0);
  return count;
}

void TokenData::read_window(int64_t index, std::span<int64_t> out) const {
  for (const Shard& shard : shards_) {
    const int64_t windows = std::max<int64_t>(shard.layout.count - std::ssize(out) + 1, 0);
    if (index < windows) return read(shard, index, out);
    index -= windows;
  }
  LAPTIME_CHECK(false, "no window {} of {} tokens", index, out.size());
}

TokenFacts TokenData::facts() const {
  TokenFacts facts{.hash = {},
                   .files = std::ssize(shards_),
                   .tokens = size(),
                   .smallest = std::numeric_limits<int64_t>::max(),
                   .largest = std::numeric_limits<int64_t>::min()};
  uint64_t hash = 0;
  int64_t zeros = 0;
  for (const Shard& shard : shards_) {
    const FileScan scan = scan_file(open(shard), shard.layout);
    hash = shards_.size() == 1 ? scan.hash : splitmix64(hash ^ scan.hash);
    if (!scan.tokens) continue;
    facts.smallest = std::min(facts.smallest, scan.tokens->smallest);
    facts.largest = std::max(facts.largest, scan.tokens->largest);
    zeros += scan.tokens->zeros;
  }
  facts.hash = fmt::format("{:016x}", hash);
  facts.zero_share = static_cast<double>(zeros) / static_cast<double>(std::max<int64_t>(facts.tokens, 1));
  return facts;
}

void TokenData::check_vocabulary(int64_t vocab_size) const {
  const TokenFacts found = facts();
  const bool is_guessed = shards_.front().layout.is_guessed;
  if (found.smallest < 0 || found.largest >= vocab_size) {
    for (const Shard& shard : shards_) {
      const FileScan scan = scan_file(open(shard), shard.layout);
      if (scan.tokens && (scan.tokens->smallest < 0 || scan.tokens->largest >= vocab_size))
        refuse_token(shard, vocab_size, found.largest);
    }
  }
  const bool is_wide_enough = type() != TokenType::kUint16 || vocab_size <= (int64_t{1} << 16);
  if (is_guessed && !is_wide_enough) {
    throw Error::format(
        "{} has no header and looks like uint16, which cannot hold every token of a vocabulary of {}; if it is uint16, "
        "confirm with --data-format uint16, otherwise use --data-format uint32",
        text(), vocab_size);
  }
}

void TokenData::refuse_token(const Shard& shard, int64_t vocab_size, int64_t largest) const {
  constexpr int64_t kChunk = 1 << 18;
  std::vector<int64_t> tokens;
  for (int64_t begin = 0; begin < shard.layout.count; begin += kChunk) {
    tokens.resize(static_cast<size_t>(std::min(kChunk, shard.layout.count - begin)));
    read(shard, begin, tokens);
    const auto bad =
        std::find_if(tokens.begin(), tokens.end(), [&](int64_t token) { return token < 0 || token >= vocab_size; });
    if (bad == tokens.end()) continue;
    const int64_t position = begin + (bad - tokens.begin());
    const std::string place = fmt::format("{}: token {} at position {} (byte {})", open(shard).text(), *bad, position,
                                          shard.layout.first_byte + position * size_of(shard.layout.type));
    if (*bad < 0) throw Error::format("{} is negative; replace it with a token of 0 or more", place);
    const std::string read_as =
        shard.layout.is_guessed
            ? fmt::format(", or state the token type with --data-format if it is not {}", name_of(shard.layout.type))
            : "";
    const double largest_vocabulary = find_option<RunConfig>("vocab").value().max;
    const std::string advice = static_cast<double>(largest) >= largest_vocabulary ? "use data with smaller token ids"
                               : shard.layout.format == DataFormat::kBytes
                                   ? "give --vocab 256 or more"
                                   : fmt::format("give --vocab {} or more", largest + 1);
    throw Error::format("{} is not in the vocabulary of {}; {}{}", place, vocab_size, advice, read_as);
  }
  throw Error::format("{} changed while it was being read; do not change it during a run", open(shard).text());
}

std::vector<std::string> remarks_on(const TokenFacts& facts, TokenType type, int64_t vocab_size) {
  constexpr double kManyZeros = 0.2;
  constexpr int64_t kEnough = 100;  // tokens
  std::vector<std::string> remarks;
  if (facts.tokens < kEnough) return remarks;
  if (facts.smallest == facts.largest) {
    remarks.push_back(fmt::format("every token in the data is {}: check --data and --data-format", facts.smallest));
  } else if (facts.zero_share > kManyZeros) {
    remarks.push_back(
        fmt::format("{:.0f} % of the tokens in the data are 0: check --data-format", 100 * facts.zero_share));
  }
  const bool is_text = type == TokenType::kUint8;
  if (!is_text && facts.largest < vocab_size / 10) {
    remarks.push_back(
        fmt::format("the largest token in the data is {}, far below the vocabulary size of {}: check --vocab",
                    facts.largest, vocab_size));
  }
  if (type == TokenType::kUint16 && vocab_size > facts.largest && facts.largest == 65'535)
    remarks.emplace_back(
        "the data contains the token 65535, which is more likely a misread value than a token: check --data-format");
  return remarks;
}

}  // namespace laptime
