// Orders the communication stream and the kernels' stream by events.
#include "backend/cuda/communication.h"

#include <utility>

#include "base/error.h"

namespace laptime::cuda {

CudaBackend::Communication::Communication(CudaBackend& owner, std::shared_ptr<const Nccl> nccl, Group& group)
    : owner_(owner),
      communicator_(std::make_unique<Communicator>(std::move(nccl), group)),
      stream_(owner.new_stream()),
      ready_(owner.new_event()) {}

CudaBackend::Communication::~Communication() {
  communicator_.reset();
  for (const std::deque<Interval>* const intervals : {&launches_, &waits_}) {
    for (const Interval& interval : *intervals) {
      owner_.driver_->cuEventDestroy(interval.begin.event);
      owner_.driver_->cuEventDestroy(interval.end.event);
    }
  }
  for (const EventHandle event : done_) owner_.driver_->cuEventDestroy(event);
  owner_.driver_->cuEventDestroy(ready_);
  owner_.driver_->cuStreamDestroy(stream_);
}

void CudaBackend::Communication::start(const Launch& launch) {
  const size_t number = enqueued_.launches++;
  if (number == launches_.size()) {
    launches_.push_back({{owner_.new_event()}, {owner_.new_event()}});
    done_.push_back(owner_.new_event());
  }
  owner_.record(ready_, owner_.stream_->handle);
  owner_.wait_for(ready_, stream_);
  owner_.record(launches_[number].begin, stream_);
  const Kernel& kernel = *launch.kernel;
  kernel.launch({*kernel.op, *launch.attributes, launch.in, launch.out, launch.workspace, *this});
  owner_.record(launches_[number].end, stream_);
  owner_.record(done_[number], stream_);
}

void CudaBackend::Communication::launch(Collective collective, std::span<const TensorView> in,
                                        std::span<const TensorView> out) {
  owner_.note_failure(communicator_->launch(collective, in, out, stream_));
}

void CudaBackend::Communication::wait(size_t count) {
  LAPTIME_CHECK(count > 0 && count <= enqueued_.launches, "cannot wait for {} of {} launches", count,
                enqueued_.launches);
  const size_t number = enqueued_.waits++;
  if (number == waits_.size()) waits_.push_back({{owner_.new_event()}, {owner_.new_event()}});
  const StreamHandle kernels = owner_.stream_->handle;
  owner_.record(waits_[number].begin, kernels);
  owner_.wait_for(done_[count - 1], kernels);
  owner_.record(waits_[number].end, kernels);
}

void CudaBackend::Communication::synchronize() {
  for (const StreamHandle stream : {owner_.stream_->handle, stream_}) {
    Status status = kSuccess;
    while ((status = owner_.driver_->cuStreamQuery(stream)) == kNotReady) {
      if (const std::string failure = communicator_->failure(); !failure.empty()) throw Error(failure);
    }
    owner_.driver_->check(status, "waiting for the kernels");
  }
}

void CudaBackend::Communication::take_times() {
  const Enqueued enqueued = exchange({});
  if (enqueued.launches == 0) return;
  times_ = {};
  for (size_t i = 0; i < enqueued.launches; ++i)
    times_.launches.push_back({launches_[i].begin.time, launches_[i].end.time});
  for (size_t i = 0; i < enqueued.waits; ++i) times_.waited += waits_[i].end.time - waits_[i].begin.time;
}

}  // namespace laptime::cuda
