// Safetensors files: named tensors in one file (8-byte little-endian header length, JSON header, raw data). Values are
// converted to the type of the caller when they are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "data/input_file.h"
#include "data/safetensors_header.h"

namespace laptime {

class SafetensorsFile {
 public:
  // Opens the file and checks its header. Throws Error that says what is wrong, at which byte or in which tensor, and
  // what to do.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  std::string text() const { return file_.text(); }  // "safetensors file 'a.safetensors'"

  const std::vector<StoredTensor>& tensors() const { return header_.tensors; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }

  const StoredTensor* find(std::string_view name) const;    // null if there is none
  const StoredTensor& tensor(std::string_view name) const;  // throws Error if there is none

  // Reads elements [begin, begin + out.size()) in row-major order, rounded to nearest if T is narrower. T is float,
  // double or int64_t. Throws Error for a value that int64_t cannot represent, and if the file has become shorter. May
  // be called from several threads at once.
  template <class T>
  void read(const StoredTensor& tensor, int64_t begin, std::span<T> out) const;
  template <class T>
  std::vector<T> read(const StoredTensor& tensor) const;

 private:
  InputFile file_;
  SafetensorsHeader header_;
  std::map<std::string_view, const StoredTensor*> by_name_;
};

}  // namespace laptime
