// Communication: the stream in which the collectives of a CudaBackend run, and the times of the collectives.
#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/group_queue.h"
#include "backend/cuda/libraries/nccl.h"

namespace laptime::cuda {

// Events order this stream relative to the kernels' stream. A CUDA graph captures both streams.
class CudaBackend::Communication : public GroupQueue {
 public:
  Communication(CudaBackend& owner, std::shared_ptr<const Nccl> nccl, Group& group);
  ~Communication() override;

  // The launch begins only after all kernels and launches enqueued before it are done.
  void start(const Launch& launch);
  void launch(Collective collective, std::span<const TensorView> in, std::span<const TensorView> out) override;
  // Kernels enqueued later begin only after the first `count` launches since the last synchronization are done.
  void wait(size_t count);
  // Waits until both streams are empty. Throws Error if NCCL has met an error.
  void synchronize();

  // Counts of launches, and of waits for launches, since the last synchronization.
  struct Enqueued {
    size_t launches = 0;
    size_t waits = 0;
  };
  // Replaces the counts and returns the old ones. For recordings: recording a step enqueues nothing, and each run of
  // the recording enqueues everything that was recorded.
  Enqueued exchange(Enqueued enqueued) { return std::exchange(enqueued_, enqueued); }
  // Makes times() return the times of the launches since the last synchronization. The times of the marks must be
  // known.
  void take_times();
  const CommunicationTimes& times() const { return times_; }

 private:
  struct Interval {
    Mark begin, end;
  };

  CudaBackend& owner_;
  std::unique_ptr<Communicator> communicator_;
  StreamHandle stream_ = nullptr;
  // Events that order the streams. Marks cannot do so: in a CUDA graph they are external events, which add no
  // dependencies. `ready_` is recorded after the kernels that precede a launch, and done_[i] after launch i.
  EventHandle ready_ = nullptr;
  std::vector<EventHandle> done_;
  std::deque<Interval> launches_, waits_;  // reused; in deques, because marks must keep their addresses
  Enqueued enqueued_;
  CommunicationTimes times_;
};

}  // namespace laptime::cuda
