// Opens, writes and replaces output, and checks every system call.
#include "cli/destination.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "sweep/stop_signals.h"

namespace laptime {
namespace {

constexpr mode_t kFileMode = 0666;  // before the umask is applied
constexpr mode_t kPermissions = 0777;
constexpr std::string_view kStandardOutput = "standard output";

bool is_special(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode);
}

// `asked_for` is the name shown in messages; the file itself may be a temporary one.
[[noreturn]] void reject(const std::string& asked_for, const char* reason) {
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::path(asked_for).parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder, error)) {
    throw Error::format("file {}: folder {} does not exist; create it, or name another file", quote(asked_for),
                        quote(folder.string()));
  }
  throw Error::format("file {}: cannot be written ({}); name a file in a directory that you can write to",
                      quote(asked_for), reason);
}

// Opens a pipe or a device. A named pipe can be opened for writing only while another process reads it, so its reader
// gets a moment to start: waiting indefinitely would look like a hang.
Descriptor open_special(const std::string& path) {
  constexpr int kPause = 10'000;  // microseconds
  constexpr int kPauses = 100;
  for (int pauses = 0;; ++pauses) {
    Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (file >= 0) {
      fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK);
      return file;
    }
    if (errno != ENXIO || !std::filesystem::is_fifo(path)) reject(path, std::strerror(errno));
    if (pauses == kPauses) {
      throw Error::format("file {}: no process reads this pipe; start its reader first", quote(path));
    }
    usleep(kPause);
  }
}

// A new file next to `target`, created exclusively: an existing file or link with its name is never opened.
struct TemporaryFile {
  std::string path;
  Descriptor descriptor;
};

TemporaryFile make_temporary(const std::string& target, const std::string& asked_for) {
  const std::filesystem::path folder = std::filesystem::path(target).parent_path();
  constexpr int kAttempts = 100;
  for (int attempt = 1;; ++attempt) {
    uint64_t number = 0;
    if (getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number))
      reject(asked_for, "the system supplied no random bytes to name a temporary file");
    std::string path = (folder / fmt::format(".laptime-{:016x}.part", number)).string();
    Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL | O_NOFOLLOW, kFileMode));
    if (file >= 0) return {std::move(path), std::move(file)};
    if (errno != EEXIST || attempt == kAttempts) reject(asked_for, std::strerror(errno));
  }
}

[[noreturn]] void lose(std::string_view what) {
  const bool reader_has_gone = errno == EPIPE && what == kStandardOutput;
  const std::string lost = fmt::format("{} cannot be written ({})", what, std::strerror(errno));
  if (reader_has_gone) throw ReaderGone(lost);
  throw OutputLost(lost);
}

// Waits until the descriptor accepts bytes. Throws OutputLost if the program has been asked to stop and nothing reads
// the full pipe or terminal within about a second.
void wait_for_room(int descriptor, std::string_view what) {
  constexpr int kPause = 100;  // milliseconds
  constexpr int kPausesAfterStop = 10;
  int pauses = 0;
  for (pollfd room{descriptor, POLLOUT, 0}; poll(&room, 1, kPause) <= 0;) {
    if (!StopSignals::requested()) continue;
    if (++pauses > kPausesAfterStop) throw OutputLost(fmt::format("{} cannot be written (no process reads it)", what));
  }
}

// Whether the locale is UTF-8. Like the C library, uses the first of these variables that is set.
bool locale_is_utf8() {
  std::string locale;
  for (const char* const name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (locale.empty()) locale = variable(name);
  }
  locale = lowered(locale);
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

OutputStream stream_of(int descriptor) {
  constexpr size_t kWidest = 10'000;
  OutputStream stream{descriptor, isatty(descriptor) == 1, locale_is_utf8(), 0};
  winsize size{};
  if (stream.is_terminal && ioctl(descriptor, TIOCGWINSZ, &size) == 0) stream.width = size.ws_col;
  const std::string kind = variable("TERM");
  if (kind.empty() || kind == "dumb") stream.is_terminal = false;
  if (stream.width == 0)
    stream.width = std::min<size_t>(std::strtoul(variable("COLUMNS").c_str(), nullptr, 10), kWidest);
  return stream;
}

}  // namespace

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

OutputStream standard_output() { return stream_of(STDOUT_FILENO); }
OutputStream standard_error() { return stream_of(STDERR_FILENO); }

size_t help_width() {
  constexpr size_t kUnknown = 80;
  constexpr size_t kLeast = 40;
  constexpr size_t kMost = 120;
  const size_t width = standard_output().width;
  return width == 0 ? kUnknown : std::clamp(width, kLeast, kMost);
}

void write_all(int descriptor, std::string_view text, std::string_view what) {
  while (!text.empty()) {
    wait_for_room(descriptor, what);
    // A pipe with room accepts this many bytes at once, so the call does not block.
    const ssize_t written = write(descriptor, text.data(), std::min<size_t>(text.size(), PIPE_BUF));
    if (written < 0 && (errno == EINTR || errno == EAGAIN)) continue;
    if (written < 0) lose(what);
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void write_output(std::string_view text) { write_all(STDOUT_FILENO, text, kStandardOutput); }

void write_softly(int descriptor, std::string_view text) {
  try {
    write_all(descriptor, text, "standard error");
  } catch (const OutputLost&) {
    return;
  }
}

void print_error_text(std::string_view text) { write_softly(STDERR_FILENO, text); }

void print_message(const std::string& message) {
  const bool is_prefixed = message.starts_with("laptime ") || message.starts_with("laptime:");
  const size_t width = standard_error().width;
  std::string lines;
  for (const std::string_view line : fields_of(message, '\n')) {
    const bool is_first = lines.empty();
    const std::string text = (!is_first ? "  " : is_prefixed ? "" : "laptime: ") + printable(line);
    lines += broken_at_spaces(text, width, is_first ? 2 : 0) + "\n";
  }
  print_error_text(lines);
}

std::filesystem::path followed(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::path target = std::filesystem::absolute(path, error);
  constexpr int kMaxLinks = 40;  // the kernel's limit
  for (int links = 0; links < kMaxLinks && std::filesystem::is_symlink(target, error); ++links) {
    target = target.parent_path() / std::filesystem::read_symlink(target, error);
  }
  const std::filesystem::path canonical = std::filesystem::weakly_canonical(target, error);
  return error ? target : canonical;
}

bool is_standard_output(std::string_view file) { return file.empty() || file == "-"; }

Destination::Destination(std::string file) {
  if (is_standard_output(file)) return;
  path_ = std::move(file);
  target_ = followed(path_).string();
  if (is_special(path_)) {
    special_ = open_special(path_);
    return;
  }
  // Renaming would replace even a write-protected file.
  if (access(target_.c_str(), F_OK) == 0 && access(target_.c_str(), W_OK) != 0) reject(path_, std::strerror(errno));
  const TemporaryFile file_beside = make_temporary(target_, path_);
  unlink(file_beside.path.c_str());
}

TextStyle Destination::style() const { return is_file() ? TextStyle{} : standard_output().style(); }

void Destination::write(std::string_view text) const {
  write([&](const TextSink& sink) { sink(text); });
}

void Destination::write(const std::function<void(const TextSink&)>& produce) const {
  if (!is_file()) return produce(write_output);
  const std::string what = fmt::format("file {}", quote(path_));
  if (special_ >= 0) return produce([&](std::string_view text) { write_all(special_, text, what); });
  const TemporaryFile file = [&] {
    try {
      return make_temporary(target_, path_);
    } catch (const Error& error) {
      throw OutputLost(error.what());
    }
  }();
  try {
    struct stat old {};
    const bool replaces = stat(target_.c_str(), &old) == 0;
    if (replaces && fchmod(file.descriptor, old.st_mode & kPermissions) != 0) lose(what);
    produce([&](std::string_view text) { write_all(file.descriptor, text, what); });
    if (fsync(file.descriptor) != 0 || rename(file.path.c_str(), target_.c_str()) != 0) lose(what);
  } catch (...) {
    unlink(file.path.c_str());
    throw;
  }
}

GrowingFile::GrowingFile(std::string path) : path_(std::move(path)), is_special_(is_special(path_)) {
  constexpr int kFlags = O_WRONLY | O_CLOEXEC | O_CREAT | O_APPEND;
  descriptor_ = is_special_ ? open_special(path_) : Descriptor(open(path_.c_str(), kFlags, kFileMode));
  if (descriptor_ < 0) reject(path_, std::strerror(errno));
}

void GrowingFile::append(std::string_view text) {
  const std::string what = fmt::format("file {}", quote(path_));
  if (!begun_ && !is_special_ && ftruncate(descriptor_, 0) != 0) lose(what);
  begun_ = true;
  write_all(descriptor_, text, what);
  // Pipes and devices cannot be synced.
  if (fdatasync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) lose(what);
}

}  // namespace laptime
