// The opcodes of pickle.
#include "export/pickle.h"

#include <utility>

#include "table/text.h"

namespace laptime {
namespace {

constexpr unsigned kProto = 0x80;
constexpr unsigned kBinInt1 = 'K';
constexpr unsigned kBinInt2 = 'M';
constexpr unsigned kBinInt = 'J';
constexpr unsigned kLong1 = 0x8a;
constexpr unsigned kNewTrue = 0x88;
constexpr unsigned kNewFalse = 0x89;
constexpr unsigned kBinUnicode = 'X';
constexpr unsigned kTuple2 = 0x86;
constexpr unsigned kBinPut = 'q';
constexpr unsigned kLongBinPut = 'r';
constexpr unsigned kBinGet = 'h';
constexpr unsigned kLongBinGet = 'j';
constexpr unsigned kStop = '.';

}  // namespace

Pickle::Pickle() {
  byte(kProto);
  byte(2);
}

void Pickle::number(uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) byte(static_cast<unsigned>(value >> (8 * i)) & 0xffU);
}

void Pickle::integer(int64_t value) {
  const auto bits = static_cast<uint64_t>(value);
  if (value >= 0 && value < 0x100) {
    byte(kBinInt1);
    number(bits, 1);
  } else if (value >= 0 && value < 0x10000) {
    byte(kBinInt2);
    number(bits, 2);
  } else if (value == static_cast<int32_t>(value)) {
    byte(kBinInt);
    number(bits, 4);
  } else {
    byte(kLong1);
    byte(8);
    number(bits, 8);
  }
}

void Pickle::boolean(bool value) { byte(value ? kNewTrue : kNewFalse); }

void Pickle::text(std::string_view raw) {
  if (const auto known = texts_.find(raw); known != texts_.end()) return reference(known->second);
  const std::string value = printable(raw);
  byte(kBinUnicode);
  number(value.size(), 4);
  bytes_ += value;
  texts_.emplace(raw, remember());
}

void Pickle::empty_list() { byte(pickle_op::kEmptyList); }

void Pickle::pair(int64_t first, int64_t second) {
  integer(first);
  integer(second);
  byte(kTuple2);
}

size_t Pickle::remember() {
  const size_t number_of_value = remembered_++;
  const bool fits = number_of_value < 0x100;
  byte(fits ? kBinPut : kLongBinPut);
  number(number_of_value, fits ? 1 : 4);
  return number_of_value;
}

void Pickle::reference(size_t number_of_value) {
  const bool fits = number_of_value < 0x100;
  byte(fits ? kBinGet : kLongBinGet);
  number(number_of_value, fits ? 1 : 4);
}

std::string Pickle::finish() {
  byte(kStop);
  return std::move(bytes_);
}

}  // namespace laptime
