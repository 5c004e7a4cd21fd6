// Group: the interface through which ranks, and their communication kernels on CPUs, exchange messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/kernel.h"

namespace laptime {

// Bytes to send to, or to receive from, another rank.
struct Message {
  int peer = 0;
  std::byte* data = nullptr;
  int64_t bytes = 0;
};

class Group {
 public:
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;
  virtual ~Group() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Sends all outgoing and receives all incoming messages of this rank, and then returns. Messages between two ranks
  // arrive in the order in which they were sent, and each must have the size that its receiver expects. Every rank must
  // make the same calls in the same order, from one thread at a time. If a rank exits early or stops responding, the
  // runs of all other ranks end.
  virtual void exchange(std::span<const Message> outgoing, std::span<const Message> incoming) = 0;
};

// The queue in which a device runs kernels that exchange messages, concurrently with its other kernels.
class GroupQueue : public Queue {
 public:
  explicit GroupQueue(Group& group) : group_(group) {}

  Group& group() { return group_; }
  // Message lists that each launch fills; they are reused to avoid allocation.
  std::vector<Message> outgoing, incoming;

  void exchange() { group_.exchange(outgoing, incoming); }
  void clear() {
    outgoing.clear();
    incoming.clear();
  }

 private:
  Group& group_;
};

// The queue in which a communication kernel was launched.
inline GroupQueue& group_queue_of(const KernelCall& call) { return static_cast<GroupQueue&>(call.queue); }

}  // namespace laptime
