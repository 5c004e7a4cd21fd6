// Reads fields of /proc/self/status.
#include "measure/process_memory.h"

#include <fstream>
#include <string>

namespace laptime {
namespace {

std::optional<int64_t> status_field(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kibibytes = 0;
    if (word == name && status >> kibibytes) return kibibytes * 1024;
  }
  return std::nullopt;
}

}  // namespace

std::optional<int64_t> resident_bytes() { return status_field("VmRSS:"); }
std::optional<int64_t> peak_resident_bytes() { return status_field("VmHWM:"); }

}  // namespace laptime
