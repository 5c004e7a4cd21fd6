// A file from an external source: opened once, with known size, and readable at any position.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace laptime {

// Distinguishes versions of a file without reading it. Times are nanoseconds since 1970.
struct FileStamp {
  uint64_t device = 0, inode = 0;
  int64_t size = 0, modified = 0, changed = 0;

  auto operator<=>(const FileStamp&) const = default;
};

// A regular file, open for reading. All errors name the file and its purpose.
class InputFile {
 public:
  // `purpose` describes the file in messages: "weights file". Throws Error if the file cannot be opened or is not a
  // regular file.
  InputFile(std::string path, std::string_view purpose);
  ~InputFile();
  InputFile(InputFile&& other) noexcept;
  InputFile& operator=(InputFile&&) = delete;
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  int64_t size() const { return size_; }  // size in bytes when the file was opened
  std::string text() const;               // the file's name in messages: "weights file 'a.safetensors'"
  FileStamp stamp() const;                // the current stamp; throws Error if the file system does not provide it

  // False shortly after the file was written, because another write might leave the stamp unchanged.
  static bool is_settled(const FileStamp& stamp);

  // Reads bytes [begin, begin + out.size()). Throws Error if the file has become shorter or the disk fails.
  void read(int64_t begin, std::span<std::byte> out) const;
  // Reads the whole file. If the file has more than `limit` bytes, throws an Error whose message ends with `advice`.
  std::string read_all(size_t limit, std::string_view advice) const;

 private:
  std::string path_;
  std::string purpose_;
  int descriptor_ = -1;
  int64_t size_ = 0;
};

}  // namespace laptime
