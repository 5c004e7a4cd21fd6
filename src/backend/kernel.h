// Kernel: one implementation of an op on one backend.
#pragma once

#include <cstddef>
#include <span>
#include <string>
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

// Kernels never allocate, log, throw or read a clock.
struct Kernel {
  const OpCard* op = nullptr;
  std::string name;  // "rows_avx512"
  // Empty when the kernel can run this node, else the reason it refuses.
  std::string (*supports)(const Signature&) = nullptr;
  // Bytes of scratch; null: none. Must not depend on the number of threads, so that a plan fits any.
  int64_t (*workspace)(const Signature&) = nullptr;
  void (*launch)(const KernelCall&) = nullptr;

  std::string refusal(const Signature& signature) const {
    return supports == nullptr ? std::string() : supports(signature);
  }
  int64_t workspace_bytes(const Signature& signature) const { return workspace == nullptr ? 0 : workspace(signature); }
};

// The card's reference as the last kernel of its list: slow, always right, one thread.
Kernel reference_kernel(const OpCard& op);
inline constexpr const char* kReferenceName = "reference";

}  // namespace laptime
