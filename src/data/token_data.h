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

// The files given by --data: the file with exactly this name or, if there is none, the files in a list (a.bin,b.bin),
// each of which may be a pattern (train_*.bin); matches of a pattern are sorted. Throws Error for a pattern without a
// match, and for more than 100000 files.
std::vector<std::string> data_files(const std::string& data);

// Facts about all tokens, collected in one pass.
struct TokenFacts {
  std::string hash;  // hash of the content of all files, in order
  int64_t files = 0, tokens = 0;
  int64_t smallest = 0, largest = 0;
  double zero_share = 0;  // share of tokens that are zero
};

class TokenData {
 public:
  // Detects the layout of every file (token_layout). Throws Error if a file cannot be read, or if the files differ
  // in format or type.
  TokenData(const std::string& data, DataFormat format);

  DataFormat format() const { return shards_.front().layout.format; }  // never kAuto
  TokenType type() const { return shards_.front().layout.type; }
  int64_t size() const;      // in tokens
  std::string text() const;  // the name in messages: "data file 'a.bin'", "data file 'a.bin' and 2 more"

  // Number of windows of `length` consecutive tokens; a window does not cross files.
  int64_t window_count(int64_t length) const;
  // Reads the tokens of window `index`, whose length is out.size().
  void read_window(int64_t index, std::span<int64_t> out) const;

  // Reads the files that this process has not read yet (scan_file). Requires at least one token.
  TokenFacts facts() const;

  // Throws Error with the position of the first token outside [0, vocab_size), and if a guessed type is too small for
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
  mutable std::optional<InputFile> file_;  // the most recently read shard
};

// Signs that the tokens are not the intended data for a model with this vocabulary; empty if there are none, or if
// there are fewer than 100 tokens.
std::vector<std::string> remarks_on(const TokenFacts& facts, TokenType type, int64_t vocab_size);

}  // namespace laptime
