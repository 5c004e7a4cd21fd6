// LocalGroup: ranks that are threads of one process, for tests of communication.
#pragma once

#include <barrier>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "backend/group.h"
#include "base/error.h"

namespace laptime::test {

class LocalGroup : public Group {
 public:
  // State that all ranks share.
  struct Meeting {
    explicit Meeting(int size) : barrier(size), outgoing(static_cast<size_t>(size)) {}
    std::barrier<> barrier;
    std::vector<std::span<const Message>> outgoing;  // messages of the current exchange, by sender
  };

  LocalGroup(Meeting& meeting, int rank) : meeting_(meeting), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return static_cast<int>(meeting_.outgoing.size()); }
  int64_t sent_bytes() const { return sent_bytes_; }  // in `exchange` so far

  void exchange(std::span<const Message> outgoing, std::span<const Message> incoming) override {
    meeting_.outgoing[static_cast<size_t>(rank_)] = outgoing;
    for (const Message& message : outgoing) sent_bytes_ += message.bytes;
    meeting_.barrier.arrive_and_wait();
    std::vector<size_t> next(meeting_.outgoing.size());  // index of the next unread message of each peer
    for (const Message& message : incoming) {
      const auto peer = static_cast<size_t>(message.peer);
      const std::span<const Message> sent = meeting_.outgoing[peer];
      size_t& at = next[peer];
      while (at < sent.size() && sent[at].peer != rank_) ++at;
      LAPTIME_CHECK(at < sent.size() && sent[at].bytes == message.bytes, "rank {} waits for {} bytes of rank {}", rank_,
                    message.bytes, peer);
      std::memcpy(message.data, sent[at++].data, static_cast<size_t>(message.bytes));
    }
    meeting_.barrier.arrive_and_wait();
  }

 private:
  Meeting& meeting_;
  int rank_;
  int64_t sent_bytes_ = 0;
};

// Runs body(group) on a thread for each rank.
inline void run_ranks(int ranks, const std::function<void(LocalGroup&)>& body) {
  LocalGroup::Meeting meeting(ranks);
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] {
      LocalGroup group(meeting, rank);
      body(group);
    });
  }
}

}  // namespace laptime::test
