// Makes batches of tokens from files or from random streams.
#include "data/tokens.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"

namespace laptime {
RandomTokens::RandomTokens(int64_t seed, int64_t vocab_size, Batches batches)
    : tokens_(static_cast<uint64_t>(seed), "tokens"),
      targets_(static_cast<uint64_t>(seed), "targets"),
      vocab_size_(vocab_size),
      batches_(batches) {}

void RandomTokens::batch(int64_t step, std::span<int64_t> tokens, std::span<int64_t> targets) const {
  LAPTIME_CHECK(tokens.size() == targets.size(), "{} tokens, {} targets", tokens.size(), targets.size());
  const int64_t begin = batches_ == Batches::kFixed ? 0 : step * static_cast<int64_t>(tokens.size());
  fill_integers(tokens_, begin, tokens, vocab_size_);
  fill_integers(targets_, begin, targets, vocab_size_);
}

FileTokens::FileTokens(TokenData data, int64_t seed, int64_t vocab_size, int64_t context_length, Batches batches)
    : data_(std::move(data)),
      windows_(static_cast<uint64_t>(seed), "windows"),
      context_length_(context_length),
      batches_(batches) {
  if (data_.window_count(context_length + 1) == 0) {
    throw Error::format(
        "{} contains {} tokens, but a context of {} needs a file with at least {}; use a shorter --context or more "
        "data",
        data_.text(), data_.size(), context_length, context_length + 1);
  }
  data_.check_vocabulary(vocab_size);
}

void FileTokens::batch(int64_t step, std::span<int64_t> tokens, std::span<int64_t> targets) const {
  const auto length = static_cast<size_t>(context_length_);
  LAPTIME_CHECK(tokens.size() == targets.size() && tokens.size() % length == 0, "{} tokens, {} targets, context {}",
                tokens.size(), targets.size(), length);
  const auto rows = static_cast<int64_t>(tokens.size() / length);
  std::vector<int64_t> window(length + 1);
  const auto count = static_cast<uint64_t>(data_.window_count(context_length_ + 1));
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t index = (batches_ == Batches::kFixed ? 0 : step * rows) + row;
    data_.read_window(static_cast<int64_t>(windows_[index] % count), window);
    const auto at = static_cast<ptrdiff_t>(length) * row;
    std::copy_n(window.begin(), length, tokens.begin() + at);
    std::copy_n(window.begin() + 1, length, targets.begin() + at);
  }
}

std::unique_ptr<TokenSource> make_token_source(const RunConfig& config) {
  if (config.data.empty()) {
    return std::make_unique<RandomTokens>(config.seed, config.model.vocab_size, config.batches);
  }
  return std::make_unique<FileTokens>(TokenData(config.data, config.data_format), config.seed, config.model.vocab_size,
                                      config.step_context(), config.batches);
}

}  // namespace laptime
