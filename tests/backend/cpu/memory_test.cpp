// Pages: alignment, release, and the error if there is not enough memory.
#include "backend/cpu/memory.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdio>

#include "backend/cpu/held_bytes.h"
#include "base/available_memory.h"
#include "base/error.h"
#include "support/types.h"

namespace laptime::cpu {
namespace {

using test::kMebibyte;

int64_t address_space() {
  std::FILE* const file = std::fopen("/proc/self/statm", "r");
  long pages = 0;
  EXPECT_EQ(std::fscanf(file, "%ld", &pages), 1);
  std::fclose(file);
  return pages * int64_t{4096};
}

TEST(Pages, AreAlignedAndZero) {
  for (const int64_t bytes : {int64_t{1}, int64_t{4096}, kMebibyte, 2 * kMebibyte, 5 * kMebibyte + 1}) {
    const Pages pages(bytes);
    EXPECT_EQ(pages.bytes(), held_bytes(bytes));
    EXPECT_GE(pages.bytes(), bytes);
    EXPECT_LT(pages.bytes(), bytes + 2 * kMebibyte);
    const uintptr_t alignment = bytes >= 2 * kMebibyte ? 2 * kMebibyte : 4096;
    EXPECT_EQ(reinterpret_cast<uintptr_t>(pages.data()) % alignment, 0U) << bytes;
    EXPECT_EQ(pages.data()[0], std::byte{0});
    pages.data()[pages.bytes() - 1] = std::byte{7};
    EXPECT_EQ(pages.data()[pages.bytes() - 1], std::byte{7});
  }
}

TEST(Pages, ZeroBytesMapNothing) {
  const Pages pages(0);
  EXPECT_EQ(pages.data(), nullptr);
  EXPECT_EQ(pages.bytes(), 0);
}

TEST(Pages, AreReturnedToTheSystem) {
  const int64_t before = address_space();
  for (int i = 0; i < 1000; ++i) {
    const Pages pages(9 * kMebibyte);
    Pages moved(kMebibyte);
    moved = Pages(3 * kMebibyte);
    const Pages last(std::move(moved));
    EXPECT_EQ(last.bytes(), 4 * kMebibyte);
  }
  EXPECT_LT(address_space() - before, 4 * kMebibyte);
}

#ifndef LAPTIME_SANITIZES_MEMORY  // sanitizers reserve terabytes of address space
int allocate_under_limit() {
  rlimit limit{};
  limit.rlim_cur = limit.rlim_max = static_cast<rlim_t>(address_space() + 64 * kMebibyte);
  setrlimit(RLIMIT_AS, &limit);
  const int64_t available = laptime::available_memory().bytes.value_or(0);
  if (available > 64 * kMebibyte || available < 60 * kMebibyte) return 1;
  try {
    const Pages pages(65 * kMebibyte);
  } catch (const OutOfMemory& error) {
    if (error.bytes_requested() != 65 * kMebibyte || error.bytes_available() > 64 * kMebibyte) return 2;
    const Pages pages(32 * kMebibyte);  // succeeds because the failed request left nothing mapped
    return pages.data() != nullptr ? 42 : 3;
  }
  return 4;
}

TEST(PagesDeathTest, ErrorStatesTheRequestedBytes) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(std::_Exit(allocate_under_limit()), testing::ExitedWithCode(42), "");
}
#endif

}  // namespace
}  // namespace laptime::cpu
