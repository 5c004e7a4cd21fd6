// TokenData: the tokens of --data, in one file or in several shards.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "data/input_file.h"
#include "data/token_layout.h"

namespace laptime {

// The files that --data names: the file of exactly this name or, where there is none, the files of a list
// (a.bin,b.bin), each of which may be a pattern (train_*.bin); those of a pattern are sorted. Error for a pattern
// without a match.
std::vector<std::string> data_files(const std::string& data);

// Facts about all tokens, found in one pass.
struct TokenFacts {
  std::string hash;  // of the content of all files, in order
  int64_t files = 0, tokens = 0;
  int64_t smallest = 0, largest = 0;
  double zero_share = 0;  // of the tokens
};

class TokenData {
 public:
  // Recognises every file by its header. Error if one cannot be read, or they are not all of one format.
  TokenData(const std::string& data, DataFormat format);

  DataFormat format() const { return shards_.front().layout.format; }  // never kAuto
  TokenType type() const { return shards_.front().layout.type; }
  int64_t size() const;      // in tokens
  std::string text() const;  // "data file 'a.bin'", "data file 'a.bin' and 2 more": how messages name it

  // Windows of `length` tokens that follow one another in a file, and the tokens of window `index`.
  int64_t window_count(int64_t length) const;
  void read_window(int64_t index, std::span<int64_t> out) const;

  // Reads files that this process has not read yet (scan_file). There is at least one token.
  TokenFacts facts() const;

  // Error with the position of the first token outside [0, vocab_size), and for a type that was guessed and cannot hold
  // the vocabulary.
  void check_vocabulary(int64_t vocab_size) const;

 private:
  struct Shard {
    std::string path;
    FileStamp stamp;
    TokenLayout layout;
  };

  const InputFile& open(const Shard& shard) const;
  void read(const Shard& shard, int64_t begin, std::span<int64_t> out) const;
  [[noreturn]] void refuse_token(const Shard& shard, int64_t vocab_size, int64_t largest) const;

  std::vector<Shard> shards_;              // at least one
  mutable std::optional<InputFile> file_;  // the shard that was read last
};

// Signs that the tokens are not the data that a model of this vocabulary should get; empty if there are none.
std::vector<std::string> remarks_on(const TokenFacts& facts, TokenType type, int64_t vocab_size);

}  // namespace laptime
