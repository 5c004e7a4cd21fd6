// Resolves what a configuration leaves open, and hashes the files that it names.
#include "measure/identity.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/proc_text.h"
#include "data/file_scan.h"
#include "data/token_data.h"
#include "data/weight_files.h"
#include "prepare/kernels_file.h"
#include "record/record.h"

namespace laptime {
namespace {

std::string hash_of_file(const std::string& path, std::string_view purpose) {
  return fmt::format("{:016x}", scan_file(InputFile(path, purpose)).hash);
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
  if (!config.weights.empty()) {
    try_to([&] {
      std::string hashes;
      for (const std::string& path : weight_file_paths(config.weights)) hashes += hash_of_file(path, "weights file");
      config.weights = hashes;
    });
  }
  if (!config.data.empty()) {
    try_to([&] {
      const TokenData data(config.data, config.data_format);
      config.data_format = data.format();
      config.data = data.facts().hash;
    });
  }
}

// The cores that this process may use, as the kernel writes them: "0-3,8".
std::string affinity() {
  const std::optional<std::string> status = read_text_file("/proc/self/status");
  return status ? line_value(*status, "Cpus_allowed_list").value_or("") : "";
}

// What the options do not say about the device: everything here decides how fast a point is, or its last bits.
std::string resolve_device(RunConfig& config, const Device& device) {
  config.device = device.name;
  if (device.threads) config.threads = device.threads;
  return fmt::format(" identity={} math={}{}", device.identity, device.requested_math,
                     device.threads ? " affinity=" + affinity() : "");
}

}  // namespace

std::string identity_text(const RunConfig& config, const Device* device) {
  RunConfig resolved = config;
  resolve_files(resolved);
  const std::string resolved_device = device == nullptr ? "" : resolve_device(resolved, *device);
  return canonical_text(resolved) + resolved_device;
}

DataUse describe_data(const RunConfig& config) {
  DataUse use;
  if (config.data.empty()) return use;
  try_to([&] {
    const TokenData data(config.data, config.data_format);
    if (data.size() == 0) return;
    const TokenFacts facts = data.facts();
    use.format = name_of(data.format());
    use.type = name_of(data.type());
    use.files = facts.files;
    use.tokens = facts.tokens;
    use.smallest = facts.smallest;
    use.largest = facts.largest;
    use.zero_share = facts.zero_share;
    use.remarks = remarks_on(facts, data.type(), config.model.vocab_size);
  });
  return use;
}

}  // namespace laptime
