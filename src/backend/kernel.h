// Kernel: one implementation of an op on one backend.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/op.h"

namespace laptime {

// Where a launch runs: each backend derives its own (threads, a stream).
class Queue {
 public:
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  virtual ~Queue() = default;
};

// Operands of a launch. Outputs are never initialised; an optional output nobody reads has null data.
struct KernelCall {
  const OpCard& op;
  const Attributes& attributes;
  std::span<const TensorView> in;
  std::span<const TensorView> out;
  std::byte* workspace = nullptr;  // as many bytes as `workspace` asked for, aligned to 64
  Queue& queue;
};

// A launch never allocates, logs, throws or reads a clock.
struct Kernel {
  const OpCard* op = nullptr;
  std::string name;  // "rows_avx512"
  // Empty when the kernel can run this node, else the reason it refuses.
  std::string (*supports)(const Signature&) = nullptr;
  // Bytes of scratch; null: none. Must not depend on the number of threads, so that a plan fits any.
  int64_t (*workspace)(const Signature&) = nullptr;
  // Makes what launches of this signature look up in the queue, such as a library's primitives; null: nothing. Runs
  // before the first launch, and does nothing when it runs again; may allocate and throw.
  void (*prepare)(const Signature&, Queue&) = nullptr;
  void (*launch)(const KernelCall&) = nullptr;

  std::string refusal(const Signature& signature) const {
    return supports == nullptr ? std::string() : supports(signature);
  }
  int64_t workspace_bytes(const Signature& signature) const { return workspace == nullptr ? 0 : workspace(signature); }
};

// The kernels of one kind of device by op. It can be asked without a device.
class KernelTable {
 public:
  // Kernels of one op keep their order, that of preference; they need not stand together.
  explicit KernelTable(std::vector<Kernel> kernels);

  // The reference, where there is one, last; empty for an op that the device cannot run.
  std::span<const Kernel> of(const OpCard& op) const;
  // Each op that has a kernel, in the order of the first ones.
  const std::vector<const OpCard*>& ops() const { return ops_; }

 private:
  std::unordered_map<const OpCard*, std::vector<Kernel>> kernels_;
  std::vector<const OpCard*> ops_;
};

// The card's reference as the last kernel of its list: slow, always right, one thread.
Kernel reference_kernel(const OpCard& op);
inline constexpr const char* kReferenceName = "reference";

}  // namespace laptime
