// Resolves what a configuration leaves open, and hashes the files that it names.
#include "measure/identity.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/proc_text.h"
#include "data/content_hash.h"
#include "data/tokens.h"
#include "prepare/device.h"
#include "prepare/kernels_file.h"
#include "record/record.h"

namespace laptime {
namespace {

std::string hash_of_file(const std::string& path, std::string_view purpose) {
  return fmt::format("{:016x}", content_hash(InputFile(path, purpose)));
}

// Calls `replace`; the configuration stays as asked for if that is an Error, because the point will then fail too, and
// no run is compared with it.
template <class Replace>
void try_to(const Replace& replace) {
  try {
    replace();
  } catch (const Error&) {
    return;
  }
}

void resolve_files(RunConfig& config) {
  if (config.kernels) {
    try_to([&] {
      std::string choices;
      for (const auto& [signature, kernel] : read_kernels_file(*config.kernels))
        choices += fmt::format("{}\n{}\n", signature, kernel);
      config.kernels = config_hash(choices);
    });
  }
  if (!config.weights.empty()) try_to([&] { config.weights = hash_of_file(config.weights, "weights file"); });
  if (!config.data.empty()) {
    try_to([&] {
      config.data_format = TokenFile(config.data, config.data_format).format();
      config.data = hash_of_file(config.data, "data file");
    });
  }
}

// The cores that this process may use, as the kernel writes them: "0-3,8".
std::string affinity() {
  const std::optional<std::string> status = read_text_file("/proc/self/status");
  return status ? line_value(*status, "Cpus_allowed_list").value_or("") : "";
}

// What the options do not say about the device: everything here decides how fast a point is, or its last bits.
std::string resolve_device(RunConfig& config) {
  const Device device = find_device(config);
  config.device = device.name;
  if (device.threads) config.threads = device.threads;
  return fmt::format(" identity={} math={}{}", device.identity, device.requested_math,
                     device.threads ? " affinity=" + affinity() : "");
}

}  // namespace

std::string identity_text(const RunConfig& config) {
  RunConfig resolved = config;
  resolve_files(resolved);
  std::string resolved_device;
  try_to([&] { resolved_device = resolve_device(resolved); });
  return canonical_text(resolved) + resolved_device;
}

}  // namespace laptime
