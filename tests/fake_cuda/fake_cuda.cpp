// Stands in for libcuda and simulates GPUs. It has only the functions that laptime calls. GPU memory is host memory,
// which all GPUs share, and kernels run on the host (support/cuda/host_grid.h). Work stays in its stream until the
// program waits for the work, as may happen on a real GPU, so a program that fails to wait reads stale bytes.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/libraries/cupti.h"
#include "fake_cuda/fake_card.h"
#include "support/cuda/host_queue.h"

namespace laptime::cuda {

struct ModuleObject {};
struct PoolObject {
  std::map<DeviceAddress, size_t> handed_out;  // address -> bytes
  size_t used = 0;
  size_t reserved = 0;  // in whole granules; never decreases, because the release threshold is unlimited
  uint64_t threshold = 0;
};

}  // namespace laptime::cuda

namespace laptime::test {

PlannedFailure::PlannedFailure() {
  const char* const text = std::getenv("LAPTIME_FAKE_CUDA_FAIL");
  if (text != nullptr) std::sscanf(text, "%d@%ld", &status, &launch);
}

FakeCard& card() {
  static FakeCard the_card;
  return the_card;
}

int& current_card() {
  thread_local int the_number = 0;
  return the_number;
}

size_t free_bytes() {
  const char* const taken = std::getenv("LAPTIME_FAKE_CUDA_TAKEN");
  const size_t used = card().held + (taken == nullptr ? 0 : std::strtoull(taken, nullptr, 10));
  return kMemoryBytes - std::min(kMemoryBytes, used);
}

}  // namespace laptime::test

namespace {

using namespace laptime;
using namespace laptime::cuda;
using namespace laptime::test;

constexpr Status kIllegalAddress = 700;
constexpr size_t kPoolGranule = size_t{2} << 20;

// LAPTIME_FAKE_CUDA_CARDS: the number of GPUs; 1 by default.
int cards() {
  const char* const count = std::getenv("LAPTIME_FAKE_CUDA_CARDS");
  return count == nullptr ? 1 : std::min(std::atoi(count), FakeCard::kMostCards);
}

// A function of fake_cupti.cpp, called after each kernel, fill and device-to-device copy; null until it is set.
using Watcher = void (*)(const ActivityRecord& ran);
Watcher& watcher() {
  static Watcher the_watcher = nullptr;
  return the_watcher;
}
constexpr uint32_t kCopyRan = 1, kFillRan = 2, kKernelRan = 10;

// Calls `work`, stores its begin and end in `ran`, and passes `ran` to the watcher, if any.
template <class Work>
void run_watched(ActivityRecord ran, const Work& work) {
  const auto now = [] {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::nanoseconds(since).count());
  };
  ran.begin = now();
  work();
  ran.end = now();
  if (watcher() != nullptr) watcher()(ran);
}

// True in the process that called cuInit. A forked child cannot use the GPU.
bool is_usable() { return card().owner == getpid(); }

// The pool that handed out each address.
std::map<DeviceAddress, PoolObject*>& pool_of() {
  static std::map<DeviceAddress, PoolObject*> all;
  return all;
}

// True if all bytes are within one allocation.
bool is_allocated(DeviceAddress address, size_t bytes) {
  auto found = card().memory.upper_bound(address);
  if (found == card().memory.begin()) return false;
  --found;
  return address + bytes <= found->first + found->second;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming,performance-no-int-to-ptr): the names of libcuda
extern "C" {

void watch_fake_card(Watcher ran) {
  const std::lock_guard lock(card().mutex);
  watcher() = ran;
}

Status cuInit(unsigned) {
  if (card().owner == 0) card().owner = getpid();
  return is_usable() ? kSuccess : kNotInitialized;
}
Status cuDriverGetVersion(int* version) { return *version = 13000, kSuccess; }
Status cuGetErrorString(Status status, const char** text) {
  switch (status) {
    case kOutOfMemory: *text = "out of memory"; break;
    case kNotInitialized: *text = "initialization error"; break;
    case kNotFound: *text = "named symbol not found"; break;
    case 46: *text = "CUDA-capable device(s) is/are busy or unavailable"; break;
    case 214: *text = "uncorrectable ECC error encountered"; break;
    case 702: *text = "the launch timed out and was terminated"; break;
    case kIllegalAddress: *text = "an illegal memory access was encountered"; break;
    case kLaunchFailed: *text = "unspecified launch failure"; break;
    default: *text = "invalid argument"; break;
  }
  return kSuccess;
}
Status cuDeviceGetCount(int* count) {
  *count = cards();
  return is_usable() ? kSuccess : kNotInitialized;
}
Status cuDeviceGet(DeviceNumber* device, int ordinal) {
  *device = ordinal;
  return ordinal < cards() ? kSuccess : kInvalidValue;
}
Status cuDeviceGetName(char* name, int size, DeviceNumber) {
  std::snprintf(name, static_cast<size_t>(size), "fake card");
  return kSuccess;
}
Status cuDeviceGetUuid_v2(DeviceUuid* uuid, DeviceNumber device) {
  std::memset(uuid, 0xFA, sizeof(*uuid));
  uuid->bytes[15] = static_cast<unsigned char>(0xFA + device);
  return kSuccess;
}
// LAPTIME_FAKE_CUDA_MAJOR: the first number of the compute capability; 9 by default.
Status cuDeviceGetAttribute(int* value, int attribute, DeviceNumber) {
  const char* const major = std::getenv("LAPTIME_FAKE_CUDA_MAJOR");
  *value = attribute == 75    ? (major == nullptr ? 9 : std::atoi(major))
           : attribute == 115 ? 1
           : attribute == 38  ? 1 << 20
                              : 0;
  return kSuccess;
}
Status cuDeviceTotalMem_v2(size_t* bytes, DeviceNumber) { return *bytes = kMemoryBytes, kSuccess; }
Status cuDevicePrimaryCtxRetain(ContextHandle* context, DeviceNumber device) {
  if (device < 0 || device >= cards()) return kInvalidValue;
  *context = &card().contexts.at(static_cast<size_t>(device));
  return is_usable() ? kSuccess : kNotInitialized;
}
Status cuCtxSetCurrent(ContextHandle context) {
  current_card() = static_cast<int>(context - card().contexts.data());
  return current_card() >= 0 && current_card() < cards() ? kSuccess : kInvalidValue;
}

Status cuMemAlloc_v2(DeviceAddress* address, size_t bytes) {
  const std::lock_guard lock(card().mutex);
  if (card().failed != kSuccess) return card().failed;
  if (bytes == 0) return kInvalidValue;
  if (bytes > free_bytes()) return kOutOfMemory;
  void* const memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (memory == nullptr) return kOutOfMemory;
  *address = reinterpret_cast<DeviceAddress>(memory);
  card().memory[*address] = bytes;
  card().held += bytes;
  return kSuccess;
}
// Waits for all work of the GPU, which may still use the memory.
Status cuMemFree_v2(DeviceAddress address) {
  std::unique_lock lock(card().mutex);
  run_card(lock);
  if (card().failed != kSuccess) return card().failed;
  const auto found = card().memory.find(address);
  if (found == card().memory.end()) return kInvalidValue;
  card().held -= found->second;
  card().memory.erase(found);
  std::free(reinterpret_cast<void*>(address));
  return kSuccess;
}
Status cuMemGetInfo_v2(size_t* free, size_t* total) {
  const std::lock_guard lock(card().mutex);
  if (card().failed != kSuccess) return card().failed;
  *free = free_bytes();
  *total = kMemoryBytes;
  return kSuccess;
}
Status cuMemPoolCreate(PoolHandle* pool, const PoolProperties* properties) {
  if (properties->allocation_type != 1 || properties->location_type != 1 || properties->device != current_card())
    return kInvalidValue;
  return *pool = new PoolObject, kSuccess;
}
Status cuMemPoolDestroy(PoolHandle pool) {
  const std::lock_guard lock(card().mutex);
  if (!pool->handed_out.empty()) return kInvalidValue;
  card().held -= pool->reserved;
  delete pool;
  return kSuccess;
}
Status cuMemPoolSetAttribute(PoolHandle pool, int attribute, void* value) {
  if (attribute != kPoolReleaseThreshold) return kInvalidValue;
  pool->threshold = *static_cast<const uint64_t*>(value);
  return kSuccess;
}
Status cuMemPoolGetAttribute(PoolHandle pool, int attribute, void* value) {
  const std::lock_guard lock(card().mutex);
  if (attribute != kPoolReservedHigh) return kInvalidValue;
  *static_cast<uint64_t*>(value) = pool->reserved;
  return kSuccess;
}
Status cuMemAllocFromPoolAsync(DeviceAddress* address, size_t bytes, PoolHandle pool, StreamHandle stream) {
  const std::lock_guard lock(card().mutex);
  if (card().failed != kSuccess) return card().failed;
  if (bytes == 0 || pool->threshold != UINT64_MAX) return kInvalidValue;
  if (stream->capture != nullptr) return kCaptureUnsupported;
  const size_t used = pool->used + (bytes + 511) / 512 * 512;
  const size_t reserved = std::max(pool->reserved, (used + kPoolGranule - 1) / kPoolGranule * kPoolGranule);
  if (reserved - pool->reserved > free_bytes()) return kOutOfMemory;
  void* const memory = std::aligned_alloc(512, (bytes + 511) / 512 * 512);
  if (memory == nullptr) return kOutOfMemory;
  std::memset(memory, 0xFF, bytes);  // memory from a pool has arbitrary contents
  *address = reinterpret_cast<DeviceAddress>(memory);
  pool->handed_out[*address] = bytes;
  pool_of()[*address] = pool;
  card().held += reserved - pool->reserved;
  pool->reserved = reserved;
  pool->used = used;
  card().memory[*address] = bytes;
  return kSuccess;
}
// The bytes are freed when the stream reaches this point, because earlier launches may still use them.
Status cuMemFreeAsync(DeviceAddress address, StreamHandle stream) {
  const std::lock_guard lock(card().mutex);
  if (card().failed != kSuccess) return card().failed;
  const auto found = pool_of().find(address);
  if (found == pool_of().end()) return kInvalidValue;
  PoolObject& pool = *found->second;
  const size_t bytes = pool.handed_out.at(address);
  pool.used -= (bytes + 511) / 512 * 512;
  pool.handed_out.erase(address);
  pool_of().erase(found);
  card().memory.erase(address);
  stream->enqueue([=] {
    std::memset(reinterpret_cast<void*>(address), 0xFF, bytes);
    std::free(reinterpret_cast<void*>(address));
  });
  return kSuccess;
}
Status cuMemsetD8Async(DeviceAddress address, unsigned char value, size_t bytes, StreamHandle stream) {
  const std::lock_guard lock(card().mutex);
  if (card().failed != kSuccess) return card().failed;
  if (!is_allocated(address, bytes)) return kInvalidValue;
  stream->enqueue([=] {
    run_watched({.kind = kFillRan, .fill_value = value, .fill_bytes = bytes},
                [=] { std::memset(reinterpret_cast<void*>(address), value, bytes); });
  });
  return kSuccess;
}
// The bytes are staged immediately and reach the GPU when the stream reaches this copy. Copies without a stream are not
// provided, because the kernels of a non-blocking stream would not wait for them.
Status cuMemcpyHtoDAsync_v2(DeviceAddress to, const void* from, size_t bytes, StreamHandle stream) {
  const std::lock_guard lock(card().mutex);
  if (card().failed != kSuccess) return card().failed;
  if (stream->capture != nullptr) return kCaptureUnsupported;
  if (!is_allocated(to, bytes)) return kInvalidValue;
  const auto* const first = static_cast<const std::byte*>(from);
  stream->enqueue([to, staged = std::vector<std::byte>(first, first + bytes)] {
    std::memcpy(reinterpret_cast<void*>(to), staged.data(), staged.size());
  });
  return kSuccess;
}
// The bytes reach the host when the stream reaches this copy.
Status cuMemcpyDtoHAsync_v2(void* to, DeviceAddress from, size_t bytes, StreamHandle stream) {
  const std::lock_guard lock(card().mutex);
  if (card().failed != kSuccess) return card().failed;
  if (stream->capture != nullptr) return kCaptureUnsupported;
  if (!is_allocated(from, bytes)) return kInvalidValue;
  stream->enqueue([=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
  return kSuccess;
}

Status cuMemcpyDtoDAsync_v2(DeviceAddress to, DeviceAddress from, size_t bytes, StreamHandle stream) {
  const std::lock_guard lock(card().mutex);
  if (card().failed != kSuccess) return card().failed;
  if (!is_allocated(to, bytes) || !is_allocated(from, bytes)) return kInvalidValue;
  stream->enqueue([=] {
    run_watched({.kind = kCopyRan},
                [=] { std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<const void*>(from), bytes); });
  });
  return kSuccess;
}

// The image is not read, because the kernels are compiled into this library.
Status cuModuleLoadData(ModuleHandle* module, const void* image) {
  if (image == nullptr) return kInvalidValue;
  *module = new ModuleObject;
  return kSuccess;
}
Status cuModuleUnload(ModuleHandle module) {
  delete module;
  return kSuccess;
}
Status cuModuleGetFunction(FunctionHandle* function, ModuleHandle, const char* name) {
  const std::lock_guard lock(card().mutex);
  const test::HostKernel* const kernel = test::find_host_kernel(name);
  if (kernel == nullptr) return kNotFound;
  FunctionObject& found = card().functions[name];
  found.kernel = kernel;
  *function = &found;
  return kSuccess;
}
Status cuLaunchKernel(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                      unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream, void** parameters,
                      void** extra) {
  const std::lock_guard lock(card().mutex);
  if (card().failed != kSuccess) return card().failed;
  const bool one_axis = grid_y == 1 && grid_z == 1 && block_y == 1 && block_z == 1;
  if (!one_axis || grid_x == 0 || block_x == 0 || block_x > kMaxBlock || shared_bytes != 0 || extra != nullptr)
    return kInvalidValue;
  const test::HostKernel& kernel = *function->kernel;
  const auto* const first = static_cast<const std::byte*>(parameters[0]);
  // Arguments are copied when the launch is enqueued. Storing them as doubles keeps them aligned.
  std::vector<double> args((kernel.args_bytes + sizeof(double) - 1) / sizeof(double));
  std::memcpy(args.data(), first, kernel.args_bytes);
  stream->enqueue([&kernel, grid_x, block_x, args = std::move(args)] {
    if (++card().launches == card().planned.launch) {
      card().failed = card().planned.status;
      return;
    }
    try {
      run_watched({.kind = kKernelRan},
                  [&] { run_grid(kernel, grid_x, static_cast<int>(block_x), args.data(), {.checked = false}); });
    } catch (const std::exception& error) {
      std::fprintf(stderr, "fake card: %s\n", error.what());
      card().failed = kLaunchFailed;
    }
  });
  return kSuccess;
}
Status cuLaunchHostFunc(StreamHandle stream, void (*function)(void*), void* data) {
  const std::lock_guard lock(card().mutex);
  if (card().failed != kSuccess) return card().failed;
  stream->enqueue([=] { function(data); });
  return kSuccess;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming,performance-no-int-to-ptr)
