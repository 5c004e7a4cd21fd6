// Loads libcuda, and describes its errors and its cards.
#include "backend/cuda/driver.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "backend/cuda/libraries/library.h"
#include "base/error.h"

namespace laptime::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr int kMajorAttribute = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int kMinorAttribute = 76;
constexpr int kCacheAttribute = 38;   // CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
constexpr int kPoolsAttribute = 115;  // CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED

// Advice for errors whose descriptions from the driver do not say what to do.
struct Advice {
  Status status;
  const char* text;
};
constexpr Advice kAdvice[] = {
    {kOutOfMemory, "use a smaller model, batch or context"},
    {46, "another program may be using the GPU exclusively; see nvidia-smi"},
    {200, "the driver may be too old for this program; update it"},
    {209,
     "the program has no kernels for this GPU; it may have been built for other GPUs (LAPTIME_CUDA_ARCHITECTURES)"},
    {214, "the GPU's memory has an uncorrectable error; see nvidia-smi -q -d ECC, and reset the GPU"},
    {222, "the driver is older than the CUDA toolkit that built this program; update the driver"},
    {700, "a laptime kernel accessed memory out of bounds; please report this with the command that you ran"},
    {702,
     "a kernel ran longer than the system allows, as on a GPU that drives a display; use a smaller model or context"},
    {719, "a laptime kernel failed; please report this with the command that you ran"},
    {999, "the GPU may be lost; see nvidia-smi and the kernel log (dmesg | grep Xid)"},
};

std::string text_of(const Driver& driver, Status status) {
  const char* text = nullptr;
  if (driver.cuGetErrorString(status, &text) != kSuccess || text == nullptr) return fmt::format("error {}", status);
  return fmt::format("{} (error {})", text, status);
}

void find_functions(Library& library, Driver& driver) {
  library.find(driver.cuInit, "cuInit");
  library.find(driver.cuDriverGetVersion, "cuDriverGetVersion");
  library.find(driver.cuGetErrorString, "cuGetErrorString");
  library.find(driver.cuDeviceGetCount, "cuDeviceGetCount");
  library.find(driver.cuDeviceGet, "cuDeviceGet");
  library.find(driver.cuDeviceGetName, "cuDeviceGetName");
  library.find(driver.cuDeviceGetUuid, "cuDeviceGetUuid_v2");
  library.find(driver.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  library.find(driver.cuDeviceTotalMem, "cuDeviceTotalMem_v2");
  library.find(driver.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  library.find(driver.cuCtxSetCurrent, "cuCtxSetCurrent");
  library.find(driver.cuMemAlloc, "cuMemAlloc_v2");
  library.find(driver.cuMemFree, "cuMemFree_v2");
  library.find(driver.cuMemGetInfo, "cuMemGetInfo_v2");
  library.find(driver.cuMemPoolCreate, "cuMemPoolCreate");
  library.find(driver.cuMemPoolDestroy, "cuMemPoolDestroy");
  library.find(driver.cuMemPoolGetAttribute, "cuMemPoolGetAttribute");
  library.find(driver.cuMemPoolSetAttribute, "cuMemPoolSetAttribute");
  library.find(driver.cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync");
  library.find(driver.cuMemFreeAsync, "cuMemFreeAsync");
  library.find(driver.cuMemsetD8Async, "cuMemsetD8Async");
  library.find(driver.cuMemcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  library.find(driver.cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  library.find(driver.cuMemcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  library.find(driver.cuStreamCreate, "cuStreamCreate");
  library.find(driver.cuStreamDestroy, "cuStreamDestroy_v2");
  library.find(driver.cuStreamSynchronize, "cuStreamSynchronize");
  library.find(driver.cuStreamQuery, "cuStreamQuery");
  library.find(driver.cuStreamWaitEvent, "cuStreamWaitEvent");
  library.find(driver.cuEventCreate, "cuEventCreate");
  library.find(driver.cuEventDestroy, "cuEventDestroy_v2");
  library.find(driver.cuEventRecord, "cuEventRecord");
  library.find(driver.cuEventRecordWithFlags, "cuEventRecordWithFlags");
  library.find(driver.cuEventElapsedTime, "cuEventElapsedTime");
  library.find(driver.cuModuleLoadData, "cuModuleLoadData");
  library.find(driver.cuModuleUnload, "cuModuleUnload");
  library.find(driver.cuModuleGetFunction, "cuModuleGetFunction");
  library.find(driver.cuLaunchKernel, "cuLaunchKernel");
  library.find(driver.cuLaunchHostFunc, "cuLaunchHostFunc");
  library.find(driver.cuStreamBeginCapture, "cuStreamBeginCapture_v2");
  library.find(driver.cuStreamEndCapture, "cuStreamEndCapture");
  library.find(driver.cuGraphInstantiate, "cuGraphInstantiateWithFlags");
  library.find(driver.cuGraphLaunch, "cuGraphLaunch");
  library.find(driver.cuGraphDestroy, "cuGraphDestroy");
  library.find(driver.cuGraphExecDestroy, "cuGraphExecDestroy");
}

}  // namespace

std::string Driver::failure(Status status, const char* what) const {
  const auto advice = std::ranges::find(kAdvice, status, &Advice::status);
  return fmt::format("cuda: {} failed: {}{}", what, text_of(*this, status),
                     advice == std::end(kAdvice) ? "" : fmt::format("; {}", advice->text));
}

void Driver::check(Status status, const char* what) const {
  if (status == kOutOfMemory) throw OutOfMemory(kUnknownBytes, std::nullopt, failure(status, what));
  if (status != kSuccess) throw Error(failure(status, what));
}

FoundDriver find_driver() {
  Library library(kLibrary);
  if (!library.is_loaded()) return {nullptr, fmt::format("no NVIDIA driver: {} cannot be loaded", kLibrary)};
  auto driver = std::make_shared<Driver>();
  find_functions(library, *driver);
  if (library.missing() != nullptr)
    return {nullptr, fmt::format("the NVIDIA driver is too old: {} has no {}", kLibrary, library.missing())};
  if (const Status status = driver->cuInit(0); status != kSuccess)
    return {nullptr, fmt::format("the NVIDIA driver finds no usable GPU: {}", text_of(*driver, status))};
  if (card_count(*driver) == 0) return {nullptr, "the NVIDIA driver finds no GPU"};
  return {driver, ""};
}

int card_count(const Driver& driver) {
  int count = 0;
  return driver.cuDeviceGetCount(&count) == kSuccess ? count : 0;
}

Card nth_card(const Driver& driver, int number) {
  Card card;
  driver.check(driver.cuDeviceGet(&card.number, number), "cuDeviceGet");
  std::array<char, 256> name{};
  driver.check(driver.cuDeviceGetName(name.data(), static_cast<int>(name.size()) - 1, card.number), "cuDeviceGetName");
  card.name = name.data();
  DeviceUuid uuid{};
  driver.check(driver.cuDeviceGetUuid(&uuid, card.number), "cuDeviceGetUuid");
  for (const unsigned char byte : uuid.bytes) card.uuid += fmt::format("{:02x}", byte);
  int major = 0;
  int minor = 0;
  driver.check(driver.cuDeviceGetAttribute(&major, kMajorAttribute, card.number), "cuDeviceGetAttribute");
  driver.check(driver.cuDeviceGetAttribute(&minor, kMinorAttribute, card.number), "cuDeviceGetAttribute");
  card.compute_capability = 10 * major + minor;
  driver.check(driver.cuDriverGetVersion(&card.driver_version), "cuDriverGetVersion");
  size_t bytes = 0;
  driver.check(driver.cuDeviceTotalMem(&bytes, card.number), "cuDeviceTotalMem");
  card.memory_bytes = static_cast<int64_t>(bytes);
  int cache_bytes = 0;
  driver.check(driver.cuDeviceGetAttribute(&cache_bytes, kCacheAttribute, card.number), "cuDeviceGetAttribute");
  card.cache_bytes = cache_bytes;
  int pools = 0;
  driver.check(driver.cuDeviceGetAttribute(&pools, kPoolsAttribute, card.number), "cuDeviceGetAttribute");
  card.has_pools = pools != 0;
  return card;
}

}  // namespace laptime::cuda
