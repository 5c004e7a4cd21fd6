// Fills the record fields that are known before a point runs, resolves unset options of a configuration, and hashes its
// files.
#include "measure/describe.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <ctime>
#include <fstream>

#include "base/build_id.h"
#include "base/error.h"
#include "base/host_clock.h"
#include "base/json.h"
#include "base/proc_text.h"
#include "base/random.h"
#include "config/fields_json.h"
#include "config/machine.h"
#include "data/file_scan.h"
#include "data/token_data.h"
#include "data/weight_files.h"
#include "prepare/kernel_choice.h"
#include "prepare/knowledge.h"
#include "record/record.h"

namespace laptime {
namespace {

std::string hash_of_file(const std::string& path, std::string_view purpose) {
  return fmt::format("{:016x}", scan_file(InputFile(path, purpose)).hash);
}

// Calls `replace`; if it throws Error, the requested value is kept. The point itself will fail for the same reason, so
// its record will not be compared with others.
template <class Replace>
void try_to(const Replace& replace) {
  try {
    replace();
  } catch (const Error&) {
    return;
  }
}

void resolve_inputs(RunConfig& config) {
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

void resolve_files(RunConfig& config) {
  if (config.kernels) {
    try_to([&] {
      std::string choices;
      for (const auto& [signature, kernel] : read_kernels_file(*config.kernels))
        choices += fmt::format("{}\n{}\n", signature, kernel);
      config.kernels = config_hash(choices);
    });
  }
  resolve_inputs(config);
}

// The hash of the file that describes the machine of a prediction, or empty. The name of the file is the device's name
// and stays part of the identity, because tables show it.
std::string hash_of_machine(const RunConfig& config) {
  std::string hash;
  if (is_machine_file(config.device))
    try_to([&] { hash = hash_of_file(config.device.substr(kMachinePrefix.size()), "machine file"); });
  return hash;
}

// The cores that this process may use, in the list format of Linux: "0-3,8".
std::string affinity() {
  const std::optional<std::string> status = read_text_file("/proc/self/status");
  return status ? line_value(*status, "Cpus_allowed_list").value_or("") : "";
}

// Sets the options for the device and threads to the values in use. Returns all other properties of the device that
// affect a point's speed or the last bits of its results.
std::string resolve_device(RunConfig& config, const Device& device) {
  config.device = device.name;
  if (device.threads) config.threads = device.threads;
  return fmt::format(" identity={} math={}{}", device.identity, device.requested_math,
                     device.threads ? " affinity=" + affinity() : "");
}

// Statistics of the tokens in the files of --data; empty if there are none or a file cannot be read.
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

}  // namespace

std::string identity_text(const RunConfig& config, const Device* device) {
  RunConfig resolved = config;
  resolve_files(resolved);
  const std::string resolved_device = device == nullptr ? "" : resolve_device(resolved, *device);
  const std::string machine = hash_of_machine(config);
  return canonical_text(resolved) + resolved_device + (machine.empty() ? "" : " machine=" + machine);
}

std::string input_hashes(const RunConfig& config) {
  RunConfig resolved = config;
  resolve_inputs(resolved);
  return resolved.weights + " " + resolved.data;
}

std::string new_run_id() {
  return fmt::format("{}-{}", format_utc(static_cast<int64_t>(std::time(nullptr))), getpid());
}

Binary this_binary() {
  static const std::string kId = [] {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    std::array<char, 1 << 16> bytes{};  // reads in pieces, because memory may be scarce
    uint64_t id = 0;
    while (file) {
      bytes.fill(0);
      file.read(bytes.data(), bytes.size());
      const auto count = static_cast<size_t>(file.gcount());
      // Hashes whole words for speed, because every launched point hashes the program.
      for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
        uint64_t word = 0;
        std::memcpy(&word, bytes.data() + at, sizeof(word));
        id = splitmix64(id ^ word);
      }
      id = splitmix64(id ^ count);
    }
    return fmt::format("{:016x}", id);
  }();
  return {std::string(version()), std::string(git_commit()) + (git_dirty() ? "+dirty" : ""), std::string(build_type()),
          kId};
}

Record describe_planned(const SweepPoint& point) {
  Record record;
  record.name = point.name;
  record.label = point.label;
  record.config = to_json(point.config);
  record.fingerprint = machine_fingerprint();
  record.binary = this_binary();
  record.created = format_utc(static_cast<int64_t>(std::time(nullptr)));
  return record;
}

Record describe_point(const ResolvedPoint& point) {
  Record record = describe_planned(point);
  record.data = describe_data(point.config);
  record.config_hash = config_hash(identity_text(point.config, point.device ? &*point.device : nullptr));
  return record;
}

void describe_device(const Device& device, Record& record) {
  Machine machine = describe_machine();
  if (!device.isa.empty()) machine.isa_used = device.isa;
  machine.clock_hz = measure_clock_hz(host_now);
  const ClockQuality clock = measure_host_clock();
  machine.timer_resolution = clock.resolution.count();
  machine.timer_overhead = clock.overhead.count();
  record.machine = to_json(machine);
  if (device.card) record.machine.json()["card"] = to_json(*device.card);
  Json config = record.config.json();
  config["device"] = device.name;
  if (device.threads) config["threads"] = *device.threads;
  record.config = config;
}

void describe_machine_alone(Record& record) {
  Machine machine = describe_machine();
  machine.compiler.clear();
  machine.sanitizer.reset();
  machine.libraries.clear();
  machine.flush_to_zero.reset();
  machine.denormals_are_zero.reset();
  machine.clock_hz = measure_clock_hz(host_now);
  Json described = to_json(machine);
  const Binary binary = this_binary();
  described["recorded_by"] = fmt::format("laptime {} {}", binary.version, binary.commit);
  record.machine = std::move(described);
  record.created = format_utc(static_cast<int64_t>(std::time(nullptr)));
}

}  // namespace laptime
