// Splits a file into JSON documents while reading it.
#include "data/json_documents.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "data/input_file.h"

namespace laptime {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

class Splitter {
 public:
  Splitter(const InputFile& input, const char* advice) : input_(input), advice_(advice) {}

  // The next document, or none at the end of the file.
  std::optional<std::string> next() {
    std::optional<char> c = get();
    for (; c; c = get()) {
      if (*c == '[' && !in_list_) {
        in_list_ = true;
      } else if (*c == ']' && in_list_) {
        in_list_ = false;
      } else if (!is_space(*c) && !(*c == ',' && in_list_)) {
        break;
      }
      has_content_ = has_content_ || !is_space(*c);
    }
    start_ = line_;
    if (!c && in_list_) reject("not JSON: the array is not closed");
    if (!c) return std::nullopt;
    has_content_ = true;
    return document(*c);
  }

  std::string place() const { return fmt::format("{}, line {}", input_.text(), start_); }
  bool is_empty() const { return !has_content_; }

 private:
  [[noreturn]] void reject(std::string_view what) const { throw Error::format("{}: {}; {}", place(), what, advice_); }

  // Reads a document up to the character that closes it, or up to the next separator, which is not consumed.
  std::string document(char first) {
    std::string text;
    size_t depth = 0;
    bool in_string = false;
    for (std::optional<char> c = first; c; c = get()) {
      text += *c;
      if (text.size() > kMaxDocumentBytes)
        reject(fmt::format("a JSON document has more than the limit of {} bytes", kMaxDocumentBytes));
      if (in_string && *c == '\\') {
        if (const std::optional<char> escaped = get()) text += *escaped;
        continue;
      }
      const bool opens = !in_string && (*c == '{' || *c == '[');
      const bool closes = *c == '"' || *c == '}' || *c == ']';
      if (opens && ++depth > size_t{kMaxDocumentDepth})
        reject(fmt::format("nested deeper than the limit of {}", kMaxDocumentDepth));
      if (closes && *c != '"' && !in_string && depth > 0) --depth;
      if (*c == '"') in_string = !in_string;
      if (depth == 0 && !in_string && (closes || is_separator(peek()))) return text;
    }
    reject("not JSON: unexpected end of file");
  }

  static bool is_separator(std::optional<char> c) { return !c || is_space(*c) || *c == ',' || *c == ']'; }

  std::optional<char> peek() {
    if (at_ == filled_) {
      filled_ = static_cast<size_t>(std::min<int64_t>(std::ssize(buffer_), input_.size() - position_));
      input_.read(position_, std::as_writable_bytes(std::span(buffer_).first(filled_)));
      position_ += static_cast<int64_t>(filled_);
      at_ = 0;
    }
    return at_ < filled_ ? std::optional(buffer_[at_]) : std::nullopt;
  }

  std::optional<char> get() {
    const std::optional<char> c = peek();
    if (!c) return c;
    ++at_;
    if (after_break_) ++line_;
    after_break_ = *c == '\n';
    return c;
  }

  const InputFile& input_;
  const char* advice_;
  std::vector<char> buffer_ = std::vector<char>(size_t{1} << 16U);
  size_t at_ = 0;
  size_t filled_ = 0;
  int64_t position_ = 0;  // file position of the end of the buffer
  int64_t line_ = 1;
  int64_t start_ = 1;  // line on which the current document begins
  bool after_break_ = false;
  bool in_list_ = false;
  bool has_content_ = false;  // true once the input has contained anything except white space
};

}  // namespace

std::string text_of(const DocumentFile& file) { return fmt::format("{} {}", file.purpose, quote(file.path)); }

void each_json_text(const DocumentFile& file,
                    const std::function<void(std::string_view text, const std::string& place)>& take) {
  const InputFile input(file.path, file.purpose);
  if (input.size() > file.limit) {
    throw Error::format("{} has {} bytes, more than the limit of {}; give a file with fewer records", input.text(),
                        input.size(), file.limit);
  }
  Splitter splitter(input, file.advice);
  while (const std::optional<std::string> text = splitter.next()) take(*text, splitter.place());
  if (splitter.is_empty()) throw Error::format("{} is empty; {}", input.text(), file.advice);
}

void each_document(const DocumentFile& file,
                   const std::function<void(const Json& document, const std::string& where)>& take) {
  int64_t number = 0;
  each_json_text(file, [&](std::string_view text, const std::string& place) {
    Json document;
    try {
      document = Json::parse(text);
    } catch (const JsonError& error) {
      throw Error::format("{}: {}; {}", place, error.what(), file.advice);
    }
    take(document, fmt::format("{}: record {}", text_of(file), ++number));
  });
}

}  // namespace laptime
