// TokenLayout: where the tokens of a file begin, and in which type they are stored.
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
  bool is_guessed = false;  // a file without a header, of which the user did not state the type

  auto operator<=>(const TokenLayout&) const = default;
};

// Recognises a file by its content: llm.c's tokens and numpy arrays by their headers, text as bytes, and tokens without
// a header, in a file that ends in .bin, by the values that they would have as uint16 and as uint32. With a format the
// file must be of that format; kBytes takes any file. Error, with what the file is, for anything that holds no tokens:
// archives, checkpoints, tables, the configuration of a model, numbers of other types.
TokenLayout token_layout(const InputFile& file, DataFormat format);

}  // namespace laptime
