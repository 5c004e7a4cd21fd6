// The machine on which a figure was measured, and its devices.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/key.h"
#include "base/units.h"

namespace laptime {

// Facts about CPU, memory and operating system that a record states. A field is empty if the machine does not report
// it.
struct Machine {
  std::optional<std::string> cpu_model;  // "AMD EPYC"
  std::optional<std::string> cpu_vendor;
  std::optional<int64_t> cpu_family;
  std::optional<int64_t> cpu_model_number;
  std::optional<int64_t> cpu_stepping;
  std::optional<std::string> microcode;
  std::optional<int64_t> sockets;
  std::optional<int64_t> physical_cores;
  std::optional<bool> smt;               // several hardware threads per physical core
  std::optional<int64_t> cores_online;   // number of hardware threads that are online
  std::optional<int64_t> cores_allowed;  // number of hardware threads in the process's affinity mask
  std::optional<std::string> affinity;   // "0-3,8"
  // Kinds of cores in a hybrid processor: "performance 0-15", "efficient 16-23"; empty if all cores are of one kind.
  std::vector<std::string> core_kinds;
  std::optional<double> cpu_quota;  // in cores, from the tightest cgroup; none if unlimited
  std::optional<int64_t> numa_nodes;
  std::vector<std::string> isa_available;  // sets that can affect kernels: "avx2", "fma", "avx512f", "avx512_bf16", ...
  std::optional<std::string> isa_used;     // the set for which kernels were chosen; set by the caller that chose them
  std::optional<int64_t> l1d_bytes;        // per core
  std::optional<int64_t> l2_bytes;
  std::optional<int64_t> l3_bytes;         // full size of the L3 cache that the first allowed core uses
  std::optional<double> clock_hz;          // measured; the caller sets this field and the next two (base/host_clock.h)
  std::optional<double> timer_resolution;  // seconds, for the clock that times steps
  std::optional<double> timer_overhead;    // seconds per reading
  std::optional<std::string> governor;     // frequency scaling governor
  std::optional<int64_t> memory_total_bytes;
  std::optional<int64_t> memory_available_bytes;
  std::optional<int64_t> memory_limit_bytes;  // from the tightest cgroup; none if unlimited
  std::optional<std::string> huge_pages;      // mode of transparent huge pages: "always", "madvise", "never"
  std::optional<bool> flush_to_zero;          // denormal results become 0 (in the calling thread)
  std::optional<bool> denormals_are_zero;     // denormal operands count as 0
  std::optional<std::string> operating_system;
  std::optional<std::string> kernel;
  std::optional<std::string> hypervisor;  // "KVMKVMKVM"; "none" on bare metal
  std::vector<double> load_average;       // over 1, 5 and 15 minutes, before the run
  std::string compiler;
  std::optional<std::string> sanitizer;  // "address"; a build with a sanitizer gives meaningless times
  std::vector<std::string> libraries;    // "fmt 9.1.0"

  LAPTIME_FIELDS(cpu_model, cpu_vendor, cpu_family, cpu_model_number, cpu_stepping, microcode, sockets, physical_cores,
                 smt, cores_online, cores_allowed, affinity, core_kinds, cpu_quota, numa_nodes, isa_available, isa_used,
                 (kBytes, l1d_bytes, l2_bytes, l3_bytes), clock_hz, (kSeconds, timer_resolution, timer_overhead),
                 governor, (kBytes, memory_total_bytes, memory_available_bytes, memory_limit_bytes), huge_pages,
                 flush_to_zero, denormals_are_zero, operating_system, kernel, hypervisor, load_average, compiler,
                 sanitizer, libraries)
};

// A device within a machine, such as a GPU.
struct DeviceCard {
  std::string name;                    // "NVIDIA H200"
  std::string compute_capability;      // "9.0"
  std::string driver;                  // the newest CUDA version that the driver supports: "13.0"
  int64_t memory_bytes = 0;            // total
  std::vector<std::string> libraries;  // libraries that kernels may use: "cuBLASLt 13.0"

  LAPTIME_FIELDS(name, compute_capability, driver, (kBytes, memory_bytes), libraries)
};

// A device may update its energy counter only every 0.1 s, so energy is not measured over times shorter than this.
inline constexpr double kShortestEnergySeconds = 2;

// Sensor readings of a device during the samples of a run, each taken after a measured step. A list has one element per
// reading; it is empty if the device does not report the value.
struct DeviceSensors {
  std::vector<double> clock_hz;  // clock of the device's processor
  std::vector<double> memory_clock_hz;
  std::vector<double> power_watts;
  std::vector<double> temperature_celsius;
  std::optional<double> joules_per_step;        // none if the steps were too short or had long pauses between them
  std::map<std::string, int64_t> slowed_steps;  // number of readings at a lowered clock, by reason
  std::optional<int64_t> other_processes;       // largest number of other processes on the device in any reading
  std::optional<int64_t> uncorrected_errors;    // uncorrected memory errors during the samples

  LAPTIME_FIELDS(clock_hz, memory_clock_hz, power_watts, temperature_celsius, joules_per_step, slowed_steps,
                 other_processes, uncorrected_errors)
};

// Reads the kernel's files below `root`; missing files are not errors.
Machine describe_machine(const std::filesystem::path& root = "/");

// One line that states what determines how fast kernels run on this machine: CPU, hardware threads, memory in GiB,
// instruction sets. It is identical across runs, so it can serve as the key of kernel choices and finished points;
// threads, load, clock and limits of a single run are not included.
std::string fingerprint(const Machine& machine);

}  // namespace laptime
