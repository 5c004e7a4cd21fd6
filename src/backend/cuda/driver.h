// Driver: the functions of libcuda that we call, loaded at run time, so that the same program runs on machines with and
// without a card.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace laptime::cuda {

// Types of the driver's ABI, declared here so that building does not need the toolkit's header.
using Status = int;
using DeviceNumber = int;
using DeviceAddress = unsigned long long;
using ContextHandle = struct ContextObject*;
using ModuleHandle = struct ModuleObject*;
using FunctionHandle = struct FunctionObject*;
using StreamHandle = struct StreamObject*;
using EventHandle = struct EventObject*;
using GraphHandle = struct GraphObject*;
using GraphExecHandle = struct GraphExecObject*;
using PoolHandle = struct PoolObject*;
struct DeviceUuid {
  unsigned char bytes[16];
};

// Properties of a memory pool (CUmemPoolProps): memory of one device, not shared with other processes.
struct PoolProperties {
  int allocation_type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED, the only one for devices
  int handle_types = 0;
  int location_type = 1;  // CU_MEM_LOCATION_TYPE_DEVICE
  DeviceNumber device = 0;
  void* security_attributes = nullptr;
  size_t most_bytes = 0;
  unsigned char reserved[56] = {};
};
// Constants of CUmemPool_attribute. The values of these attributes have 64 bits.
inline constexpr int kPoolReleaseThreshold = 4, kPoolReservedHigh = 6;

inline constexpr Status kSuccess = 0;
inline constexpr Status kOutOfMemory = 2;
inline constexpr Status kNotReady = 600;

// The number of requested bytes in an OutOfMemory error if the failed call does not state it.
inline constexpr int64_t kUnknownBytes = 0;

// Each member is named after a function of libcuda; driver.cpp states the ABI version of each function.
struct Driver {
  // NOLINTBEGIN(readability-identifier-naming): the names of libcuda
  Status (*cuInit)(unsigned flags) = nullptr;
  Status (*cuDriverGetVersion)(int* version) = nullptr;
  Status (*cuGetErrorString)(Status status, const char** text) = nullptr;
  Status (*cuDeviceGetCount)(int* count) = nullptr;
  Status (*cuDeviceGet)(DeviceNumber* device, int ordinal) = nullptr;
  Status (*cuDeviceGetName)(char* name, int size, DeviceNumber device) = nullptr;
  Status (*cuDeviceGetUuid)(DeviceUuid* uuid, DeviceNumber device) = nullptr;
  Status (*cuDeviceGetAttribute)(int* value, int attribute, DeviceNumber device) = nullptr;
  Status (*cuDeviceTotalMem)(size_t* bytes, DeviceNumber device) = nullptr;
  Status (*cuDevicePrimaryCtxRetain)(ContextHandle* context, DeviceNumber device) = nullptr;
  Status (*cuCtxSetCurrent)(ContextHandle context) = nullptr;
  Status (*cuMemAlloc)(DeviceAddress* address, size_t bytes) = nullptr;
  Status (*cuMemFree)(DeviceAddress address) = nullptr;
  Status (*cuMemGetInfo)(size_t* free, size_t* total) = nullptr;
  Status (*cuMemPoolCreate)(PoolHandle* pool, const PoolProperties* properties) = nullptr;
  Status (*cuMemPoolDestroy)(PoolHandle pool) = nullptr;
  Status (*cuMemPoolGetAttribute)(PoolHandle pool, int attribute, void* value) = nullptr;
  Status (*cuMemPoolSetAttribute)(PoolHandle pool, int attribute, void* value) = nullptr;
  Status (*cuMemAllocFromPoolAsync)(DeviceAddress* address, size_t bytes, PoolHandle pool,
                                    StreamHandle stream) = nullptr;
  Status (*cuMemFreeAsync)(DeviceAddress address, StreamHandle stream) = nullptr;
  Status (*cuMemsetD8Async)(DeviceAddress address, unsigned char value, size_t bytes, StreamHandle stream) = nullptr;
  Status (*cuMemcpyHtoDAsync)(DeviceAddress to, const void* from, size_t bytes, StreamHandle stream) = nullptr;
  Status (*cuMemcpyDtoHAsync)(void* to, DeviceAddress from, size_t bytes, StreamHandle stream) = nullptr;
  Status (*cuMemcpyDtoDAsync)(DeviceAddress to, DeviceAddress from, size_t bytes, StreamHandle stream) = nullptr;
  Status (*cuStreamCreate)(StreamHandle* stream, unsigned flags) = nullptr;
  Status (*cuStreamDestroy)(StreamHandle stream) = nullptr;
  Status (*cuStreamSynchronize)(StreamHandle stream) = nullptr;
  Status (*cuStreamQuery)(StreamHandle stream) = nullptr;
  Status (*cuStreamWaitEvent)(StreamHandle stream, EventHandle event, unsigned flags) = nullptr;
  Status (*cuEventCreate)(EventHandle* event, unsigned flags) = nullptr;
  Status (*cuEventDestroy)(EventHandle event) = nullptr;
  Status (*cuEventRecord)(EventHandle event, StreamHandle stream) = nullptr;
  Status (*cuEventRecordWithFlags)(EventHandle event, StreamHandle stream, unsigned flags) = nullptr;
  Status (*cuEventElapsedTime)(float* milliseconds, EventHandle begin, EventHandle end) = nullptr;
  Status (*cuModuleLoadData)(ModuleHandle* module, const void* image) = nullptr;
  Status (*cuModuleUnload)(ModuleHandle module) = nullptr;
  Status (*cuModuleGetFunction)(FunctionHandle* function, ModuleHandle module, const char* name) = nullptr;
  Status (*cuLaunchKernel)(FunctionHandle function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,
                           unsigned block_y, unsigned block_z, unsigned shared_bytes, StreamHandle stream,
                           void** parameters, void** extra) = nullptr;
  Status (*cuLaunchHostFunc)(StreamHandle stream, void (*function)(void*), void* data) = nullptr;
  Status (*cuStreamBeginCapture)(StreamHandle stream, int mode) = nullptr;
  Status (*cuStreamEndCapture)(StreamHandle stream, GraphHandle* graph) = nullptr;
  Status (*cuGraphInstantiate)(GraphExecHandle* exec, GraphHandle graph, unsigned long long flags) = nullptr;
  Status (*cuGraphLaunch)(GraphExecHandle exec, StreamHandle stream) = nullptr;
  Status (*cuGraphDestroy)(GraphHandle graph) = nullptr;
  Status (*cuGraphExecDestroy)(GraphExecHandle exec) = nullptr;
  // NOLINTEND(readability-identifier-naming)

  // Returns a message with the call, the driver's description of the error and, if there is any, advice.
  std::string failure(Status status, const char* what) const;
  // Throws Error if `status` is not kSuccess.
  void check(Status status, const char* what) const;
};

// Where launches go: a stream, and the workspace of matrix products in that stream.
struct LaunchTarget {
  StreamHandle stream = nullptr;
  DeviceAddress workspace = 0;
};

// A driver with at least one card, or the reason why none can be used.
struct FoundDriver {
  std::shared_ptr<const Driver> driver;  // null if `missing` states a reason
  std::string missing;
};

// Loads libcuda.so.1 and initialises it. Never throws.
FoundDriver find_driver();

// A card as described by the driver.
struct Card {
  DeviceNumber number = 0;
  std::string name;            // "NVIDIA H200"
  std::string uuid;            // 32 hexadecimal digits
  int compute_capability = 0;  // 90 for 9.0
  int driver_version = 0;      // 13000 for 13.0
  int64_t memory_bytes = 0;
  int64_t cache_bytes = 0;  // size of the last-level cache
  bool has_pools = false;   // true if the card supports allocation in stream order
};

// The number of cards that the driver reports; 0 if the driver fails.
int card_count(const Driver& driver);
// The card with this number, counted from 0. Throws Error if the driver has none.
Card nth_card(const Driver& driver, int number);

}  // namespace laptime::cuda
