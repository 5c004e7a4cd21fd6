// DnnAttentions: runs attention with cuDNN. Each shape is prepared before it runs.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "backend/cuda/libraries/dnn_graph.h"
#include "tensor/dtype.h"

namespace laptime::cuda {

// Attention over q [batch, heads, positions, width] and k and v [batch, kv_heads, positions, width], or its gradient.
// Query head i uses key and value head floor(i kv_heads / heads). All tensors except log_sum_exp have the same 16-bit
// type, are aligned to 16 bytes, and have contiguous rows.
struct DnnAttention {
  using Strides = std::array<int64_t, 3>;  // strides of batch, head and position, in elements

  int64_t batch = 1, heads = 1;
  int64_t kv_heads = 1;  // equal to heads in backward
  int64_t positions = 1, width = 1;
  DType dtype = DType::kBFloat16;
  bool causal = true;
  bool backward = false;
  Strides q{}, k{}, v{}, values{};
  Strides grad_values{}, grad_q{}, grad_k{}, grad_v{};  // used only in backward

  friend auto operator<=>(const DnnAttention&, const DnnAttention&) = default;
};

// Addresses on the device.
struct DnnAttentionOperands {
  void* q = nullptr;
  void* k = nullptr;
  void* v = nullptr;
  void* values = nullptr;
  void* log_sum_exp = nullptr;  // float32 [batch, heads, positions, 1], contiguous
  void* grad_values = nullptr;
  void* grad_q = nullptr;
  void* grad_k = nullptr;
  void* grad_v = nullptr;
  std::byte* workspace = nullptr;  // workspace_of() bytes
};

// Bytes of workspace to provide for a call: enough for any plan that plan_of() may return, and for the row sums of
// backward.
int64_t workspace_of(const DnnAttention& attention);

// Returns the plan for a device. Throws Error if the library has no plan that adds in a fixed order within the
// workspace.
std::unique_ptr<DnnPlan> plan_of(const DnnAttention& attention, const std::shared_ptr<const Dnn>& dnn,
                                 const DnnTarget& target);

class DnnAttentions {
 public:
  // A CUDA context must be current. Throws Error if the library cannot start.
  explicit DnnAttentions(std::shared_ptr<const Dnn> dnn);
  DnnAttentions(const DnnAttentions&) = delete;
  DnnAttentions& operator=(const DnnAttentions&) = delete;
  ~DnnAttentions();

  // Creates the plan for this attention if there is none yet. Throws Error like plan_of().
  void prepare(const DnnAttention& attention);
  // Enqueues a prepared call. Returns the error; empty if there is none.
  std::string run(const DnnAttention& attention, const DnnAttentionOperands& operands, StreamHandle stream);

 private:
  std::shared_ptr<const Dnn> dnn_;
  DnnHandle handle_ = nullptr;
  StreamHandle stream_ = nullptr;  // the stream that handle_ uses
  std::map<DnnAttention, std::unique_ptr<DnnPlan>> plans_;
};

}  // namespace laptime::cuda
