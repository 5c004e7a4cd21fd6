// The CPU as a backend: memory, kernel lists, launches.
#include "backend/cpu/cpu_backend.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/available_memory.h"
#include "support/error_of.h"
#include "support/types.h"

namespace laptime::cpu {
namespace {

using test::kMebibyte;

const OpCard kDouble = {.name = "double"};
const OpCard kOther = {.name = "other"};

// A kernel that computes out = 2 * in through the workspace.
void launch_double(const KernelCall& call) {
  auto* const workspace = reinterpret_cast<float*>(call.workspace);
  const float* const in = call.in[0].as<const float>();
  auto* const out = call.out[0].as<float>();
  team_of(call).parallel_for(call.in[0].numel(), [&](int64_t i) {
    workspace[i] = in[i];
    out[i] = 2 * workspace[i];
  });
}

Kernel kernel(const OpCard& op, const char* name) { return {.op = &op, .name = name, .launch = launch_double}; }

TEST(CpuBackend, KernelsOfAnOpKeepTheirOrder) {
  const CpuBackend backend({kernel(kDouble, "first"), kernel(kOther, "only"), kernel(kDouble, "second")}, 1);
  ASSERT_EQ(backend.kernels(kDouble).size(), 2U);
  EXPECT_EQ(backend.kernels(kDouble)[0].name, "first");
  EXPECT_EQ(backend.kernels(kDouble)[1].name, "second");
  EXPECT_EQ(backend.kernels(kOther).size(), 1U);
  EXPECT_TRUE(backend.kernels(OpCard{}).empty());
  EXPECT_EQ(backend.name(), "cpu");
  EXPECT_TRUE(backend.computes());
}

TEST(CpuBackend, CountsAllocatedBytes) {
  CpuBackend backend(std::vector<Kernel>{}, 2);
  EXPECT_EQ(backend.held_bytes(), 0);
  auto first = backend.allocate(3 * kMebibyte);
  EXPECT_EQ(backend.held_bytes(), 4 * kMebibyte);
  auto second = backend.allocate(100);
  EXPECT_EQ(backend.held_bytes(), 4 * kMebibyte + 4096);
  first.reset();
  EXPECT_EQ(backend.held_bytes(), 4096);
  EXPECT_EQ(backend.peak_held_bytes(), 4 * kMebibyte + 4096);
  EXPECT_EQ(backend.allocate(0)->data(), nullptr);
}

TEST(CpuBackend, MemoryMayOutliveTheBackend) {
  std::unique_ptr<DeviceMemory> memory;
  {
    CpuBackend backend(std::vector<Kernel>{}, 2);
    memory = backend.allocate(kMebibyte);
  }
  memory->data()[kMebibyte - 1] = std::byte{1};
}

TEST(CpuBackend, AllocationBeyondMemoryThrows) {
  CpuBackend backend(std::vector<Kernel>{}, 1);
  constexpr int64_t kExbibyte = int64_t{1} << 60;
  try {
    backend.allocate(kExbibyte);
    FAIL() << "the allocation succeeded";
  } catch (const OutOfMemory& error) {
    EXPECT_EQ(error.bytes_requested(), kExbibyte);
    EXPECT_LT(error.bytes_available(), kExbibyte);
  }
  EXPECT_EQ(backend.held_bytes(), 0);
}

// Prints the error from creating a backend with four threads, each with a stack of 64 MiB, in 150 MiB of address space.
[[noreturn]] void open_with_large_stacks() {
  rlimit stack{};
  getrlimit(RLIMIT_STACK, &stack);
  stack.rlim_cur = 64 * kMebibyte;
  const auto bytes = static_cast<rlim_t>(read_memory_bounds().address_space_used.value() + 150 * kMebibyte);
  const rlimit space{bytes, bytes};
  if (setrlimit(RLIMIT_STACK, &stack) != 0 || setrlimit(RLIMIT_AS, &space) != 0) std::_Exit(2);
  std::fputs(test::error_of([] { const CpuBackend backend(std::vector<Kernel>{}, 4); }).c_str(), stderr);
  std::_Exit(0);
}

TEST(CpuBackendDeathTest, RejectsThreadsWhoseStacksDoNotFit) {
#ifdef LAPTIME_SANITIZES_MEMORY
  GTEST_SKIP() << "the sanitizer reserves terabytes of address space";
#endif
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(open_with_large_stacks(), testing::ExitedWithCode(0),
              "the stacks and heaps of 4 threads take 288.0 MiB, .*; lower --threads");
}

int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

TEST(CpuBackend, AllocationsArePrefaulted) {
#ifdef LAPTIME_SANITIZES_MEMORY
  GTEST_SKIP() << "the memory of the sanitizer also causes page faults";
#endif
  CpuBackend backend(std::vector<Kernel>{}, 2);
  for (const int64_t bytes : {40 * kMebibyte, kMebibyte, int64_t{5000}}) {
    const auto memory = backend.allocate(bytes);
    const int64_t before = page_faults();
    std::memset(memory->data(), 1, static_cast<size_t>(bytes));
    EXPECT_LE(page_faults() - before, 2) << bytes;  // code and stack of the test may cause two faults
  }
}

TEST(CpuBackend, AllocationsHaveTheRequestedContents) {
  CpuBackend backend(std::vector<Kernel>{}, 2);
  for (const int64_t bytes : {20 * kMebibyte + 5, int64_t{5000}}) {
    const auto zeros = backend.allocate(bytes, Contents::kZeros);
    const auto nans = backend.allocate(bytes, Contents::kNan);
    EXPECT_TRUE(std::all_of(zeros->data(), zeros->data() + bytes, [](std::byte byte) { return byte == std::byte{0}; }));
    EXPECT_TRUE(
        std::all_of(nans->data(), nans->data() + bytes, [](std::byte byte) { return byte == std::byte{0xFF}; }));
  }
}

TEST(CpuBackend, LaunchComputesOnTransferredMemory) {
  CpuBackend backend({kernel(kDouble, "double")}, 3);
  const auto memory = backend.allocate(3000);
  std::array<float, 200> numbers{};
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i);
  backend.write(memory->data(), reinterpret_cast<const std::byte*>(numbers.data()), sizeof(numbers));

  const TensorType type = contiguous_type(DType::kFloat32, {200});
  const TensorView in{memory->data(), type};
  const TensorView out{memory->data() + 1024, type};
  const Attributes attributes;
  backend.launch({.kernel = backend.kernels(kDouble).data(),
                  .attributes = &attributes,
                  .in = {&in, 1},
                  .out = {&out, 1},
                  .workspace = memory->data() + 2048});
  backend.synchronize();
  std::array<float, 200> doubled{};
  backend.read(reinterpret_cast<std::byte*>(doubled.data()), memory->data() + 1024, sizeof(doubled));
  for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(doubled[i], 2 * numbers[i]);
}

}  // namespace
}  // namespace laptime::cpu
