// Sources of the tokens and targets of a step: seeded random numbers, or files with tokens or text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "config/run_config.h"
#include "data/stream.h"
#include "data/token_data.h"

namespace laptime {

// Produces the batch for any step; the result depends only on the step number.
class TokenSource {
 public:
  TokenSource() = default;
  TokenSource(const TokenSource&) = delete;
  TokenSource& operator=(const TokenSource&) = delete;
  virtual ~TokenSource() = default;

  // Tokens and targets of step `step` (counted from 0), each (B, T) row-major with ids in [0, vocab_size).
  virtual void batch(int64_t step, std::span<int64_t> tokens, std::span<int64_t> targets) const = 0;
};

// Tokens and targets are independent: the streams `tokens` and `targets` modulo vocab_size. Batch s consists of
// elements [s B T, (s + 1) B T); a fixed batch is batch 0, which the golden files also use.
class RandomTokens : public TokenSource {
 public:
  RandomTokens(int64_t seed, int64_t vocab_size, Batches batches);
  void batch(int64_t step, std::span<int64_t> tokens, std::span<int64_t> targets) const override;

 private:
  Stream tokens_;
  Stream targets_;
  int64_t vocab_size_;
  Batches batches_;
};

// Row b of batch s contains the first T tokens of window w, which has T + 1 tokens; the row's targets are the last T.
// w is element s B + b of the stream `windows` modulo the number of windows. A fixed batch is batch 0.
class FileTokens : public TokenSource {
 public:
  // Throws Error unless at least one file contains T + 1 tokens, and all tokens are below vocab_size.
  FileTokens(TokenData data, int64_t seed, int64_t vocab_size, int64_t context_length, Batches batches);
  void batch(int64_t step, std::span<int64_t> tokens, std::span<int64_t> targets) const override;

 private:
  TokenData data_;
  Stream windows_;
  int64_t context_length_;
  Batches batches_;
};

// Random tokens if config.data is empty; otherwise tokens from its files, after checking them.
std::unique_ptr<TokenSource> make_token_source(const RunConfig& config);

}  // namespace laptime
