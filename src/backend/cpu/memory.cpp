// Maps memory with mmap and madvise.
#include "backend/cpu/memory.h"

#include <sys/mman.h>

#include "backend/cpu/held_bytes.h"
#include "base/available_memory.h"
#include "base/checked.h"

namespace laptime::cpu {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

int64_t alignment_of(int64_t bytes) { return bytes >= kHugePage ? kHugePage : kPage; }

void* map(int64_t bytes) {
  return mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

}  // namespace

int64_t held_bytes(int64_t bytes) { return bytes <= 0 ? 0 : align_up(bytes, alignment_of(bytes)); }

Pages::Pages(int64_t bytes) {
  if (bytes <= 0) return;
  const int64_t alignment = alignment_of(bytes);
  bytes_ = held_bytes(bytes);
  // mmap aligns only to small pages, so this maps more than needed and unmaps the excess on both sides.
  const int64_t spare = alignment - kPage;
  void* const mapped = map((Size(bytes_) + spare).value());
  if (mapped == MAP_FAILED) throw OutOfMemory(bytes, available_memory().bytes);
  auto* const begin = static_cast<std::byte*>(mapped);
  const auto misalignment =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(begin) % static_cast<uintptr_t>(alignment));
  const int64_t before = misalignment == 0 ? 0 : alignment - misalignment;
  data_ = begin + before;
  if (before > 0) munmap(begin, static_cast<size_t>(before));
  if (spare > before) munmap(data_ + bytes_, static_cast<size_t>(spare - before));
  if (alignment == kHugePage)
    madvise(data_, static_cast<size_t>(bytes_), MADV_HUGEPAGE);  // failure is ignored: small pages are only slower
}

Pages::~Pages() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(bytes_));
}

}  // namespace laptime::cpu
