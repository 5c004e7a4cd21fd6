// Stands in for libcuda while cuDNN makes plans on a machine without a GPU. Accepts the code that cuDNN has compiled,
// but does not load the code. The remaining functions exist only because cuDNN looks them up; they return an error.
#include "backend/cuda/driver.h"

namespace {

using namespace laptime::cuda;

constexpr Status kRefused = 801;  // CUDA_ERROR_NOT_SUPPORTED

// The address of this number is the handle of every library and of every kernel.
int& loaded() {
  static int the_code = 0;
  return the_code;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names of libcuda
extern "C" {

Status cuLibraryLoadData(void** library, const void*, void*, void*, unsigned, void*, void*, unsigned) {
  return *library = &loaded(), kSuccess;
}
Status cuLibraryGetKernel(void** kernel, void*, const char*) { return *kernel = &loaded(), kSuccess; }
Status cuKernelSetAttribute(int, int, void*, DeviceNumber) { return kSuccess; }
Status cuLibraryUnload(void*) { return kSuccess; }

#define LAPTIME_REFUSED(name) \
  Status name() { return kRefused; }
LAPTIME_REFUSED(cuCtxGetCurrent)
LAPTIME_REFUSED(cuCtxGetDevice)
LAPTIME_REFUSED(cuCtxGetLimit)
LAPTIME_REFUSED(cuCtxPopCurrent)
LAPTIME_REFUSED(cuCtxPushCurrent)
LAPTIME_REFUSED(cuCtxSetCurrent)
LAPTIME_REFUSED(cuCtxSynchronize)
LAPTIME_REFUSED(cuDeviceGet)
LAPTIME_REFUSED(cuDeviceGetAttribute)
LAPTIME_REFUSED(cuDeviceGetCount)
LAPTIME_REFUSED(cuDeviceGetName)
LAPTIME_REFUSED(cuDevicePrimaryCtxRetain)
LAPTIME_REFUSED(cuDeviceTotalMem)
LAPTIME_REFUSED(cuDriverGetVersion)
LAPTIME_REFUSED(cuFuncGetAttribute)
LAPTIME_REFUSED(cuFuncLoad)
LAPTIME_REFUSED(cuFuncSetAttribute)
LAPTIME_REFUSED(cuGetErrorName)
LAPTIME_REFUSED(cuGetErrorString)
LAPTIME_REFUSED(cuGetExportTable)
LAPTIME_REFUSED(cuGetProcAddress)
LAPTIME_REFUSED(cuGetProcAddress_v2)
LAPTIME_REFUSED(cuInit)
LAPTIME_REFUSED(cuKernelGetAttribute)
LAPTIME_REFUSED(cuKernelGetFunction)
LAPTIME_REFUSED(cuKernelGetName)
LAPTIME_REFUSED(cuLaunchCooperativeKernel)
LAPTIME_REFUSED(cuLaunchKernel)
LAPTIME_REFUSED(cuLaunchKernelEx)
LAPTIME_REFUSED(cuLibraryGetGlobal)
LAPTIME_REFUSED(cuLibraryGetModule)
LAPTIME_REFUSED(cuLibraryLoadFromFile)
LAPTIME_REFUSED(cuLinkAddData)
LAPTIME_REFUSED(cuLinkComplete)
LAPTIME_REFUSED(cuLinkCreate)
LAPTIME_REFUSED(cuLinkDestroy)
LAPTIME_REFUSED(cuMemAlloc)
LAPTIME_REFUSED(cuMemFree)
LAPTIME_REFUSED(cuMemcpy)
LAPTIME_REFUSED(cuModuleGetFunction)
LAPTIME_REFUSED(cuModuleGetGlobal)
LAPTIME_REFUSED(cuModuleLoad)
LAPTIME_REFUSED(cuModuleLoadData)
LAPTIME_REFUSED(cuModuleLoadDataEx)
LAPTIME_REFUSED(cuModuleUnload)
LAPTIME_REFUSED(cuOccupancyMaxActiveBlocksPerMultiprocessor)
LAPTIME_REFUSED(cuOccupancyMaxActiveClusters)
LAPTIME_REFUSED(cuOccupancyMaxPotentialClusterSize)
LAPTIME_REFUSED(cuStreamGetCtx)
LAPTIME_REFUSED(cuTensorMapEncodeTiled)
#undef LAPTIME_REFUSED

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
