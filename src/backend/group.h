// Group: the ranks of a run, as what a kernel of communication needs of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/kernel.h"

namespace laptime {

// Bytes that go to, or come from, another rank.
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

  // Sends and receives all messages, and returns when this rank's are done. Messages between two ranks arrive in the
  // order in which they were sent, and each has the size that its receiver expects. Every rank makes the same calls in
  // the same order, from one thread at a time. A rank that does not take part ends the run of every other rank.
  virtual void exchange(std::span<const Message> outgoing, std::span<const Message> incoming) = 0;

  // Bytes that this rank has sent in `exchange` so far.
  virtual int64_t sent_bytes() const = 0;
};

// The queue in which a device runs communication beside its other kernels.
class GroupQueue : public Queue {
 public:
  explicit GroupQueue(Group& group) : group_(group) {}

  Group& group() { return group_; }
  // Lists that a launch fills and that keep their memory.
  std::vector<Message> outgoing, incoming;

  void exchange() { group_.exchange(outgoing, incoming); }
  void clear() {
    outgoing.clear();
    incoming.clear();
  }

 private:
  Group& group_;
};

// The group of a communication kernel's call.
inline GroupQueue& group_queue_of(const KernelCall& call) { return static_cast<GroupQueue&>(call.queue); }

}  // namespace laptime
