// Writes Python's pickle format (protocol 2), with only those opcodes that the page pytorch.org/memory_viz reads.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>

namespace laptime {

// Values are appended one after the other; a finished document is one value.
class Pickle {
 public:
  Pickle();

  void integer(int64_t value);
  void boolean(bool value);
  // Control bytes are escaped; a text that was written before is written as a reference to it.
  void text(std::string_view raw);
  void empty_list();
  void pair(int64_t first, int64_t second);  // a tuple

  // `write(i)` appends the value of element i.
  template <class Write>
  void list(size_t count, Write&& write);
  // `write()` appends the items by item().
  template <class Write>
  void dict(Write&& write);

  template <class T>
  void item(std::string_view key, T value);
  // An item whose value `write()` appends.
  template <class Write>
  void item_of(std::string_view key, Write&& write);

  // Gives the value that was just written a number by which reference() writes it again.
  size_t remember();
  void reference(size_t number);

  // The document.
  std::string finish();

 private:
  void byte(unsigned value) { bytes_ += static_cast<char>(value); }
  void number(uint64_t value, int bytes);  // little-endian

  std::string bytes_;
  std::map<std::string, size_t, std::less<>> texts_;
  size_t remembered_ = 0;
};

namespace pickle_op {
inline constexpr unsigned kMark = '(';
inline constexpr unsigned kEmptyDict = '}';
inline constexpr unsigned kSetItems = 'u';
inline constexpr unsigned kEmptyList = ']';
inline constexpr unsigned kAppends = 'e';
}  // namespace pickle_op

template <class Write>
void Pickle::list(size_t count, Write&& write) {
  constexpr size_t kBatch = 1000;  // the page passes a batch as the arguments of one call
  byte(pickle_op::kEmptyList);
  for (size_t begin = 0; begin < count; begin += kBatch) {
    byte(pickle_op::kMark);
    for (size_t i = begin; i < count && i < begin + kBatch; ++i) write(i);
    byte(pickle_op::kAppends);
  }
}

template <class Write>
void Pickle::dict(Write&& write) {
  byte(pickle_op::kEmptyDict);
  byte(pickle_op::kMark);
  write();
  byte(pickle_op::kSetItems);
}

template <class T>
void Pickle::item(std::string_view key, T value) {
  text(key);
  if constexpr (std::is_same_v<T, bool>) {
    boolean(value);
  } else if constexpr (std::is_integral_v<T>) {
    integer(static_cast<int64_t>(value));
  } else {
    text(value);
  }
}

template <class Write>
void Pickle::item_of(std::string_view key, Write&& write) {
  text(key);
  write();
}

}  // namespace laptime
