// Describes point, machine and program.
#include "measure/describe.h"

#include <unistd.h>

#include <array>
#include <ctime>
#include <fstream>

#include "base/build_id.h"
#include "base/host_clock.h"
#include "base/json.h"
#include "base/random.h"
#include "measure/identity.h"
#include "prepare/knowledge.h"
#include "record/fields_json.h"

namespace laptime {

std::string new_run_id() {
  return fmt::format("{}-{}", format_utc(static_cast<int64_t>(std::time(nullptr))), getpid());
}

Binary this_binary() {
  static const std::string kId = [] {
    std::ifstream file("/proc/self/exe", std::ios::binary);
    std::array<char, 1 << 16> bytes{};  // read in pieces, because memory may be scarce
    uint64_t id = 0;
    while (file) {
      file.read(bytes.data(), bytes.size());
      id = splitmix64(id ^ fnv1a64({bytes.data(), static_cast<size_t>(file.gcount())}));
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
