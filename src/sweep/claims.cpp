// Claims are file locks on one byte per point or core. The kernel releases them, so nothing has to be cleaned up.
#include "sweep/claims.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <string>

#include "base/random.h"

namespace laptime {
namespace {

// Locks the byte. Returns false if another program has locked the byte, but true if locks do not work.
bool lock(int file, off_t at) {
  struct flock byte {};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = at;
  byte.l_len = 1;
  return fcntl(file, F_OFD_SETLK, &byte) == 0 || (errno != EAGAIN && errno != EACCES);
}

}  // namespace

std::optional<PointClaim> PointClaim::take(const std::filesystem::path& store, const Record& described) {
  Descriptor opened(open(store.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  // Each point locks one byte at an offset between 2^61 and 2^62, beyond the end of the largest database and the bytes
  // that SQLite locks.
  constexpr uint64_t kFirst = uint64_t{1} << 61U;
  const std::string point = fmt::format("{} {} {}", described.config_hash, described.binary.id, described.fingerprint);
  const auto byte = static_cast<off_t>(kFirst + splitmix64(fnv1a64(point)) % kFirst);
  if (opened >= 0 && !lock(opened, byte)) return std::nullopt;
  return PointClaim(std::move(opened));
}

std::optional<CoreClaim> CoreClaim::take(std::span<const int64_t> cores, const std::filesystem::path& file) {
  constexpr mode_t kOfEveryone = 0666;
  constexpr int kFlags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  Descriptor opened(open(file.c_str(), kFlags));  // O_CREAT may fail for another user's file
  if (opened < 0) {
    opened = Descriptor(open(file.c_str(), kFlags | O_CREAT, kOfEveryone));
    if (opened < 0) return CoreClaim(Descriptor());
    fchmod(opened, kOfEveryone);
  }
  for (const int64_t core : cores) {
    if (!lock(opened, core)) return std::nullopt;
  }
  return CoreClaim(std::move(opened));
}

}  // namespace laptime
