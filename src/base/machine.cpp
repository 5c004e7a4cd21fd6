// Describes a machine from the kernel's files and the processor itself.
#include "base/machine.h"

#include <cpuid.h>
#include <fmt/format.h>
#include <immintrin.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/build_id.h"
#include "base/cgroup.h"
#include "base/cores.h"
#include "base/proc_text.h"
#include "base/ranges.h"
#include "base/words.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;

// Instruction sets, named as in /proc/cpuinfo, that can affect which kernel laptime or a library chooses.
constexpr std::array<std::string_view, 20> kInstructionSets = {
    "sse4_2",      "avx",      "f16c",     "fma",      "avx2",       "avx_vnni",    "avx512f",
    "avx512dq",    "avx512cd", "avx512bw", "avx512vl", "avx512vbmi", "avx512_vnni", "avx512_bf16",
    "avx512_fp16", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16",   "avx10"};

void describe_processor(Machine& machine, const fs::path& root) {
  const auto text = read_text_file(root / "proc/cpuinfo");
  if (!text) return;
  const Processor processor = parse_cpuinfo(*text);
  machine.cpu_model = processor.model_name;
  machine.cpu_vendor = processor.vendor;
  machine.cpu_family = processor.family;
  machine.cpu_model_number = processor.model;
  machine.cpu_stepping = processor.stepping;
  machine.microcode = processor.microcode;
  machine.sockets = processor.sockets;
  machine.physical_cores = processor.physical_cores;
  machine.smt = processor.smt;
  for (const std::string_view name : kInstructionSets) {
    if (is_among(name, processor.flags)) machine.isa_available.emplace_back(name);
  }
  if (!processor.flags.empty() && !is_among("hypervisor", processor.flags)) machine.hypervisor = "none";
}

// Fills in cores, CPU quota, NUMA nodes, and the frequency governor and caches of the first allowed core.
void describe_cores(Machine& machine, const fs::path& root) {
  const fs::path cpus = root / "sys/devices/system/cpu";
  if (const auto online = read_word(cpus / "online")) {
    machine.cores_online = static_cast<int64_t>(parse_cpu_list(*online).size());
  }
  if (const auto active = read_word(cpus / "smt/active")) machine.smt = *active == "1";
  if (const auto status = read_text_file(root / "proc/self/status")) {
    machine.affinity = line_value(*status, "Cpus_allowed_list");
  }
  const std::vector<int64_t> allowed = allowed_cores(root);
  if (machine.affinity && !allowed.empty()) machine.cores_allowed = static_cast<int64_t>(allowed.size());
  const int64_t first = allowed.empty() ? 0 : allowed.front();
  struct Kind {
    const char* folder;
    const char* name;
  };
  for (const Kind& kind :
       {Kind{"cpu_core", "performance"}, Kind{"cpu_atom", "efficient"}, Kind{"cpu_lowpower", "low-power"}}) {
    if (const auto list = read_word(root / "sys/devices" / kind.folder / "cpus"))
      machine.core_kinds.push_back(fmt::format("{} {}", kind.name, *list));
  }
  machine.cpu_quota = cpu_quota(cgroups_of("cpu", root));
  if (const auto nodes = read_word(root / "sys/devices/system/node/online")) {
    machine.numa_nodes = static_cast<int64_t>(parse_cpu_list(*nodes).size());
  }
  const fs::path core = cpus / fmt::format("cpu{}", first);
  machine.governor = read_word(core / "cpufreq/scaling_governor");
  for (const Cache& cache : data_caches(first, root)) {
    if (cache.level == 1) machine.l1d_bytes = cache.bytes;
    if (cache.level == 2) machine.l2_bytes = cache.bytes;
    if (cache.level == 3) machine.l3_bytes = cache.bytes;
  }
}

void describe_memory(Machine& machine, const fs::path& root) {
  if (const auto meminfo = read_text_file(root / "proc/meminfo")) {
    machine.memory_total_bytes = line_bytes(*meminfo, "MemTotal");
    machine.memory_available_bytes = line_bytes(*meminfo, "MemAvailable");
  }
  for (const CgroupMemory& group : memory_limits(cgroups_of("memory", root))) {
    machine.memory_limit_bytes = std::min(group.limit, machine.memory_limit_bytes.value_or(group.limit));
  }
  if (const auto choice = read_word(root / "sys/kernel/mm/transparent_hugepage/enabled")) {
    machine.huge_pages = bracketed(*choice);
  }
}

std::string unquote(std::string text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return text.substr(1, text.size() - 2);
  return text;
}

// The name that the hypervisor reports in the cpuid leaf reserved for it.
std::optional<std::string> hypervisor_name() {
  constexpr unsigned kHypervisorLeaf = 0x40000000U;
  std::array<unsigned, 4> registers{};
  __cpuid(kHypervisorLeaf, registers[0], registers[1], registers[2], registers[3]);
  std::string name(12, '\0');
  std::memcpy(name.data(), &registers[1], name.size());
  std::replace_if(
      name.begin(), name.end(), [](char c) { return c != '\0' && (c < ' ' || c > '~'); }, '?');
  name.resize(std::min(name.find('\0'), name.size()));
  if (trim(name).empty()) return std::nullopt;
  return std::string(trim(name));
}

void describe_system(Machine& machine, const fs::path& root) {
  if (const auto release = read_text_file(root / "etc/os-release")) {
    if (auto name = line_value(*release, "PRETTY_NAME")) machine.operating_system = unquote(*name);
  }
  if (const auto release = read_word(root / "proc/sys/kernel/osrelease")) {
    machine.kernel = fmt::format("{} {}", read_word(root / "proc/sys/kernel/ostype").value_or("Linux"), *release);
  }
  if (!machine.hypervisor) machine.hypervisor = hypervisor_name();
  if (const auto load = read_text_file(root / "proc/loadavg")) machine.load_average = parse_load_average(*load);
}

// Fills in the fields that describe this process rather than the machine.
void describe_process(Machine& machine) {
  const unsigned control = _mm_getcsr();
  machine.flush_to_zero = (control & 0x8000U) != 0;       // bit 15
  machine.denormals_are_zero = (control & 0x0040U) != 0;  // bit 6
  machine.compiler = compiler();
  if (!sanitizer().empty()) machine.sanitizer = sanitizer();
  for (const LibraryVersion& library : library_versions()) {
    machine.libraries.push_back(fmt::format("{} {}", library.name, library.version));
  }
}

std::string or_unknown(const std::optional<int64_t>& number) { return number ? fmt::format("{}", *number) : "?"; }

}  // namespace

Machine describe_machine(const fs::path& root) {
  Machine machine;
  describe_processor(machine, root);
  describe_cores(machine, root);
  describe_memory(machine, root);
  describe_system(machine, root);
  describe_process(machine);
  return machine;
}

std::string fingerprint(const Machine& machine) {
  // Different Linux kernels report totals for one machine that differ by a few MiB, so memory is rounded to GiB.
  constexpr int64_t kGiB = int64_t{1} << 30U;
  std::optional<int64_t> memory = machine.memory_total_bytes;
  if (memory) memory = (*memory + kGiB / 2) / kGiB;
  const std::string kinds = machine.core_kinds.empty() ? "" : fmt::format(" ({})", joined(machine.core_kinds, ", "));
  return fmt::format("{} (family {} model {} stepping {}), {} cores{}, {} GiB, {}",
                     machine.cpu_model.value_or("unknown CPU"), or_unknown(machine.cpu_family),
                     or_unknown(machine.cpu_model_number), or_unknown(machine.cpu_stepping),
                     or_unknown(machine.cores_online), kinds, or_unknown(memory), joined(machine.isa_available, " "));
}

}  // namespace laptime
