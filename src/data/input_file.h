// A file that somebody else wrote: opened once, its size known, read at any place.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace laptime {

// Tells one version of a file from another without reading it. Times are nanoseconds since 1970.
struct FileStamp {
  uint64_t device = 0, inode = 0;
  int64_t size = 0, modified = 0, changed = 0;

  auto operator<=>(const FileStamp&) const = default;
};

// A regular file, open for reading. All errors name the file and what it is for.
class InputFile {
 public:
  // `purpose` is what a message calls it: "weights file". Error when it cannot be opened, or is no regular file.
  InputFile(std::string path, std::string_view purpose);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // bytes, as it was when the file was opened
  std::string text() const;               // "weights file 'a.safetensors'": how messages name it
  FileStamp stamp() const;                // as it is now; Error if the file system does not say

  // False for a moment after the file was written: another write might then leave the same stamp.
  static bool is_settled(const FileStamp& stamp);

  // Bytes [begin, begin + out.size()). Error when the file has become shorter, or the disk fails.
  void read(int64_t begin, std::span<std::byte> out) const;

 private:
  std::string path_;
  std::string purpose_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace laptime
