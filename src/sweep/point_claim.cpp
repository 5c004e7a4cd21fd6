// A claim is a lock on one byte of the store's file, far beyond its end, so that nothing has to be cleaned up.
#include "sweep/point_claim.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "base/random.h"

namespace laptime {

std::optional<PointClaim> PointClaim::take(const std::filesystem::path& store, const Record& described) {
  const int descriptor = open(store.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  if (descriptor < 0) return PointClaim(-1);
  PointClaim claim(descriptor);
  // Each point has one byte between 2^61 and 2^62, beyond the largest database and the bytes that SQLite locks.
  constexpr uint64_t kFirst = uint64_t{1} << 61U;
  struct flock byte {};
  byte.l_type = F_WRLCK;
  byte.l_whence = SEEK_SET;
  const std::string point = fmt::format("{} {} {}", described.config_hash, described.binary.id, described.fingerprint);
  byte.l_start = static_cast<off_t>(kFirst + splitmix64(fnv1a64(point)) % kFirst);
  byte.l_len = 1;
  const bool is_taken = fcntl(descriptor, F_OFD_SETLK, &byte) != 0 && (errno == EAGAIN || errno == EACCES);
  if (is_taken) return std::nullopt;
  return claim;
}

PointClaim::PointClaim(PointClaim&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

PointClaim& PointClaim::operator=(PointClaim&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

PointClaim::~PointClaim() {
  if (descriptor_ >= 0) close(descriptor_);
}

}  // namespace laptime
