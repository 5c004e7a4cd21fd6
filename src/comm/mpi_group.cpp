// Exchanges messages through MPI, and monitors the previous rank.
#include "comm/mpi_group.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "base/host_clock.h"

namespace laptime {
namespace {

constexpr int kDataTag = 0;
constexpr int kLifeTag = 1;
constexpr Seconds kHeartbeatEvery{0.5};
constexpr Seconds kCheckEvery{0.25};
constexpr int64_t kLargestMessage = int64_t{1} << 30;  // bytes; MPI takes counts as int

}  // namespace

MpiGroup::MpiGroup(const MpiLibrary& mpi, std::function<void(const std::string&)> lost)
    : mpi_(mpi), lost_(std::move(lost)), sending_(mpi.request_null), receiving_(mpi.request_null) {
  int provided = 0;
  mpi_.init_thread(nullptr, nullptr, kMpiThreadSerialized, &provided);
  if (provided < kMpiThreadSerialized)
    throw Error("this MPI library allows calls from one thread only; use Open MPI 4 or 5");
  mpi_.comm_rank(mpi_.comm_world, &rank_);
  mpi_.comm_size(mpi_.comm_world, &size_);
  if (size_ == 1) return;
  checked_ = host_now();
  receive_heartbeat();
  monitor_ = std::jthread([this](const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (!stop.stop_requested()) {
      check_heartbeats(host_now());
      ended_.wait_for(lock, stop, std::chrono::duration<double>(kCheckEvery.count()), [] { return false; });
    }
  });
}

MpiGroup::~MpiGroup() {
  if (size_ > 1) {
    monitor_.request_stop();
    monitor_.join();
    mpi_.cancel(&receiving_);
    mpi_.wait(&receiving_, nullptr);
    mpi_.wait(&sending_, nullptr);
  }
  mpi_.finalize();
}

void MpiGroup::receive_heartbeat() {
  mpi_.irecv(&received_byte_, 1, mpi_.byte, (rank_ + size_ - 1) % size_, kLifeTag, mpi_.comm_world, &receiving_);
}

void MpiGroup::check_heartbeats(Seconds now) {
  // Counts at most 2 * kCheckEvery: a longer gap means that this process and probably all other ranks were suspended.
  silent_ += std::min(now - checked_, 2 * kCheckEvery);
  checked_ = now;
  int is_done = 0;
  for (mpi_.test(&receiving_, &is_done, nullptr); is_done != 0; mpi_.test(&receiving_, &is_done, nullptr)) {
    silent_ = Seconds();
    receive_heartbeat();
  }
  mpi_.test(&sending_, &is_done, nullptr);
  if (is_done != 0 && now - sent_ >= kHeartbeatEvery) {
    sent_ = now;
    mpi_.isend(&sent_byte_, 1, mpi_.byte, (rank_ + 1) % size_, kLifeTag, mpi_.comm_world, &sending_);
  }
  if (silent_ < kSilence) return;
  lost_(fmt::format("rank {} of {} has been silent for {:.0f} s: its process hangs, or its machine is down",
                    (rank_ + size_ - 1) % size_, size_, kSilence.count()));
  abort();
}

void MpiGroup::exchange(std::span<const Message> outgoing, std::span<const Message> incoming) {
  const std::lock_guard lock(mutex_);
  requests_.clear();
  const auto each_piece = [&](const Message& message, const auto& start) {
    for (int64_t at = 0; at < message.bytes; at += kLargestMessage) {
      start(message.data + at, static_cast<int>(std::min(kLargestMessage, message.bytes - at)),
            &requests_.emplace_back(mpi_.request_null));
    }
  };
  for (const Message& message : incoming) {
    each_piece(message, [&](std::byte* data, int bytes, MpiLibrary::Request* request) {
      mpi_.irecv(data, bytes, mpi_.byte, message.peer, kDataTag, mpi_.comm_world, request);
    });
  }
  for (const Message& message : outgoing) {
    each_piece(message, [&](std::byte* data, int bytes, MpiLibrary::Request* request) {
      mpi_.isend(data, bytes, mpi_.byte, message.peer, kDataTag, mpi_.comm_world, request);
    });
  }
  // Polls without a pause at first, then yields the core to computing threads between polls, and finally sleeps.
  constexpr int64_t kOftenPolls = 200;
  constexpr int64_t kYieldPolls = 4000;
  constexpr int64_t kPollsPerCheck = 64;
  int are_done = 0;
  for (int64_t polls = 1;; ++polls) {
    mpi_.testall(static_cast<int>(requests_.size()), requests_.data(), &are_done, nullptr);
    if (are_done != 0) return;
    if (polls % kPollsPerCheck == 0) check_heartbeats(host_now());
    if (polls > kYieldPolls) {
      usleep(50);
    } else if (polls > kOftenPolls) {
      sched_yield();
    }
  }
}

}  // namespace laptime
