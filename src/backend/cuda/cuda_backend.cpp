// Implements memory, launches, marks and transfers through the driver interface.
#include "backend/cuda/cuda_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>

#include "backend/cuda/branches.h"
#include "backend/cuda/communication.h"
#include "base/error.h"

namespace laptime::cuda {
namespace {

DeviceAddress address_of(const std::byte* device) { return reinterpret_cast<DeviceAddress>(device); }

constexpr unsigned kNonBlockingStream = 1;  // CU_STREAM_NON_BLOCKING: does not wait for the default stream
constexpr unsigned kExternalEvent = 1;      // CU_EVENT_RECORD_EXTERNAL: each run of the graph records the event
constexpr int kRelaxedCapture = 2;          // CU_STREAM_CAPTURE_MODE_RELAXED: kernels may be loaded during the capture

}  // namespace

void CudaBackend::Held::add(int64_t bytes) {
  now += bytes;
  peak = std::max(peak, now);
}

class CudaBackend::Memory : public DeviceMemory {
 public:
  Memory(std::shared_ptr<const Driver> driver, std::shared_ptr<Held> held, DeviceAddress address, int64_t bytes)
      : driver_(std::move(driver)), held_(std::move(held)), address_(address), bytes_(bytes) {
    held_->add(bytes_);
  }
  ~Memory() override {
    driver_->cuMemFree(address_);
    held_->add(-bytes_);
  }
  std::byte* data() override { return std::bit_cast<std::byte*>(address_); }

 private:
  std::shared_ptr<const Driver> driver_;
  std::shared_ptr<Held> held_;
  DeviceAddress address_;
  int64_t bytes_;
};

// A memory pool of the driver for one stream. It keeps its memory until it is destroyed: returning memory to the device
// and requesting it again would wait for the device in every step.
class CudaBackend::Pool : public StepPool {
 public:
  explicit Pool(CudaBackend& owner) : owner_(owner) {
    const Driver& driver = *owner_.driver_;
    const PoolProperties properties{.device = owner_.card_.number};
    driver.check(driver.cuMemPoolCreate(&pool_, &properties), "cuMemPoolCreate");
    uint64_t keep_all = UINT64_MAX;
    driver.check(driver.cuMemPoolSetAttribute(pool_, kPoolReleaseThreshold, &keep_all), "cuMemPoolSetAttribute");
  }
  ~Pool() override {
    for (const auto& [address, bytes] : allocated_) owner_.driver_->cuMemFreeAsync(address, owner_.stream_->handle);
    owner_.driver_->cuStreamSynchronize(owner_.stream_->handle);
    owner_.held_->add(-now_);
    owner_.driver_->cuMemPoolDestroy(pool_);
  }

  std::byte* allocate(int64_t bytes) override {
    const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
    DeviceAddress address = 0;
    const Status status = owner_.driver_->cuMemAllocFromPoolAsync(&address, size, pool_, owner_.stream_->handle);
    owner_.check_allocation(status, size, "cuMemAllocFromPoolAsync");
    allocated_[address] = bytes;
    count(bytes);
    return std::bit_cast<std::byte*>(address);
  }
  void free(std::byte* address) override {
    const auto found = allocated_.find(address_of(address));
    LAPTIME_CHECK(found != allocated_.end(), "freed an address that this pool did not allocate");
    owner_.note_failure(owner_.driver_->cuMemFreeAsync(found->first, owner_.stream_->handle), "cuMemFreeAsync");
    count(-found->second);
    allocated_.erase(found);
  }
  int64_t peak_requested_bytes() const override { return peak_; }
  int64_t peak_reserved_bytes() const override {
    uint64_t bytes = 0;
    const Driver& driver = *owner_.driver_;
    driver.check(driver.cuMemPoolGetAttribute(pool_, kPoolReservedHigh, &bytes), "cuMemPoolGetAttribute");
    return static_cast<int64_t>(bytes);
  }

 private:
  void count(int64_t bytes) {
    now_ += bytes;
    peak_ = std::max(peak_, now_);
    owner_.held_->add(bytes);
  }

  CudaBackend& owner_;
  PoolHandle pool_ = nullptr;
  std::unordered_map<DeviceAddress, int64_t> allocated_;
  int64_t now_ = 0;
  int64_t peak_ = 0;
};

// A recorded step as a CUDA graph.
class CudaBackend::Graph : public Recording {
 public:
  explicit Graph(CudaBackend& owner) : owner_(owner) {}
  ~Graph() override {
    if (exec != nullptr) owner_.driver_->cuGraphExecDestroy(exec);
  }
  void run() override {
    owner_.pending_.insert(owner_.pending_.end(), marks.begin(), marks.end());
    if (owner_.communication_ != nullptr) owner_.communication_->exchange(communication);
    owner_.note_failure(owner_.driver_->cuGraphLaunch(exec, owner_.stream_->handle), "cuGraphLaunch");
  }

  GraphExecHandle exec = nullptr;
  std::vector<Mark*> marks;
  Communication::Enqueued communication;

 private:
  CudaBackend& owner_;
};

CudaLibraries find_libraries() { return {find_blas(), find_dnn()}; }

CudaBackend::Stream::Stream(CudaBackend& owner, CudaLibraries libraries, std::span<const std::byte> image)
    : owner_(owner), dnn_(std::move(libraries.dnn)) {
  const Driver& driver = *owner.driver_;
  handle = owner.new_stream();
  driver.check(driver.cuModuleLoadData(&module_, image.data()), "loading the kernels (cuModuleLoadData)");
  if (libraries.blas != nullptr) {
    workspace_ = owner.allocate_bytes(BlasProducts::kWorkspaceBytes);
    products_ = std::make_unique<BlasProducts>(std::move(libraries.blas));
  }
  target = own_target();
}

CudaBackend::Stream::~Stream() {
  attentions_.reset();
  products_.reset();
  if (workspace_ != 0) owner_.driver_->cuMemFree(workspace_);
  owner_.driver_->cuModuleUnload(module_);
  owner_.driver_->cuStreamDestroy(handle);
}

void CudaBackend::Stream::launch(const GridLaunch& launch) {
  FunctionHandle& kernel = functions_[launch.kernel];
  if (kernel == nullptr)
    owner_.note_failure(owner_.driver_->cuModuleGetFunction(&kernel, module_, launch.kernel), launch.kernel);
  if (kernel == nullptr) return;
  void* parameters[] = {const_cast<void*>(launch.args)};
  owner_.note_failure(owner_.driver_->cuLaunchKernel(kernel, static_cast<unsigned>(launch.blocks), 1, 1,
                                                     static_cast<unsigned>(launch.threads), 1, 1, 0, target.stream,
                                                     parameters, nullptr),
                      launch.kernel);
}

void CudaBackend::Stream::prepare(const BlasProduct& product) {
  LAPTIME_CHECK(products_ != nullptr, "cuBLASLt is missing");
  products_->prepare(product);
}

void CudaBackend::Stream::launch(const BlasProduct& product, const BlasOperands& operands) {
  owner_.note_failure(products_->run(product, operands, target));
}

void CudaBackend::Stream::prepare(const DnnAttention& attention) {
  LAPTIME_CHECK(dnn_ != nullptr, "cuDNN is missing");
  if (attentions_ == nullptr) attentions_ = std::make_unique<DnnAttentions>(dnn_);
  attentions_->prepare(attention);
}

void CudaBackend::Stream::launch(const DnnAttention& attention, const DnnAttentionOperands& operands) {
  owner_.note_failure(attentions_->run(attention, operands, target.stream));
}

CudaBackend::CudaBackend(std::shared_ptr<const Driver> driver, CudaLibraries libraries, const Card& card,
                         std::shared_ptr<const KernelTable> kernels, std::span<const std::byte> image,
                         CudaOptions options)
    : driver_(std::move(driver)),
      card_(card),
      kernels_(std::move(kernels)),
      sensors_(CardSensors::open(card.uuid)),
      options_(options) {
  driver_->check(driver_->cuDevicePrimaryCtxRetain(&context_, card_.number), "cuDevicePrimaryCtxRetain");
  make_current();
  stream_ = std::make_unique<Stream>(*this, std::move(libraries), image);
  origin_ = new_event();
  next_origin_ = new_event();
  driver_->check(driver_->cuEventRecord(origin_, stream_->handle), "cuEventRecord");
  driver_->check(driver_->cuStreamSynchronize(stream_->handle), "cuStreamSynchronize");
}

CudaBackend::~CudaBackend() {
  branches_.reset();
  communication_.reset();
  for (const Mark& mark : marks_) driver_->cuEventDestroy(mark.event);
  driver_->cuEventDestroy(origin_);
  driver_->cuEventDestroy(next_origin_);
  if (separator_ != 0) driver_->cuMemFree(separator_);
  stream_.reset();
  // The primary context is not released: memory may outlive the backend.
}

void CudaBackend::make_current() const { driver_->check(driver_->cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }

StreamHandle CudaBackend::new_stream() const {
  StreamHandle stream = nullptr;
  driver_->check(driver_->cuStreamCreate(&stream, kNonBlockingStream), "cuStreamCreate");
  return stream;
}

EventHandle CudaBackend::new_event() const {
  EventHandle event = nullptr;
  driver_->check(driver_->cuEventCreate(&event, 0), "cuEventCreate");
  return event;
}

void CudaBackend::record(EventHandle event, StreamHandle stream) {
  note_failure(driver_->cuEventRecord(event, stream), "cuEventRecord");
}

void CudaBackend::wait_for(EventHandle event, StreamHandle stream) {
  note_failure(driver_->cuStreamWaitEvent(stream, event, 0), "cuStreamWaitEvent");
}

void CudaBackend::record(Mark& mark, StreamHandle stream) {
  if (recording_ != nullptr) {
    recording_->marks.push_back(&mark);
    note_failure(driver_->cuEventRecordWithFlags(mark.event, stream, kExternalEvent), "cuEventRecordWithFlags");
  } else {
    pending_.push_back(&mark);
    record(mark.event, stream);
  }
}

void CudaBackend::note_failure(Status status, const char* what) {
  if (status == kSuccess) return;
  if (failure_.empty()) lacks_memory_ = status == kOutOfMemory;
  note_failure(driver_->failure(status, what));
}

void CudaBackend::note_failure(const std::string& failure) {
  if (failure_.empty()) failure_ = failure;
}

void CudaBackend::throw_failure() {
  if (failure_.empty()) return;
  const std::string failure = std::exchange(failure_, {});
  if (std::exchange(lacks_memory_, false)) throw OutOfMemory(kUnknownBytes, std::nullopt, failure);
  throw Error(failure);
}

DeviceAddress CudaBackend::allocate_bytes(size_t bytes) const {
  DeviceAddress address = 0;
  check_allocation(driver_->cuMemAlloc(&address, bytes), bytes, "cuMemAlloc");
  return address;
}

int64_t CudaBackend::free_bytes() const {
  size_t free = 0;
  size_t total = 0;
  driver_->check(driver_->cuMemGetInfo(&free, &total), "cuMemGetInfo");
  return static_cast<int64_t>(free);
}

void CudaBackend::check_allocation(Status status, size_t bytes, const char* what) const {
  if (status == kOutOfMemory) throw OutOfMemory(static_cast<int64_t>(bytes), free_bytes());
  driver_->check(status, what);
}

std::unique_ptr<StepPool> CudaBackend::step_pool() {
  return options_.pools_steps ? std::make_unique<Pool>(*this) : nullptr;
}

std::unique_ptr<DeviceMemory> CudaBackend::allocate(int64_t bytes, Contents contents) {
  LAPTIME_CHECK(bytes >= 0, "invalid size: {} bytes", bytes);
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
  const DeviceAddress address = allocate_bytes(size);
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
  if (launch.communicates) {
    LAPTIME_CHECK(communication_ != nullptr, "{} launched before join()", launch.kernel->op->name);
    return communication_->start(launch);
  }
  if (is_branching()) stream_->target = branches_->wait_for_operands(launch);
  const Kernel& kernel = *launch.kernel;
  kernel.launch({*kernel.op, *launch.attributes, launch.in, launch.out, launch.workspace, *stream_});
  if (!is_branching()) return;
  branches_->add();
  stream_->target = stream_->own_target();
}

void CudaBackend::join(Group& group) {
  std::shared_ptr<const Nccl> nccl = find_nccl();
  if (nccl == nullptr)
    throw Error("cuda: communication between ranks needs NCCL, but libnccl.so.2 cannot be loaded or is too old");
  LAPTIME_CHECK(branches_ == nullptr, "join() must come before the first recording");
  communication_ = std::make_unique<Communication>(*this, std::move(nccl), group);
}

void CudaBackend::wait_for_communication(size_t count) { communication_->wait(count); }

CommunicationTimes CudaBackend::communication_times() const {
  return communication_ == nullptr ? CommunicationTimes() : communication_->times();
}

// Enqueues a host callback that sleeps; later work in the stream waits for the callback.
void CudaBackend::pause(Seconds time) {
  const auto sleep = [](void* data) {
    std::this_thread::sleep_for(std::chrono::duration<double>(static_cast<const Seconds*>(data)->count()));
  };
  if (is_branching()) branches_->join();
  pauses_.push_back(std::make_unique<Seconds>(time));
  note_failure(driver_->cuLaunchHostFunc(stream_->handle, sleep, pauses_.back().get()), "cuLaunchHostFunc");
}

void CudaBackend::mark(size_t index) {
  // Also creates the events for all lower indices, so that their first use costs no more than later ones.
  while (marks_.size() <= index) marks_.push_back({new_event()});
  if (is_branching()) branches_->join();
  record(marks_[index], stream_->handle);
  if (is_watched_ && recording_ == nullptr)
    note_failure(driver_->cuMemsetD8Async(separator_, kSeparatorValue, kSeparatorBytes, stream_->handle),
                 "cuMemsetD8Async");
}

Activities CudaBackend::watch(const std::function<void()>& work) {
  try {
    if (separator_ == 0) separator_ = allocate_bytes(kSeparatorBytes);
  } catch (const OutOfMemory&) {
    // Without separators, the records do not say where a launch ends.
  }
  return watch_card([&](bool is_recorded) {
    is_watched_ = is_recorded && separator_ != 0;
    work();
    is_watched_ = false;
  });
}

std::unique_ptr<Recording> CudaBackend::record(const std::function<void()>& enqueue) {
  auto recording = std::make_unique<Graph>(*this);
  // Branches are not used with communication, which synchronizes with a single stream of kernels. They are not used
  // without records_steps either, because a recording then only shows how long an eager step takes without host delays.
  if (communication_ == nullptr && branches_ == nullptr && options_.records_steps)
    branches_ = std::make_unique<Branches>(*this);
  if (branches_ != nullptr) branches_->begin();
  driver_->check(driver_->cuStreamBeginCapture(stream_->handle, kRelaxedCapture), "cuStreamBeginCapture");
  recording_ = recording.get();
  std::exception_ptr thrown;
  try {
    enqueue();
    if (is_branching()) branches_->join();
  } catch (...) {
    thrown = std::current_exception();
    stream_->target = stream_->own_target();
  }
  recording_ = nullptr;
  if (communication_ != nullptr) recording->communication = communication_->exchange({});
  GraphHandle graph = nullptr;
  const Status ended = driver_->cuStreamEndCapture(stream_->handle, &graph);
  const Status made = ended == kSuccess ? driver_->cuGraphInstantiate(&recording->exec, graph, 0) : kSuccess;
  if (graph != nullptr) driver_->cuGraphDestroy(graph);
  if (thrown) std::rethrow_exception(thrown);
  throw_failure();
  driver_->check(ended, "cuStreamEndCapture");
  driver_->check(made, "cuGraphInstantiate");
  return recording;
}

Seconds CudaBackend::since_origin(EventHandle event) const {
  float milliseconds = 0;
  driver_->check(driver_->cuEventElapsedTime(&milliseconds, origin_, event), "cuEventElapsedTime");
  return Seconds{static_cast<double>(milliseconds) * 1e-3};
}

void CudaBackend::synchronize() {
  if (communication_ == nullptr) {
    driver_->check(driver_->cuStreamSynchronize(stream_->handle), "waiting for the kernels");
  } else {
    communication_->synchronize();
  }
  throw_failure();
  for (Mark* const mark : pending_) mark->time = origin_time_ + since_origin(mark->event);
  pending_.clear();
  if (communication_ != nullptr) communication_->take_times();
}

Seconds CudaBackend::now() {
  driver_->check(driver_->cuEventRecord(next_origin_, stream_->handle), "cuEventRecord");
  synchronize();
  origin_time_ += since_origin(next_origin_);
  std::swap(origin_, next_origin_);
  return origin_time_;
}

std::optional<Sensors> CudaBackend::sensors() {
  return sensors_ == nullptr ? std::nullopt : std::optional<Sensors>(sensors_->read());
}

// Copies run in the kernels' stream. cuMemcpyHtoD would copy in the default stream, which the kernels' stream does not
// wait for, and could return before the bytes have arrived in device memory.
void CudaBackend::write(std::byte* device, const std::byte* host, int64_t bytes) {
  make_current();
  driver_->check(driver_->cuMemcpyHtoDAsync(address_of(device), host, static_cast<size_t>(bytes), stream_->handle),
                 "copying to the GPU");
  driver_->check(driver_->cuStreamSynchronize(stream_->handle), "cuStreamSynchronize");
}

void CudaBackend::read(std::byte* host, const std::byte* device, int64_t bytes) {
  make_current();
  driver_->check(driver_->cuMemcpyDtoHAsync(host, address_of(device), static_cast<size_t>(bytes), stream_->handle),
                 "copying from the GPU");
  driver_->check(driver_->cuStreamSynchronize(stream_->handle), "cuStreamSynchronize");
}

}  // namespace laptime::cuda
