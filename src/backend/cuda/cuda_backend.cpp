// Memory, launches, marks and transfers by the driver interface.
#include "backend/cuda/cuda_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"

namespace laptime::cuda {
namespace {

DeviceAddress address_of(const std::byte* device) { return reinterpret_cast<DeviceAddress>(device); }

constexpr unsigned kNonBlockingStream = 1;  // CU_STREAM_NON_BLOCKING: does not wait for the default stream

}  // namespace

class CudaBackend::Memory : public DeviceMemory {
 public:
  Memory(std::shared_ptr<const Driver> driver, std::shared_ptr<Held> held, DeviceAddress address, int64_t bytes)
      : driver_(std::move(driver)), held_(std::move(held)), address_(address), bytes_(bytes) {
    held_->now += bytes_;
    held_->peak = std::max(held_->peak, held_->now);
  }
  ~Memory() override {
    driver_->cuMemFree(address_);
    held_->now -= bytes_;
  }
  std::byte* data() override { return std::bit_cast<std::byte*>(address_); }

 private:
  std::shared_ptr<const Driver> driver_;
  std::shared_ptr<Held> held_;
  DeviceAddress address_;
  int64_t bytes_;
};

CudaBackend::Stream::Stream(CudaBackend& owner, std::span<const std::byte> image) : owner_(owner) {
  const Driver& driver = *owner.driver_;
  driver.check(driver.cuStreamCreate(&handle, kNonBlockingStream), "cuStreamCreate");
  driver.check(driver.cuModuleLoadData(&module_, image.data()), "loading the kernels (cuModuleLoadData)");
}

CudaBackend::Stream::~Stream() {
  owner_.driver_->cuModuleUnload(module_);
  owner_.driver_->cuStreamDestroy(handle);
}

FunctionHandle CudaBackend::Stream::function(const char* kernel) {
  FunctionHandle& found = functions_[kernel];
  if (found == nullptr) owner_.note_failure(owner_.driver_->cuModuleGetFunction(&found, module_, kernel), kernel);
  return found;
}

void CudaBackend::Stream::launch(const GridLaunch& launch) {
  const FunctionHandle kernel = function(launch.kernel);
  if (kernel == nullptr) return;
  void* parameters[] = {const_cast<void*>(launch.args)};
  owner_.note_failure(
      owner_.driver_->cuLaunchKernel(kernel, static_cast<unsigned>(launch.blocks), 1, 1,
                                     static_cast<unsigned>(launch.threads), 1, 1, 0, handle, parameters, nullptr),
      launch.kernel);
}

CudaBackend::CudaBackend(std::shared_ptr<const Driver> driver, const Card& card,
                         std::shared_ptr<const KernelTable> kernels, std::span<const std::byte> image)
    : driver_(std::move(driver)), card_(card), kernels_(std::move(kernels)) {
  driver_->check(driver_->cuDevicePrimaryCtxRetain(&context_, card_.number), "cuDevicePrimaryCtxRetain");
  make_current();
  stream_ = std::make_unique<Stream>(*this, image);
  origin_ = new_event();
  next_origin_ = new_event();
  driver_->check(driver_->cuEventRecord(origin_, stream_->handle), "cuEventRecord");
  driver_->check(driver_->cuStreamSynchronize(stream_->handle), "cuStreamSynchronize");
}

CudaBackend::~CudaBackend() {
  for (const Mark& mark : marks_) {
    if (mark.event != nullptr) driver_->cuEventDestroy(mark.event);
  }
  driver_->cuEventDestroy(origin_);
  driver_->cuEventDestroy(next_origin_);
  stream_.reset();
  // The primary context is left to the process: memory may outlive the backend.
}

void CudaBackend::make_current() const { driver_->check(driver_->cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }

EventHandle CudaBackend::new_event() const {
  EventHandle event = nullptr;
  driver_->check(driver_->cuEventCreate(&event, 0), "cuEventCreate");
  return event;
}

void CudaBackend::note_failure(Status status, const char* what) {
  if (status == kSuccess || !failure_.empty()) return;
  try {
    driver_->check(status, what);
  } catch (const Error& error) {
    failure_ = error.what();
  }
}

std::unique_ptr<DeviceMemory> CudaBackend::allocate(int64_t bytes, Contents contents) {
  LAPTIME_CHECK(bytes >= 0, "{} bytes", bytes);
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  DeviceAddress address = 0;
  const Status status = driver_->cuMemAlloc(&address, size);
  if (status == kOutOfMemory) {
    size_t free = 0;
    size_t total = 0;
    driver_->check(driver_->cuMemGetInfo(&free, &total), "cuMemGetInfo");
    throw OutOfMemory(bytes, static_cast<int64_t>(free));
  }
  driver_->check(status, "cuMemAlloc");
  auto memory = std::make_unique<Memory>(driver_, held_, address, bytes);
  const unsigned char value = contents == Contents::kNan ? 0xFF : 0;
  driver_->check(driver_->cuMemsetD8Async(address, value, size, stream_->handle), "cuMemsetD8Async");
  driver_->check(driver_->cuStreamSynchronize(stream_->handle), "cuStreamSynchronize");
  return memory;
}

void CudaBackend::prepare(const Kernel& kernel, const Signature& signature) {
  if (kernel.prepare != nullptr) kernel.prepare(signature, *stream_);
}

void CudaBackend::launch(const Launch& launch) {
  const Kernel& kernel = *launch.kernel;
  kernel.launch({*kernel.op, *launch.attributes, launch.in, launch.out, launch.workspace, *stream_});
}

// A function of the host in the stream: what follows waits for it.
void CudaBackend::pause(Seconds time) {
  const auto wait = [](void* data) {
    const std::unique_ptr<Seconds> length(static_cast<Seconds*>(data));
    std::this_thread::sleep_for(std::chrono::duration<double>(length->count()));
  };
  auto length = std::make_unique<Seconds>(time);
  const Status status = driver_->cuLaunchHostFunc(stream_->handle, wait, length.get());
  note_failure(status, "cuLaunchHostFunc");
  if (status == kSuccess) static_cast<void>(length.release());
}

void CudaBackend::mark(size_t index) {
  if (index >= marks_.size()) marks_.resize(index + 1);
  Mark& mark = marks_[index];
  if (mark.event == nullptr) mark.event = new_event();
  mark.pending = true;
  note_failure(driver_->cuEventRecord(mark.event, stream_->handle), "cuEventRecord");
}

Seconds CudaBackend::since_origin(EventHandle event) const {
  float milliseconds = 0;
  driver_->check(driver_->cuEventElapsedTime(&milliseconds, origin_, event), "cuEventElapsedTime");
  return Seconds{static_cast<double>(milliseconds) * 1e-3};
}

void CudaBackend::synchronize() {
  driver_->check(driver_->cuStreamSynchronize(stream_->handle), "waiting for the kernels");
  if (!failure_.empty()) throw Error(std::exchange(failure_, {}));
  for (Mark& mark : marks_) {
    if (!mark.pending) continue;
    mark.time = origin_time_ + since_origin(mark.event);
    mark.pending = false;
  }
}

Seconds CudaBackend::now() {
  driver_->check(driver_->cuEventRecord(next_origin_, stream_->handle), "cuEventRecord");
  synchronize();
  origin_time_ += since_origin(next_origin_);
  std::swap(origin_, next_origin_);
  return origin_time_;
}

void CudaBackend::write(std::byte* device, const std::byte* host, int64_t bytes) {
  make_current();
  driver_->check(driver_->cuStreamSynchronize(stream_->handle), "cuStreamSynchronize");
  driver_->check(driver_->cuMemcpyHtoD(address_of(device), host, static_cast<size_t>(bytes)), "copying to the GPU");
}

void CudaBackend::read(std::byte* host, const std::byte* device, int64_t bytes) {
  make_current();
  driver_->check(driver_->cuStreamSynchronize(stream_->handle), "cuStreamSynchronize");
  driver_->check(driver_->cuMemcpyDtoH(host, address_of(device), static_cast<size_t>(bytes)), "copying from the GPU");
}

}  // namespace laptime::cuda
