// Where the tokens and targets of a step come from: seeded random numbers, or a file of tokens or text.
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

// Makes the batch of any step, in any order, with the same result each time.
class TokenSource {
 public:
  TokenSource() = default;
  TokenSource(const TokenSource&) = delete;
  TokenSource& operator=(const TokenSource&) = delete;
  virtual ~TokenSource() = default;

  // Tokens and targets of this step (from 0), each (B, T) row-major, every id in [0, vocab_size).
  virtual void batch(int64_t step, std::span<int64_t> tokens, std::span<int64_t> targets) const = 0;
};

// A file as one sequence of token ids: nanoGPT's uint16, llm.c's header and uint16, or the bytes of any file.
class TokenFile {
 public:
  // `format` kAuto: llm.c by its magic number, else uint16 where the name ends in .bin, else bytes. Error when the file
  // cannot be read or is not of the format.
  TokenFile(const std::string& path, DataFormat format);

  DataFormat format() const { return format_; }  // never kAuto
  int64_t size() const { return size_; }         // in tokens
  std::string text() const { return file_.text(); }

  // Tokens [begin, begin + out.size()).
  void read(int64_t begin, std::span<int64_t> out) const;

  // Reads the whole file once. Error with the first position whose token is not below vocab_size.
  void check_vocabulary(int64_t vocab_size) const;

 private:
  void read_llmc_header();
  int64_t token_bytes() const { return format_ == DataFormat::kBytes ? 1 : 2; }

  InputFile file_;
  DataFormat format_;
  int64_t first_byte_ = 0;
  int64_t size_ = 0;
};

// Tokens and targets are the streams `tokens` and `targets` modulo vocab_size, apart from each other. Batch s has the
// elements [s B T, (s + 1) B T); fixed batches are batch 0, which is that of the golden values.
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

// Row b of batch s is the T tokens from position p on, its targets the T from p + 1 on; p is element s B + b of the
// stream `windows` modulo (tokens in the file - T). Fixed batches are batch 0.
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

// The source that a run asks for, checked.
std::unique_ptr<TokenSource> make_token_source(const RunConfig& config);

}  // namespace laptime
