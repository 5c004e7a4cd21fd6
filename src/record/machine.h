// The machine that a figure was measured on.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/key.h"
#include "base/units.h"

namespace laptime {

// What a record states about CPU, memory and operating system. Empty where the machine does not say.
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

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("cpu_model", self.cpu_model);
    visit("cpu_vendor", self.cpu_vendor);
    visit("cpu_family", self.cpu_family);
    visit("cpu_model_number", self.cpu_model_number);
    visit("cpu_stepping", self.cpu_stepping);
    visit("microcode", self.microcode);
    visit("sockets", self.sockets);
    visit("physical_cores", self.physical_cores);
    visit("smt", self.smt);
    visit("cores_online", self.cores_online);
    visit("cores_allowed", self.cores_allowed);
    visit("affinity", self.affinity);
    visit("core_kinds", self.core_kinds);
    visit("cpu_quota", self.cpu_quota);
    visit("numa_nodes", self.numa_nodes);
    visit("isa_available", self.isa_available);
    visit("isa_used", self.isa_used);
    visit(Key{"l1d_bytes", Unit::kBytes}, self.l1d_bytes);
    visit(Key{"l2_bytes", Unit::kBytes}, self.l2_bytes);
    visit(Key{"l3_bytes", Unit::kBytes}, self.l3_bytes);
    visit("clock_hz", self.clock_hz);
    visit(Key{"timer_resolution", Unit::kSeconds}, self.timer_resolution);
    visit(Key{"timer_overhead", Unit::kSeconds}, self.timer_overhead);
    visit("governor", self.governor);
    visit(Key{"memory_total_bytes", Unit::kBytes}, self.memory_total_bytes);
    visit(Key{"memory_available_bytes", Unit::kBytes}, self.memory_available_bytes);
    visit(Key{"memory_limit_bytes", Unit::kBytes}, self.memory_limit_bytes);
    visit("huge_pages", self.huge_pages);
    visit("flush_to_zero", self.flush_to_zero);
    visit("denormals_are_zero", self.denormals_are_zero);
    visit("operating_system", self.operating_system);
    visit("kernel", self.kernel);
    visit("hypervisor", self.hypervisor);
    visit("load_average", self.load_average);
    visit("compiler", self.compiler);
    visit("sanitizer", self.sanitizer);
    visit("libraries", self.libraries);
  }
};

// Reads the files of the kernel below `root`; never fails for a missing one.
Machine describe_machine(const std::filesystem::path& root = "/");

// What decides how fast a kernel is here, as one line: CPU, logical cores, memory in GiB, instruction sets. The same
// from run to run; threads, load, clock and limits of one run are not in it. Keys kernel choices and finished points.
std::string fingerprint(const Machine& machine);

}  // namespace laptime
