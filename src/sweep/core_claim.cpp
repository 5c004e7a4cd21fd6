// A claim is a lock on one byte of a file for each core.
#include "sweep/core_claim.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cerrno>

namespace laptime {

std::optional<CoreClaim> CoreClaim::take(std::span<const int64_t> cores, const std::filesystem::path& file) {
  constexpr mode_t kOfEveryone = 0666;
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Descriptor opened(open(file.c_str(), kFlags));  // O_CREAT would fail for a file of another user
  if (opened < 0) {
    opened = Descriptor(open(file.c_str(), kFlags | O_CREAT, kOfEveryone));
    if (opened < 0) return CoreClaim(Descriptor());
    fchmod(opened, kOfEveryone);
  }
  for (const int64_t core : cores) {
    struct flock byte {};
    byte.l_type = F_WRLCK;
    byte.l_whence = SEEK_SET;
    byte.l_start = core;
    byte.l_len = 1;
    if (fcntl(opened, F_OFD_SETLK, &byte) != 0 && (errno == EAGAIN || errno == EACCES)) return std::nullopt;
  }
  return CoreClaim(std::move(opened));
}

}  // namespace laptime
