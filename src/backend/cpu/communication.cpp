// Passes launches to the communication thread, and waits for them.
#include "backend/cpu/communication.h"

#include <utility>

#include "base/host_clock.h"

namespace laptime::cpu {

Communication::Communication(Group& group) : queue_(group), thread_([this] { work(); }) {}

Communication::~Communication() {
  {
    const std::lock_guard lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Communication::start(const Launch& launch) {
  Job job{launch.kernel,
          *launch.attributes,
          {launch.in.begin(), launch.in.end()},
          {launch.out.begin(), launch.out.end()},
          launch.workspace};
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
    ++started_;
  }
  changed_.notify_all();
}

void Communication::wait(size_t count) {
  const Seconds begin = host_now();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ >= count; });
  times_.waited += host_now() - begin;
}

void Communication::synchronize() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return done_ == started_; });
  if (started_ == 0) return;
  started_ = done_ = 0;
  last_times_ = std::exchange(times_, {});
}

void Communication::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return is_stopping_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    CommunicationTime time{host_now(), {}};
    job.kernel->launch({*job.kernel->op, job.attributes, job.in, job.out, job.workspace, queue_});
    time.end = host_now();
    lock.lock();
    times_.launches.push_back(time);
    ++done_;
    changed_.notify_all();
  }
}

}  // namespace laptime::cpu
