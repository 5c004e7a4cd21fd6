// Touching fresh pages against the clock.
#include "backend/cpu/page_fault.h"

#include <sys/mman.h>

#include <cstddef>

#include "backend/cpu/clock.h"

namespace laptime::cpu {
namespace {

constexpr size_t kPage = 4096;
constexpr size_t kPages = 512;

}  // namespace

Seconds measure_page_fault() {
  void* const mapped = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return Seconds{0};
  madvise(mapped, kPages * kPage, MADV_NOHUGEPAGE);
  auto* const bytes = static_cast<volatile std::byte*>(mapped);
  const Seconds begin = now();
  for (size_t page = 0; page < kPages; ++page) bytes[page * kPage] = std::byte{1};
  const Seconds total = now() - begin;
  munmap(mapped, kPages * kPage);
  return total / static_cast<double>(kPages);
}

}  // namespace laptime::cpu
