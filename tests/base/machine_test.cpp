// The description of a machine: exact for a made-up machine, without errors for an empty one, plausible for this one.
#include "base/machine.h"

#include <gtest/gtest.h>
#include <immintrin.h>
#include <sched.h>

#include <chrono>
#include <string>
#include <vector>

#include "support/fake_root.h"

namespace laptime {
namespace {

void write_server(const FakeRoot& root) {
  root.write("proc/cpuinfo",
             "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC 9B45\n"
             "stepping\t: 1\nmicrocode\t: 0xb002116\nphysical id\t: 0\nsiblings\t: 2\ncore id\t\t: 0\ncpu cores\t: 1\n"
             "flags\t\t: fpu sse4_2 avx avx2 fma f16c avx512f avx512_bf16 amx_unheard_of\n\n"
             "processor\t: 1\nphysical id\t: 0\ncore id\t\t: 0\n");
  root.write("proc/meminfo", "MemTotal:       4194304 kB\nMemFree: 5 kB\nMemAvailable:    1048576 kB\n");
  root.write("proc/loadavg", "0.25 0.50 0.75 1/92 5456\n");
  root.write("proc/self/status", "Name:\tx\nCpus_allowed:\t2\nCpus_allowed_list:\t1\n");
  root.write("proc/self/cgroup", "0::/job\n");
  root.write("proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  root.write("proc/sys/kernel/ostype", "Linux\n");
  root.write("proc/sys/kernel/osrelease", "6.1.0\n");
  root.write("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  root.write("sys/fs/cgroup/job/memory.max", "2147483648\n");
  root.write("sys/fs/cgroup/job/cpu.max", "150000 100000\n");
  root.write("sys/devices/system/cpu/online", "0-1\n");
  root.write("sys/devices/system/cpu/smt/active", "1\n");
  root.write("sys/devices/system/node/online", "0-1\n");
  const std::string core = "sys/devices/system/cpu/cpu1/";
  root.write(core + "cpufreq/scaling_governor", "performance\n");
  const struct {
    const char* level;
    const char* type;
    const char* size;
  } caches[] = {{"1", "Data", "48K"}, {"1", "Instruction", "32K"}, {"2", "Unified", "1024K"}, {"3", "Unified", "32M"}};
  for (int i = 0; i < 4; ++i) {
    const std::string cache = core + "cache/index" + std::to_string(i) + "/";
    root.write(cache + "level", caches[i].level);
    root.write(cache + "type", caches[i].type);
    root.write(cache + "size", caches[i].size);
  }
  root.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
}

TEST(Machine, ParsesServerProcFiles) {
  const FakeRoot root;
  write_server(root);
  const Machine machine = describe_machine(root.path());
  EXPECT_EQ(machine.cpu_model, "AMD EPYC 9B45");
  EXPECT_EQ(machine.cpu_vendor, "AuthenticAMD");
  EXPECT_EQ(machine.cpu_family, 26);
  EXPECT_EQ(machine.cpu_model_number, 2);
  EXPECT_EQ(machine.cpu_stepping, 1);
  EXPECT_EQ(machine.microcode, "0xb002116");
  EXPECT_EQ(machine.sockets, 1);
  EXPECT_EQ(machine.physical_cores, 1);
  EXPECT_EQ(machine.smt, true);
  EXPECT_EQ(machine.cores_online, 2);
  EXPECT_EQ(machine.cores_allowed, 1);
  EXPECT_EQ(machine.affinity, "1");
  EXPECT_EQ(machine.cpu_quota, 1.5);
  EXPECT_EQ(machine.numa_nodes, 2);
  EXPECT_EQ(machine.isa_available,
            (std::vector<std::string>{"sse4_2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512_bf16"}));
  EXPECT_EQ(machine.l1d_bytes, 48 * 1024);
  EXPECT_EQ(machine.l2_bytes, 1024 * 1024);
  EXPECT_EQ(machine.l3_bytes, 32 * 1024 * 1024);
  EXPECT_EQ(machine.governor, "performance");
  EXPECT_EQ(machine.memory_total_bytes, int64_t{4} << 30U);
  EXPECT_EQ(machine.memory_available_bytes, int64_t{1} << 30U);
  EXPECT_EQ(machine.memory_limit_bytes, int64_t{2} << 30U);
  EXPECT_EQ(machine.huge_pages, "madvise");
  EXPECT_EQ(machine.operating_system, "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(machine.kernel, "Linux 6.1.0");
  EXPECT_EQ(machine.hypervisor, "none");  // no `hypervisor` flag in cpuinfo
  EXPECT_EQ(machine.load_average, (std::vector<double>{0.25, 0.5, 0.75}));
  EXPECT_FALSE(machine.clock_hz);
  EXPECT_EQ(fingerprint(machine),
            "AMD EPYC 9B45 (family 26 model 2 stepping 1), 2 cores, 4 GiB, sse4_2 avx f16c fma avx2 avx512f "
            "avx512_bf16");
}

TEST(Machine, ListsTheKindsOfCoresOfAHybridProcessor) {
  const FakeRoot root;
  write_server(root);
  root.write("sys/devices/cpu_core/cpus", "0-15\n");
  root.write("sys/devices/cpu_atom/cpus", "16-23\n");
  root.write("sys/devices/system/cpu/online", "0-23\n");
  const Machine machine = describe_machine(root.path());
  EXPECT_EQ(machine.core_kinds, (std::vector<std::string>{"performance 0-15", "efficient 16-23"}));
  EXPECT_NE(fingerprint(machine).find(", 24 cores (performance 0-15, efficient 16-23), 4 GiB"), std::string::npos);
}

TEST(Machine, MissingFilesLeaveFieldsEmpty) {
  const FakeRoot root;
  const Machine machine = describe_machine(root.path());
  EXPECT_FALSE(machine.cpu_model);
  EXPECT_FALSE(machine.cores_online);
  EXPECT_FALSE(machine.cores_allowed);
  EXPECT_FALSE(machine.memory_total_bytes);
  EXPECT_FALSE(machine.memory_limit_bytes);
  EXPECT_FALSE(machine.governor);
  EXPECT_FALSE(machine.kernel);
  EXPECT_TRUE(machine.isa_available.empty());
  EXPECT_EQ(fingerprint(machine), "unknown CPU (family ? model ? stepping ?), ? cores, ? GiB, ");
}

TEST(Machine, ReadsThisMachine) {
  const Machine machine = describe_machine();
  EXPECT_GE(machine.cores_online.value_or(0), 1);
  EXPECT_GT(machine.memory_total_bytes.value_or(0), 0);
  EXPECT_TRUE(machine.kernel);
  EXPECT_FALSE(machine.compiler.empty());
  EXPECT_FALSE(machine.libraries.empty());
  cpu_set_t allowed;
  ASSERT_EQ(sched_getaffinity(0, sizeof allowed, &allowed), 0);
  EXPECT_EQ(machine.cores_allowed, CPU_COUNT(&allowed));
  EXPECT_NE(fingerprint(machine).find(" cores, "), std::string::npos);
  EXPECT_EQ(__builtin_cpu_supports("avx2") != 0, fingerprint(machine).find(" avx2") != std::string::npos);
}

TEST(Machine, FingerprintIgnoresTransientState) {
  const FakeRoot root;
  write_server(root);
  const std::string before = fingerprint(describe_machine(root.path()));
  root.write("proc/loadavg", "9.00 9.00 9.00 1/92 5456\n");
  root.write("proc/self/status", "Cpus_allowed_list:\t0-1\n");
  root.write("proc/meminfo",
             "MemTotal:       4190000 kB\nMemAvailable:    1 kB\n");  // a kernel that reserves 4 MiB more
  root.write("sys/fs/cgroup/job/cpu.max", "max 100000\n");
  EXPECT_EQ(fingerprint(describe_machine(root.path())), before);
  root.write("proc/meminfo", "MemTotal:       8388608 kB\n");
  EXPECT_NE(fingerprint(describe_machine(root.path())), before);
}

TEST(Machine, StatesTheDenormalSetting) {
  const FakeRoot root;
  const unsigned saved = _mm_getcsr();
  _mm_setcsr(saved | 0x8040U);
  const Machine flushing = describe_machine(root.path());
  _mm_setcsr(saved & ~0x8040U);
  const Machine keeping = describe_machine(root.path());
  _mm_setcsr(saved);
  EXPECT_EQ(flushing.flush_to_zero, true);
  EXPECT_EQ(flushing.denormals_are_zero, true);
  EXPECT_EQ(keeping.flush_to_zero, false);
  EXPECT_EQ(keeping.denormals_are_zero, false);
}

}  // namespace
}  // namespace laptime
