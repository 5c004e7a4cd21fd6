// Opens and reads a file, with errors that say what to do.
#include "data/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/words.h"

namespace laptime {
namespace {

std::string reason(int code) { return std::generic_category().message(code); }

const char* remedy(int code) {
  switch (code) {
    case ENOENT:
    case ENOTDIR: return "check the path";
    case EACCES:
    case EPERM: return "make it readable for this user (chmod +r) or choose another file";
    case EMFILE:
    case ENFILE: return "raise the limit on open files (ulimit -n)";
    default: return "choose another file";
  }
}

}  // namespace

InputFile::InputFile(std::string path, std::string_view purpose) : path_(std::move(path)), purpose_(purpose) {
  // Opens without blocking, because opening a pipe would otherwise wait for a writer before it can be rejected.
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor_ < 0) throw Error::format("cannot open {}: {}; {}", text(), reason(errno), remedy(errno));
  struct stat status {};
  const bool known = ::fstat(descriptor_, &status) == 0;
  if (!known || !S_ISREG(status.st_mode)) {
    const int code = errno;
    ::close(descriptor_);
    if (!known) throw Error::format("cannot read {}: {}; {}", text(), reason(code), remedy(code));
    throw Error::format("cannot read {}: it is {}; name a regular file", text(),
                        S_ISDIR(status.st_mode) ? "a directory" : "a device or a pipe");
  }
  size_ = status.st_size;
}

InputFile::InputFile(InputFile&& other) noexcept
    : path_(std::move(other.path_)),
      purpose_(std::move(other.purpose_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::string InputFile::text() const { return purpose_ + " " + quote(path_); }

FileStamp InputFile::stamp() const {
  struct stat status {};
  if (::fstat(descriptor_, &status) != 0)
    throw Error::format("cannot read {}: {}; {}", text(), reason(errno), remedy(errno));
  const auto nanoseconds = [](const timespec& time) { return int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; };
  return {.device = status.st_dev,
          .inode = status.st_ino,
          .size = status.st_size,
          .modified = nanoseconds(status.st_mtim),
          .changed = nanoseconds(status.st_ctim)};
}

bool InputFile::is_settled(const FileStamp& stamp) {
  using std::chrono::file_clock;
  constexpr int64_t kTick = 20'000'000;  // ns; operating systems update file times at least every 10 ms
  const auto now = std::chrono::nanoseconds(file_clock::to_sys(file_clock::now()).time_since_epoch()).count();
  return std::max(stamp.modified, stamp.changed) + kTick < now;
}

void InputFile::read(int64_t begin, std::span<std::byte> out) const {
  while (!out.empty()) {
    const ssize_t count = ::pread(descriptor_, out.data(), out.size(), begin);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0)
      throw Error::format("cannot read {} at byte {}: {}; {}", text(), begin, reason(errno), remedy(errno));
    if (count == 0) {
      throw Error::format("{} ends at byte {}, but had {} bytes when it was opened; do not change it during a run",
                          text(), begin, size_);
    }
    begin += count;
    out = out.subspan(static_cast<size_t>(count));
  }
}

std::string InputFile::read_all(size_t limit, std::string_view advice) const {
  if (size_ > static_cast<int64_t>(limit)) throw Error::format("{}: larger than {} bytes; {}", text(), limit, advice);
  std::string bytes(static_cast<size_t>(size_), '\0');
  read(0, std::as_writable_bytes(std::span(bytes)));
  return bytes;
}

}  // namespace laptime
