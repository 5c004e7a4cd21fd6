// System calls of output, each checked.
#include "cli/destination.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "base/words.h"

namespace laptime {
namespace {

constexpr mode_t kFileMode = 0666;  // less the umask

bool is_special(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

// `asked_for` is the name in messages: the file itself may be a temporary one.
int open_file(const std::string& path, int flags, const std::string& asked_for) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CLOEXEC | flags, kFileMode);
  if (descriptor < 0) {
    throw Error::format("--output-file {}: cannot be written ({}); name a file in a directory you may write",
                        quote(asked_for), std::strerror(errno));
  }
  return descriptor;
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(number_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return number_; }  // NOLINT(google-explicit-constructor): it is one

 private:
  int number_;
};

std::string followed(const std::string& path) {
  std::error_code error;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
  return error ? path : target.string();
}

std::string beside(const std::string& path) { return fmt::format("{}.{}.part", path, getpid()); }

}  // namespace

void write_all(int descriptor, std::string_view text, std::string_view what) {
  while (!text.empty()) {
    const ssize_t written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw OutputLost(fmt::format("{} cannot be written ({})", what, std::strerror(errno)));
    text.remove_prefix(static_cast<size_t>(written));
  }
}

WholeFile::WholeFile(std::string path) : path_(std::move(path)), target_(followed(path_)) {
  if (is_special(target_)) {
    const Descriptor file(open_file(target_, 0, path_));
    return;
  }
  const std::string part = beside(target_);
  const Descriptor file(open_file(part, O_CREAT | O_TRUNC, path_));
  unlink(part.c_str());
}

void WholeFile::write(std::string_view text) const {
  const std::string what = fmt::format("--output-file {}", quote(path_));
  if (is_special(target_)) {
    const Descriptor file(open_file(target_, 0, path_));
    return write_all(file, text, what);
  }
  const std::string part = beside(target_);
  try {
    const Descriptor file(open_file(part, O_CREAT | O_TRUNC, path_));
    write_all(file, text, what);
    if (fsync(file) != 0 || rename(part.c_str(), target_.c_str()) != 0) {
      throw OutputLost(fmt::format("{} cannot be written ({})", what, std::strerror(errno)));
    }
  } catch (const Error& error) {
    unlink(part.c_str());
    throw OutputLost(error.what());
  }
}

GrowingFile::GrowingFile(std::string path)
    : path_(std::move(path)), descriptor_(open_file(path_, is_special(path_) ? 0 : O_CREAT | O_APPEND, path_)) {}

GrowingFile::~GrowingFile() { close(descriptor_); }

void GrowingFile::append(std::string_view text) {
  const std::string what = fmt::format("--output-file {}", quote(path_));
  const auto fail = [&] { throw OutputLost(fmt::format("{} cannot be written ({})", what, std::strerror(errno))); };
  if (!begun_ && !is_special(path_) && ftruncate(descriptor_, 0) != 0) fail();
  begun_ = true;
  write_all(descriptor_, text, what);
  if (fdatasync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail();  // pipes and devices have no disk
}

}  // namespace laptime
