// Applies random changes drawn from a counter-based stream.
#include "fuzz/mutation.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/random.h"

namespace laptime::fuzz {
namespace {

constexpr size_t kLongest = size_t{1} << 20;
constexpr std::array<std::string_view, 20> kExtremes{"0",
                                                     "-1",
                                                     "1e999",
                                                     "-0.0",
                                                     "9223372036854775807",
                                                     "9223372036854775808",
                                                     "18446744073709551616",
                                                     "1e-320",
                                                     "nan",
                                                     "inf",
                                                     "null",
                                                     "[]",
                                                     "{}",
                                                     "\"\"",
                                                     "\\u0000",
                                                     "\xFF",
                                                     "\n",
                                                     "'",
                                                     "\"",
                                                     "1048577"};

class Mutator {
 public:
  Mutator(const std::vector<std::string>& seeds, const std::vector<std::string>& words, uint64_t number)
      : seeds_(seeds), words_(words), key_(splitmix64(number)) {}

  std::string run() {
    text_ = seeds_[below(seeds_.size())];
    for (uint64_t changes = 1 + below(8); changes > 0; --changes) change();
    if (text_.size() > kLongest) text_.resize(kLongest);
    return text_;
  }

 private:
  // A random number in [0, count). `count` must not be 0.
  size_t below(size_t count) { return splitmix64(key_ + counter_++) % count; }
  size_t position() { return below(text_.size() + 1); }

  // A random range of a text, usually short.
  std::string_view piece_of(std::string_view text) {
    const size_t begin = below(text.size() + 1);
    const size_t longest = below(4) == 0 ? text.size() : 16;
    return text.substr(begin, below(std::max<size_t>(longest, 1)));
  }

  void change() {
    switch (below(9)) {
      case 0: turn_bit(); break;
      case 1: set_byte(); break;
      case 2: cut(); break;
      case 3: text_.insert(position(), std::string(piece_of(text_))); break;
      case 4: text_.insert(position(), std::string(piece_of(seeds_[below(seeds_.size())]))); break;
      case 5: text_.insert(position(), std::string(kExtremes[below(kExtremes.size())])); break;
      case 6: replace_number(); break;
      case 7:
        if (!words_.empty()) text_.insert(position(), words_[below(words_.size())]);
        break;
      default:
        if (!words_.empty()) replace_word();
    }
  }

  void turn_bit() {
    if (text_.empty()) return;
    char& byte = text_[below(text_.size())];
    byte = static_cast<char>(static_cast<unsigned char>(byte) ^ (1U << below(8)));
  }

  void set_byte() {
    if (!text_.empty()) text_[below(text_.size())] = static_cast<char>(below(256));
  }

  void cut() {
    const std::string_view piece = piece_of(text_);
    if (below(16) == 0) {
      text_.resize(position());
    } else {
      text_.erase(static_cast<size_t>(piece.data() - text_.data()), piece.size());
    }
  }

  // Replaces the first number after a random position with an extreme value.
  void replace_number() {
    const size_t begin = text_.find_first_of("0123456789", position());
    if (begin == std::string::npos) return;
    const size_t end = std::min(text_.find_first_not_of("0123456789", begin), text_.size());
    text_.replace(begin, end - begin, kExtremes[below(kExtremes.size())]);
  }

  // Replaces the first run of letters after a random position with a word.
  void replace_word() {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz_-";
    const size_t begin = text_.find_first_of(kLetters, position());
    if (begin == std::string::npos) return;
    const size_t end = std::min(text_.find_first_not_of(kLetters, begin), text_.size());
    text_.replace(begin, end - begin, words_[below(words_.size())]);
  }

  const std::vector<std::string>& seeds_;
  const std::vector<std::string>& words_;
  uint64_t key_;
  uint64_t counter_ = 0;
  std::string text_;
};

}  // namespace

std::string mutant(const std::vector<std::string>& seeds, const std::vector<std::string>& words, uint64_t number) {
  return Mutator(seeds, words, number).run();
}

}  // namespace laptime::fuzz
