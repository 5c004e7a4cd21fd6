// CudaBackend: runs plans on an NVIDIA GPU.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/driver.h"
#include "backend/cuda/libraries/blas.h"
#include "backend/cuda/libraries/cupti.h"
#include "backend/cuda/libraries/dnn.h"
#include "backend/cuda/libraries/nvml.h"
#include "backend/cuda/libraries/nvtx.h"
#include "backend/cuda/queue.h"

namespace laptime::cuda {

struct CudaOptions {
  bool records_steps = false;  // steps run as CUDA graphs
  bool pools_steps = false;    // step_pool() creates pools; the card must support them
  bool tf32 = false;           // the limit of float32 products is measured with TF32, as in the step
};

// The libraries that kernels use. A library may be null if no kernel of the table uses it.
struct CudaLibraries {
  std::shared_ptr<const Blas> blas;
  std::shared_ptr<const Dnn> dnn;
};

// Loads the libraries that are installed; the pointers to all others are null.
CudaLibraries find_libraries();

class CudaBackend : public Backend {
 public:
  // `image` contains the compiled kernels of the table (fatbin). Throws Error if the card cannot load them.
  CudaBackend(std::shared_ptr<const Driver> driver, CudaLibraries libraries, const Card& card,
              std::shared_ptr<const KernelTable> kernels, std::span<const std::byte> image, CudaOptions options = {});
  ~CudaBackend() override;

  std::string name() const override { return "cuda"; }
  bool computes() const override { return true; }
  const KernelTable& kernel_table() const override { return *kernels_; }
  std::unique_ptr<DeviceMemory> allocate(int64_t bytes, Contents contents = Contents::kZeros) override;
  std::unique_ptr<StepPool> step_pool() override;
  int64_t peak_held_bytes() const override { return held_->peak; }
  void reset_peak_held_bytes() override { held_->peak = held_->now; }
  void prepare(const Kernel& kernel, const Signature& signature) override;
  void launch(const Launch& launch) override;
  void join(Group& group) override;  // throws Error without NCCL, or if it cannot connect the ranks
  void wait_for_communication(size_t count) override;
  CommunicationTimes communication_times() const override;
  void pause(Seconds time) override;
  void mark(size_t index) override;
  bool records_steps() const override { return options_.records_steps; }
  std::unique_ptr<Recording> record(const std::function<void()>& enqueue) override;
  void synchronize() override;  // throws Error or OutOfMemory if a launch has failed since the last call
  Seconds time_of_mark(size_t index) const override { return marks_.at(index).time; }
  bool has_own_clock() const override { return true; }
  Seconds now() override;
  std::optional<Sensors> sensors() override;
  Activities watch(const std::function<void()>& work) override;
  bool names_ranges() const override { return names_ranges_; }
  void begin_range(const char* name) override { begin_nvtx_range(name); }
  void end_range() override { end_nvtx_range(); }
  std::vector<DeviceLimit> limits(DType factors) override;
  void write(std::byte* device, const std::byte* host, int64_t bytes) override;
  void read(std::byte* host, const std::byte* device, int64_t bytes) override;

 private:
  // Launches into the stream. An error is stored for synchronize(), because launches do not throw.
  class Stream : public Queue {
   public:
    Stream(CudaBackend& owner, CudaLibraries libraries, std::span<const std::byte> image);
    ~Stream() override;
    void launch(const GridLaunch& launch) override;
    void prepare(const BlasProduct& product) override;
    void launch(const BlasProduct& product, const BlasOperands& operands) override;
    void prepare(const DnnAttention& attention) override;
    void launch(const DnnAttention& attention, const DnnAttentionOperands& operands) override;
    bool has_products() const { return products_ != nullptr; }

    StreamHandle handle = nullptr;
    LaunchTarget own_target() const { return {handle, workspace_}; }
    LaunchTarget target;  // where launches go: this stream, or a branch of a recording

   private:
    CudaBackend& owner_;
    ModuleHandle module_ = nullptr;
    std::unordered_map<std::string_view, FunctionHandle> functions_;  // keyed by name; added at the first launch
    std::unique_ptr<BlasProducts> products_;                          // null if the library is missing
    DeviceAddress workspace_ = 0;  // for products in this stream; not counted as held memory
    std::shared_ptr<const Dnn> dnn_;
    std::unique_ptr<DnnAttentions> attentions_;  // created on first use, because it takes time and memory to start
  };
  struct Mark {
    EventHandle event = nullptr;
    Seconds time{};
  };
  struct Held {  // bytes; shared with DeviceMemory objects, which may outlive the backend
    int64_t now = 0;
    int64_t peak = 0;
    void add(int64_t bytes);
  };
  class Memory;
  class Pool;
  class Graph;
  class Communication;
  class Branches;

  void make_current() const;
  int64_t free_bytes() const;                                                  // of the GPU's memory
  DeviceAddress allocate_bytes(size_t bytes) const;                            // throws OutOfMemory
  void check_allocation(Status status, size_t bytes, const char* what) const;  // throws OutOfMemory, Error
  StreamHandle new_stream() const;
  EventHandle new_event() const;
  bool is_branching() const { return recording_ != nullptr && branches_ != nullptr; }
  void record(EventHandle event, StreamHandle stream);  // records an event for wait_for()
  void wait_for(EventHandle event, StreamHandle stream);
  void record(Mark& mark, StreamHandle stream);  // synchronize() sets the mark's time
  Seconds since_origin(EventHandle event) const;
  // The highest FLOP/s of square matrix products in cuBLASLt, and the highest bytes/s (read plus written) of a copy.
  double measure_products(DType factors);
  double measure_copies();
  // Runs `enqueue` many times and returns the shortest time.
  Seconds shortest_run(const std::function<void()>& enqueue);
  void note_failure(Status status, const char* what);
  void note_failure(const std::string& failure);
  void throw_failure();  // throws the first noted failure, if any, as Error or OutOfMemory

  std::shared_ptr<const Driver> driver_;
  Card card_;
  ContextHandle context_ = nullptr;
  std::shared_ptr<const KernelTable> kernels_;
  std::shared_ptr<Held> held_ = std::make_shared<Held>();
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<CardSensors> sensors_;  // null if NVML is missing
  CudaOptions options_;
  bool names_ranges_ = nvtx_is_heard();
  DeviceAddress separator_ = 0;  // the byte that separators fill (see cupti.h); 0 before the first watch()
  bool is_watched_ = false;
  Graph* recording_ = nullptr;                    // the graph that the stream records into; null if the stream executes
  std::unique_ptr<Communication> communication_;  // null before join()
  std::unique_ptr<Branches> branches_;            // null until record() uses branches
  std::deque<Mark> marks_;                        // in a deque, because marks must keep their addresses
  std::vector<Mark*> pending_;                    // the marks recorded since the last synchronize()
  // Times of events are float32 milliseconds since the origin event. The origin, at `origin_time_` on the device's
  // clock, is moved forward to keep these times precise.
  EventHandle origin_ = nullptr, next_origin_ = nullptr;
  Seconds origin_time_{};
  std::vector<std::unique_ptr<Seconds>> pauses_;  // durations of pauses; a recording reads them on each run
  std::string failure_;                           // the first error of a launch since the last synchronize()
  bool lacks_memory_ = false;                     // true if that error is a lack of memory
};

}  // namespace laptime::cuda
