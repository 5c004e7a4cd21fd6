// Launches kernels on operands that reserve address space but take no memory.
#include "backend/cpu/launch_loops.h"

#include <sys/mman.h>

#include <algorithm>

#include "backend/cpu/team.h"
#include "base/error.h"

namespace laptime::cpu {
namespace {

// Reserved address space that reads as zeros. A page takes memory only once it is written.
class AddressSpace {
 public:
  explicit AddressSpace(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void* const start = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, kFlags, -1, 0);
    if (start == MAP_FAILED) throw Error::format("cannot reserve {} bytes of address space", bytes);
    start_ = static_cast<std::byte*>(start);
  }
  AddressSpace(const AddressSpace&) = delete;
  AddressSpace& operator=(const AddressSpace&) = delete;
  ~AddressSpace() { munmap(start_, bytes_); }

  std::byte* start() const { return start_; }

 private:
  std::byte* start_ = nullptr;
  size_t bytes_;
};

}  // namespace

std::vector<LaunchLoop> loops_of_launch(const Kernel& kernel, const Signature& signature, int threads) {
  // The reference kernel uses no parallel loops, so a launch would compute every element.
  if (kernel.name == kReferenceName) return {};
  int64_t bytes = std::max<int64_t>(kernel.workspace_bytes(signature), 1);
  for (const TensorType& type : signature.in) bytes = std::max(bytes, type.storage_bytes());
  for (const TensorType& type : signature.out) bytes = std::max(bytes, type.storage_bytes());
  const AddressSpace space(bytes);  // shared by all operands, because their contents do not matter
  std::vector<TensorView> operands;
  for (const TensorType& type : signature.in) operands.push_back({space.start(), type});
  for (const TensorType& type : signature.out) operands.push_back({space.start(), type});

  std::vector<LaunchLoop> loops;
  Team team(threads, loops);
  if (kernel.prepare != nullptr) kernel.prepare(signature, team);
  loops.clear();
  const std::span<const TensorView> all(operands);
  kernel.launch({*signature.op, signature.attributes, all.first(signature.in.size()), all.subspan(signature.in.size()),
                 space.start(), team});
  return loops;
}

}  // namespace laptime::cpu
