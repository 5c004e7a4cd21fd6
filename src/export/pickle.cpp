// Writes Python's pickle format (protocol 2), using only opcodes that the page pytorch.org/memory_viz reads.
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/json.h"
#include "export/formats.h"
#include "table/text.h"

namespace laptime {
namespace {

class Pickler {
 public:
  std::string document(const Json& value) {
    bytes_ = "\x80\x02";  // PROTO
    write(value);
    return std::move(bytes_ += '.');  // STOP
  }

 private:
  void write(const Json& value) {
    if (value.is_boolean()) {
      bytes_ += value.get<bool>() ? '\x88' : '\x89';  // NEWTRUE, NEWFALSE
    } else if (value.is_number()) {
      write_integer(value.get<int64_t>());
    } else if (value.is_string()) {
      write_text(value.text());
    } else if (value.is_object()) {
      bytes_ += "}(";  // EMPTY_DICT, MARK
      for (const auto& item : value.items()) {
        write_text(item.key);
        if (item.key == "frames" && !item.value.empty())
          write_once(item.value.dump(), [&] { write_list(item.value); });
        else
          write(item.value);
      }
      bytes_ += 'u';  // SETITEMS
    } else {
      write_list(value);
    }
  }

  void write_integer(int64_t value) {
    const auto bits = static_cast<uint64_t>(value);
    if (value >= 0 && value < 0x100) return write_number('K', bits, 1);           // BININT1
    if (value >= 0 && value < 0x10000) return write_number('M', bits, 2);         // BININT2
    if (value == static_cast<int32_t>(value)) return write_number('J', bits, 4);  // BININT
    bytes_ += '\x8a';                                                             // LONG1
    write_number('\x08', bits, 8);
  }

  // Writes text with its control bytes escaped.
  void write_text(const std::string& raw) {
    write_once(raw, [&] {
      const std::string text = printable(raw);
      write_number('X', text.size(), 4);  // BINUNICODE
      bytes_ += text;
    });
  }

  // Writes a list; a list of two integers becomes a tuple.
  void write_list(const Json& list) {
    if (list.size() == 2 && list.front().is_number() && list.back().is_number()) {
      for (const Json& element : list) write(element);
      bytes_ += '\x86';  // TUPLE2
      return;
    }
    constexpr size_t kBatch = 1000;  // the page passes a whole batch as arguments of one call
    bytes_ += ']';                   // EMPTY_LIST
    for (size_t begin = 0; begin < list.size(); begin += kBatch) {
      bytes_ += '(';  // MARK
      for (size_t i = begin; i < list.size() && i < begin + kBatch; ++i) write(list[i]);
      bytes_ += 'e';  // APPENDS
    }
  }

  void write_number(char opcode, uint64_t value, int bytes) {
    bytes_ += opcode;
    for (int i = 0; i < bytes; ++i) bytes_ += static_cast<char>(value >> (8 * i) & 0xffU);  // little-endian
  }

  void write_place(size_t place, char opcode, char long_opcode) {
    place < 0x100 ? write_number(opcode, place, 1) : write_number(long_opcode, place, 4);
  }

  // Writes a value with `write_first`, or a reference if the value was written before.
  void write_once(const std::string& value, const std::function<void()>& write_first) {
    const auto known = places_.find(value);
    if (known != places_.end()) return write_place(known->second, 'h', 'j');  // BINGET, LONG_BINGET
    write_first();
    write_place(places_.size(), 'q', 'r');  // BINPUT, LONG_BINPUT
    places_.emplace(value, places_.size());
  }

  std::string bytes_;
  std::map<std::string, size_t> places_;
};

}  // namespace

std::string pickled(const Json& value) { return Pickler().document(value); }

}  // namespace laptime
