// The machine that a figure was measured on, and its devices.
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

// A record states this about CPU, memory and operating system. A field is empty where the machine does not say.
struct Machine {
  std::optional<std::string> cpu_model;  // "AMD EPYC"
  std::optional<std::string> cpu_vendor;
  std::optional<int64_t> cpu_family;
  std::optional<int64_t> cpu_model_number;
  std::optional<int64_t> cpu_stepping;
  std::optional<std::string> microcode;
  std::optional<int64_t> sockets;
  std::optional<int64_t> physical_cores;
  std::optional<bool> smt;               // several logical cores per physical one
  std::optional<int64_t> cores_online;   // logical
  std::optional<int64_t> cores_allowed;  // of these, by the affinity of the process
  std::optional<std::string> affinity;   // "0-3,8"
  // Kinds of cores of a hybrid processor: "performance 0-15", "efficient 16-23"; empty if all cores are of one kind.
  std::vector<std::string> core_kinds;
  std::optional<double> cpu_quota;  // in cores, by the tightest cgroup; empty without one
  std::optional<int64_t> numa_nodes;
  std::vector<std::string> isa_available;  // of those that matter here: "avx2", "fma", "avx512f", "avx512_bf16", ...
  std::optional<std::string> isa_used;     // what the kernels were chosen for; stated by whoever chose
  std::optional<int64_t> l1d_bytes;        // of one core
  std::optional<int64_t> l2_bytes;
  std::optional<int64_t> l3_bytes;         // of the first core's share
  std::optional<double> clock_hz;          // measured; stated by whoever has a clock, as the next two
  std::optional<double> timer_resolution;  // seconds, of the clock that times steps
  std::optional<double> timer_overhead;    // seconds, of one reading
  std::optional<std::string> governor;     // frequency scaling
  std::optional<int64_t> memory_total_bytes;
  std::optional<int64_t> memory_available_bytes;
  std::optional<int64_t> memory_limit_bytes;  // by the tightest cgroup; empty without one
  std::optional<std::string> huge_pages;      // transparent: "always", "madvise", "never"
  std::optional<bool> flush_to_zero;          // denormal results become 0 (of the calling thread)
  std::optional<bool> denormals_are_zero;     // denormal operands count as 0
  std::optional<std::string> operating_system;
  std::optional<std::string> kernel;
  std::optional<std::string> hypervisor;  // "KVMKVMKVM"; "none" on bare metal
  std::vector<double> load_average;       // over 1, 5 and 15 minutes, before the run
  std::string compiler;
  std::optional<std::string> sanitizer;  // figures of such a build mean nothing
  std::vector<std::string> libraries;    // "fmt 9.1.0"

  LAPTIME_FIELDS(cpu_model, cpu_vendor, cpu_family, cpu_model_number, cpu_stepping, microcode, sockets, physical_cores,
                 smt, cores_online, cores_allowed, affinity, core_kinds, cpu_quota, numa_nodes, isa_available, isa_used,
                 (kBytes, l1d_bytes, l2_bytes, l3_bytes), clock_hz, (kSeconds, timer_resolution, timer_overhead),
                 governor, (kBytes, memory_total_bytes, memory_available_bytes, memory_limit_bytes), huge_pages,
                 flush_to_zero, denormals_are_zero, operating_system, kernel, hypervisor, load_average, compiler,
                 sanitizer, libraries)
};

// A device that is a part of its machine, such as a GPU.
struct DeviceCard {
  std::string name;                    // "NVIDIA H200"
  std::string compute_capability;      // "9.0"
  std::string driver;                  // the newest CUDA that the driver serves: "13.0"
  int64_t memory_bytes = 0;            // of all of it
  std::vector<std::string> libraries;  // "cuBLASLt 13.0", those that kernels may take

  LAPTIME_FIELDS(name, compute_capability, driver, (kBytes, memory_bytes), libraries)
};

// The sensors of such a device during the samples of a run.
// Lists have an element for each measured step, read after it; empty where the device does not say.
struct DeviceSensors {
  std::vector<double> clock_hz;  // of the processor
  std::vector<double> memory_clock_hz;
  std::vector<double> power_watts;
  std::vector<double> temperature_celsius;
  std::optional<double> joules_per_step;
  std::map<std::string, int64_t> slowed_steps;  // by the reason of a lower clock: after how many steps it held
  std::optional<int64_t> other_processes;       // most that used the device at once
  std::optional<int64_t> uncorrected_errors;    // of the memory, during the samples

  LAPTIME_FIELDS(clock_hz, memory_clock_hz, power_watts, temperature_celsius, joules_per_step, slowed_steps,
                 other_processes, uncorrected_errors)
};

// Reads the files of the kernel below `root`; never fails for a missing one.
Machine describe_machine(const std::filesystem::path& root = "/");

// One line on what decides how fast a kernel is here: CPU, logical cores, memory in GiB, instruction sets. It does not
// change from run to run, so that it is the key of kernel choices and finished points; threads, load, clock and limits
// of one run are not in it.
std::string fingerprint(const Machine& machine);

}  // namespace laptime
