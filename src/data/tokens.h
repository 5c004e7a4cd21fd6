// Sources of the tokens and targets of a step: seeded random numbers, or a file of tokens or text.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/run_config.h"
#include "data/input_file.h"
#include "data/stream.h"

namespace laptime {

// Makes the batch of any step; the result depends only on the step number.
class TokenSource {
 public:
  TokenSource() = default;
  TokenSource(const TokenSource&) = delete;
  TokenSource& operator=(const TokenSource&) = delete;
  virtual ~TokenSource() = default;

  // Tokens and targets of step `step` (from 0), each (B, T) row-major with ids in [0, vocab_size).
  virtual void batch(int64_t step, std::span<int64_t> tokens, std::span<int64_t> targets) const = 0;
};

// A file as one sequence of token ids: nanoGPT's uint16, llm.c's header followed by uint16, or the bytes of any file.
class TokenFile {
 public:
  // kAuto detects llm.c by its magic number, takes other files with the suffix .bin as uint16, and the rest as bytes.
  // Error if the file cannot be read or does not have the format.
  TokenFile(const std::string& path, DataFormat format);

  DataFormat format() const { return format_; }  // never kAuto
  int64_t size() const { return size_; }         // in tokens
  std::string text() const { return file_.text(); }

  // Tokens [begin, begin + out.size()).
  void read(int64_t begin, std::span<int64_t> out) const;

  // Reads the whole file. Error with the position of the first token that is not below vocab_size.
  void check_vocabulary(int64_t vocab_size) const;

 private:
  void read_llmc_header();
  int64_t token_bytes() const { return format_ == DataFormat::kBytes ? 1 : 2; }

  InputFile file_;
  DataFormat format_;
  int64_t first_byte_ = 0;
  int64_t size_ = 0;
};

// Tokens and targets are independent: the streams `tokens` and `targets` modulo vocab_size. Batch s has the elements
// [s B T, (s + 1) B T); a fixed batch is batch 0, which the golden files use too.
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

// Row b of batch s is the window of T tokens that starts at position p, and its targets start at p + 1, where p is
// element s B + b of the stream `windows` modulo (tokens in the file - T). A fixed batch is batch 0.
class FileTokens : public TokenSource {
 public:
  // Error unless the file holds at least T + 1 tokens, all below vocab_size.
  FileTokens(TokenFile file, int64_t seed, int64_t vocab_size, int64_t context_length, Batches batches);
  void batch(int64_t step, std::span<int64_t> tokens, std::span<int64_t> targets) const override;

 private:
  TokenFile file_;
  Stream windows_;
  int64_t context_length_;
  Batches batches_;
};

// The source for config.data, after checking the file.
std::unique_ptr<TokenSource> make_token_source(const RunConfig& config);

}  // namespace laptime
