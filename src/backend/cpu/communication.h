// Communication: the thread that runs the communication launches of a CPU, concurrently with the team.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "backend/backend.h"
#include "backend/group.h"

namespace laptime::cpu {

// Launches run one at a time. All computation that was launched earlier is already done, because on a CPU, every launch
// that does not communicate blocks the caller until the kernel is done.
class Communication {
 public:
  explicit Communication(Group& group);
  ~Communication();
  Communication(const Communication&) = delete;
  Communication& operator=(const Communication&) = delete;

  void start(const Launch& launch);
  // Blocks until the first `count` launches since synchronize are done.
  void wait(size_t count);
  // Blocks until all launches are done, and resets the count.
  void synchronize();
  // See Backend::communication_times.
  const CommunicationTimes& times() const { return last_times_; }

 private:
  struct Job {
    const Kernel* kernel;
    Attributes attributes;
    std::vector<TensorView> in, out;
    std::byte* workspace;
  };

  void work();

  GroupQueue queue_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Job> jobs_;
  size_t started_ = 0;
  size_t done_ = 0;
  bool is_stopping_ = false;
  CommunicationTimes times_, last_times_;
  std::thread thread_;
};

}  // namespace laptime::cpu
