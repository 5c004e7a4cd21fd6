// TokenLayout: where the tokens of a file begin, and the type in which they are stored.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/run_config.h"
#include "data/input_file.h"

namespace laptime {

// Little-endian integers.
enum class TokenType : uint8_t { kUint8, kUint16, kUint32, kInt32, kInt64 };

constexpr int64_t size_of(TokenType type) {
  switch (type) {
    case TokenType::kUint8: return 1;
    case TokenType::kUint16: return 2;
    case TokenType::kUint32:
    case TokenType::kInt32: return 4;
    case TokenType::kInt64: return 8;
  }
  return 1;
}

// Calls visit(T{}) with the C++ type of a token.
template <class Visit>
void with_token_type(TokenType type, Visit&& visit) {
  switch (type) {
    case TokenType::kUint8: return visit(uint8_t{});
    case TokenType::kUint16: return visit(uint16_t{});
    case TokenType::kUint32: return visit(uint32_t{});
    case TokenType::kInt32: return visit(int32_t{});
    case TokenType::kInt64: return visit(int64_t{});
  }
}

std::string_view name_of(TokenType type);  // "uint16"

struct TokenLayout {
  DataFormat format = DataFormat::kBytes;  // never kAuto
  TokenType type = TokenType::kUint8;
  int64_t first_byte = 0;
  int64_t count = 0;        // tokens
  bool is_guessed = false;  // the file has no header and the user did not state the type

  auto operator<=>(const TokenLayout&) const = default;
};

// Recognises a file by its content: llm.c token files and numpy arrays by their headers, text as bytes, and tokens
// without a header (in a file ending in .bin) by the values that they would have as uint16 and as uint32. If a format
// is given, the file must have it; kBytes accepts any file. Throws Error, naming the kind of file, for anything that
// does not contain tokens: archives, checkpoints, tables, model configurations, numbers of other types.
TokenLayout token_layout(const InputFile& file, DataFormat format);

}  // namespace laptime
