// Times the first write to fresh pages.
#include "backend/cpu/page_fault.h"

#include <sys/mman.h>

#include <cstddef>

#include "backend/cpu/memory.h"
#include "base/host_clock.h"

namespace laptime::cpu {
namespace {

constexpr size_t kPages = 512;
constexpr size_t kBytes = kPages * kPage;

}  // namespace

Seconds measure_page_fault() {
  void* const mapped = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return Seconds{0};
  madvise(mapped, kBytes, MADV_NOHUGEPAGE);
  auto* const bytes = static_cast<volatile std::byte*>(mapped);
  const Seconds begin = host_now();
  for (size_t at = 0; at < kBytes; at += kPage) bytes[at] = std::byte{1};
  const Seconds total = host_now() - begin;
  munmap(mapped, kBytes);
  return total / static_cast<double>(kPages);
}

}  // namespace laptime::cpu
