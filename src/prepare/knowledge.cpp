// Makes the keys of stored measurements.
#include "prepare/knowledge.h"

#include <fmt/format.h>

#include "record/machine.h"

namespace laptime {

std::string machine_fingerprint() {
  static const std::string kFingerprint = fingerprint(describe_machine());
  return kFingerprint;
}

std::string device_key(const Device& device) { return fmt::format("{}/{}", machine_fingerprint(), device.identity); }

std::string device_key(const RunConfig& config) {
  return unsupported_reason(config).empty() ? device_key(find_device(config)) : std::string();
}

}  // namespace laptime
