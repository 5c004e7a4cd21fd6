// Loads libcuda.
#include "backend/cuda/driver.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "base/error.h"

namespace laptime::cuda {
namespace {

constexpr const char* kLibrary = "libcuda.so.1";
constexpr int kMajorAttribute = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
constexpr int kMinorAttribute = 76;

// What to do after an error that does not explain itself.
struct Advice {
  Status status;
  const char* text;
};
constexpr Advice kAdvice[] = {
    {46, "another program may have the GPU for itself: see nvidia-smi"},
    {214, "the GPU's memory has an error that cannot be corrected: see nvidia-smi -q -d ECC, and reset the GPU"},
    {700, "a kernel of laptime accesses memory that is not its own; please report this with the command"},
    {702, "a kernel ran longer than the system allows, as on a GPU that drives a display: use a smaller point"},
    {719, "a kernel of laptime failed; please report this with the command"},
    {999, "the GPU may be lost: see nvidia-smi and the kernel log (dmesg | grep Xid)"},
};

std::string text_of(const Driver& driver, Status status) {
  const char* text = nullptr;
  if (driver.cuGetErrorString(status, &text) != kSuccess || text == nullptr) return fmt::format("error {}", status);
  return fmt::format("{} (error {})", text, status);
}

// Fills the table; returns the name of a function that the library lacks.
const char* load_functions(void* library, Driver& driver) {
  const char* missing = nullptr;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    if (function == nullptr && missing == nullptr) missing = name;
  };
  load(driver.cuInit, "cuInit");
  load(driver.cuDriverGetVersion, "cuDriverGetVersion");
  load(driver.cuGetErrorString, "cuGetErrorString");
  load(driver.cuDeviceGetCount, "cuDeviceGetCount");
  load(driver.cuDeviceGet, "cuDeviceGet");
  load(driver.cuDeviceGetName, "cuDeviceGetName");
  load(driver.cuDeviceGetUuid, "cuDeviceGetUuid_v2");
  load(driver.cuDeviceGetAttribute, "cuDeviceGetAttribute");
  load(driver.cuDeviceTotalMem, "cuDeviceTotalMem_v2");
  load(driver.cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  load(driver.cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  load(driver.cuCtxSetCurrent, "cuCtxSetCurrent");
  load(driver.cuMemAlloc, "cuMemAlloc_v2");
  load(driver.cuMemFree, "cuMemFree_v2");
  load(driver.cuMemGetInfo, "cuMemGetInfo_v2");
  load(driver.cuMemsetD8Async, "cuMemsetD8Async");
  load(driver.cuMemcpyHtoD, "cuMemcpyHtoD_v2");
  load(driver.cuMemcpyDtoH, "cuMemcpyDtoH_v2");
  load(driver.cuStreamCreate, "cuStreamCreate");
  load(driver.cuStreamDestroy, "cuStreamDestroy_v2");
  load(driver.cuStreamSynchronize, "cuStreamSynchronize");
  load(driver.cuEventCreate, "cuEventCreate");
  load(driver.cuEventDestroy, "cuEventDestroy_v2");
  load(driver.cuEventRecord, "cuEventRecord");
  load(driver.cuEventRecordWithFlags, "cuEventRecordWithFlags");
  load(driver.cuEventSynchronize, "cuEventSynchronize");
  load(driver.cuEventElapsedTime, "cuEventElapsedTime");
  load(driver.cuModuleLoadData, "cuModuleLoadData");
  load(driver.cuModuleUnload, "cuModuleUnload");
  load(driver.cuModuleGetFunction, "cuModuleGetFunction");
  load(driver.cuLaunchKernel, "cuLaunchKernel");
  load(driver.cuLaunchHostFunc, "cuLaunchHostFunc");
  load(driver.cuStreamBeginCapture, "cuStreamBeginCapture_v2");
  load(driver.cuStreamEndCapture, "cuStreamEndCapture");
  load(driver.cuGraphInstantiate, "cuGraphInstantiateWithFlags");
  load(driver.cuGraphLaunch, "cuGraphLaunch");
  load(driver.cuGraphDestroy, "cuGraphDestroy");
  load(driver.cuGraphExecDestroy, "cuGraphExecDestroy");
  return missing;
}

}  // namespace

std::string Driver::failure(Status status, const char* what) const {
  const auto advice = std::ranges::find(kAdvice, status, &Advice::status);
  return fmt::format("cuda: {} failed: {}{}", what, text_of(*this, status),
                     advice == std::end(kAdvice) ? "" : fmt::format("; {}", advice->text));
}

void Driver::check(Status status, const char* what) const {
  if (status != kSuccess) throw Error(failure(status, what));
}

FoundDriver find_driver() {
  // The library stays loaded: it does not support being unloaded while its threads run.
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return {nullptr, fmt::format("no NVIDIA driver: {} cannot be loaded", kLibrary)};
  auto driver = std::make_shared<Driver>();
  if (const char* const missing = load_functions(library, *driver); missing != nullptr)
    return {nullptr, fmt::format("the NVIDIA driver is too old: {} has no {}", kLibrary, missing)};
  if (const Status status = driver->cuInit(0); status != kSuccess)
    return {nullptr, fmt::format("the NVIDIA driver finds no usable GPU: {}", text_of(*driver, status))};
  int count = 0;
  if (driver->cuDeviceGetCount(&count) != kSuccess || count == 0) return {nullptr, "the NVIDIA driver shows no GPU"};
  return {driver, ""};
}

Card first_card(const Driver& driver) {
  Card card;
  driver.check(driver.cuDeviceGet(&card.number, 0), "cuDeviceGet");
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
  return card;
}

}  // namespace laptime::cuda
