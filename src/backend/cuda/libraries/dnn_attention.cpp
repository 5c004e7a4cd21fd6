// Builds attention as cuDNN graphs in the form of the composite nodes of NVIDIA's cudnn-frontend
// (scaled_dot_product_flash_attention.h). The library recognises this form and runs it as one or a few kernels.
#include "backend/cuda/libraries/dnn_attention.h"

#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "backend/workspace.h"
#include "base/error.h"

namespace laptime::cuda {
namespace {

using Tensor = DnnGraph::Tensor;

int element_type(const DnnAttention& attention) {
  return attention.dtype == DType::kBFloat16 ? dnn::kBFloat16 : dnn::kHalf;
}

// Adds an operand [batch, heads, positions, width].
Tensor rows(DnnGraph& graph, const DnnAttention& attention, int64_t heads, const DnnAttention::Strides& strides) {
  return graph.operand(element_type(attention), {attention.batch, heads, attention.positions, attention.width},
                       {strides[0], strides[1], strides[2], 1});
}

// Adds an operand that is read as its transpose, [batch, kv_heads, width, positions].
Tensor columns(DnnGraph& graph, const DnnAttention& attention, const DnnAttention::Strides& strides) {
  return graph.operand(element_type(attention),
                       {attention.batch, attention.kv_heads, attention.width, attention.positions},
                       {strides[0], strides[1], 1, strides[2]});
}

// Adds an operand with one float32 number per row, [batch, heads, positions, 1].
Tensor row_numbers(DnnGraph& graph, const DnnAttention& attention) {
  return graph.operand(dnn::kFloat, {attention.batch, attention.heads, attention.positions, 1},
                       {attention.heads * attention.positions, attention.positions, 1, 1});
}

Tensor scale_of(DnnGraph& graph, const DnnAttention& attention) {
  return graph.number(static_cast<float>(1 / std::sqrt(static_cast<double>(attention.width))));
}

// Replaces the scores that the causal mask hides with -inf.
Tensor masked(DnnGraph& graph, const DnnAttention& attention, Tensor scores) {
  if (!attention.causal) return scores;
  const Tensor row = graph.index(scores, 2);
  const Tensor column = graph.index(scores, 3);
  const Tensor visible = graph.greater_or_equal(row, column);
  return graph.select(scores, graph.number(-std::numeric_limits<float>::infinity()), visible);
}

// Builds the graph of forward. Its operands, in order: q, k, v, values, log_sum_exp.
DnnGraph forward_graph(const DnnAttention& attention) {
  DnnGraph graph;
  const Tensor q = rows(graph, attention, attention.heads, attention.q);
  const Tensor k = columns(graph, attention, attention.k);
  const Tensor v = rows(graph, attention, attention.kv_heads, attention.v);
  const Tensor values = rows(graph, attention, attention.heads, attention.values);
  const Tensor log_sum_exp = row_numbers(graph, attention);

  const Tensor product = graph.matmul(q, k);
  const Tensor scores = graph.pointwise(dnn::kMul, product, scale_of(graph, attention));
  const Tensor seen = masked(graph, attention, scores);
  const Tensor row_max = graph.reduce(dnn::kReduceMax, seen);
  const Tensor exponentials = graph.pointwise(dnn::kExp, graph.pointwise(dnn::kSub, seen, row_max));
  const Tensor row_sum = graph.reduce(dnn::kReduceAdd, exponentials);
  graph.store(graph.pointwise(dnn::kAdd, row_max, graph.pointwise(dnn::kLog, row_sum)), log_sum_exp);
  const Tensor weights = graph.rounded(graph.pointwise(dnn::kDiv, exponentials, row_sum), element_type(attention));
  graph.store(graph.matmul(weights, v), values);
  return graph;
}

// Builds the graph of backward, with the formulas of scaled_dot_product_attention.cpp. Operands: q, k, v, values,
// log_sum_exp, grad_values, grad_q, grad_k, grad_v, and the row sums of grad_values times values, in float32. To fix
// the order of additions, one product computes grad_q, instead of partial products that are added in memory.
DnnGraph backward_graph(const DnnAttention& attention) {
  DnnGraph graph;
  const int type = element_type(attention);
  const Tensor q = rows(graph, attention, attention.heads, attention.q);
  const Tensor k = columns(graph, attention, attention.k);
  const Tensor v = columns(graph, attention, attention.v);
  const Tensor values = rows(graph, attention, attention.heads, attention.values);
  const Tensor log_sum_exp = row_numbers(graph, attention);
  const Tensor grad_values = rows(graph, attention, attention.heads, attention.grad_values);
  const Tensor grad_q = rows(graph, attention, attention.heads, attention.grad_q);
  const Tensor grad_k = rows(graph, attention, attention.kv_heads, attention.grad_k);
  const Tensor grad_v = rows(graph, attention, attention.kv_heads, attention.grad_v);
  const Tensor sums = row_numbers(graph, attention);

  const Tensor products = graph.reduce(dnn::kReduceAdd, graph.pointwise(dnn::kMul, grad_values, values));
  graph.store(graph.pointwise(dnn::kMul, products, graph.number(1)), sums);

  const Tensor scale = scale_of(graph, attention);
  const Tensor scores = graph.pointwise(dnn::kMul, graph.matmul(q, k), scale);
  const Tensor weights =
      graph.pointwise(dnn::kExp, masked(graph, attention, graph.pointwise(dnn::kSub, scores, log_sum_exp)));
  graph.store(graph.matmul(graph.rounded(graph.transposed(weights), type), grad_values), grad_v);

  const Tensor grad_weights = graph.pointwise(dnn::kSub, graph.matmul(grad_values, v), sums);
  const Tensor grad_scores = graph.pointwise(dnn::kMul, graph.pointwise(dnn::kMul, grad_weights, weights), scale);
  graph.store(graph.matmul(graph.rounded(graph.transposed(grad_scores), type), q), grad_k);
  graph.store(graph.matmul(grad_scores, graph.transposed(k)), grad_q);
  return graph;
}

// The limit on the workspace of a plan. To add in a fixed order, backward stores the gradients of the scores as 16-bit
// numbers, padded to whole tiles of 64 queries and 128 keys. The rest is small.
int64_t plan_bytes(const DnnAttention& attention) {
  constexpr int64_t kRest = 4096;
  if (!attention.backward) return kRest;
  const Size tiles = Size(align_up(attention.positions, 64)) * align_up(attention.positions, 128);
  return (Size(attention.batch) * attention.heads * tiles * size_of(attention.dtype) + kRest).value();
}

// How the workspace is divided.
struct Pieces {
  void* sums = nullptr;  // the row sums, an operand of backward
  void* rest = nullptr;  // workspace of the plan
  int64_t bytes = 0;

  Pieces(const DnnAttention& attention, std::byte* memory) {
    Workspace workspace(memory);
    const Size rows = Size(attention.batch) * attention.heads * attention.positions;
    if (attention.backward) sums = workspace.take<float>(rows.value());
    rest = workspace.take<std::byte>(plan_bytes(attention));
    bytes = workspace.bytes();
  }
};

}  // namespace

int64_t workspace_of(const DnnAttention& attention) { return Pieces(attention, nullptr).bytes; }

std::unique_ptr<DnnPlan> plan_of(const DnnAttention& attention, const std::shared_ptr<const Dnn>& dnn,
                                 const DnnTarget& target) {
  const DnnGraph graph = attention.backward ? backward_graph(attention) : forward_graph(attention);
  std::unique_ptr<DnnPlan> plan = graph.plan(dnn, target, plan_bytes(attention));
  if (plan == nullptr)
    throw Error::format(
        "cuda: cuDNN has no plan for attention [{}, {}, {}, {}] in {}{}; name laptime's own kernel in a "
        "--kernels file",
        attention.batch, attention.heads, attention.positions, attention.width, name_of(attention.dtype),
        attention.backward ? ", backward" : "");
  return plan;
}

DnnAttentions::DnnAttentions(std::shared_ptr<const Dnn> dnn) : dnn_(std::move(dnn)) {
  if (const DnnStatus status = dnn_->cudnnCreate(&handle_); status != kDnnSuccess)
    throw Error::format("{}; the library may be too new for the driver, or may not support this GPU",
                        dnn_->failure(status, "cudnnCreate"));
}

DnnAttentions::~DnnAttentions() {
  plans_.clear();
  dnn_->cudnnDestroy(handle_);
}

void DnnAttentions::prepare(const DnnAttention& attention) {
  std::unique_ptr<DnnPlan>& plan = plans_[attention];
  if (plan == nullptr) plan = plan_of(attention, dnn_, {.handle = handle_});
}

std::string DnnAttentions::run(const DnnAttention& attention, const DnnAttentionOperands& operands,
                               StreamHandle stream) {
  const auto found = plans_.find(attention);
  LAPTIME_CHECK(found != plans_.end() && found->second != nullptr, "attention over {} positions was not prepared",
                attention.positions);
  if (stream != stream_) {
    if (const DnnStatus status = dnn_->cudnnSetStream(handle_, stream); status != kDnnSuccess)
      return dnn_->failure(status, "cudnnSetStream");
    stream_ = stream;
  }
  const Pieces pieces(attention, operands.workspace);
  const DnnAttentionOperands& o = operands;
  const std::array<void*, 10> all{o.q,           o.k,      o.v,      o.values, o.log_sum_exp,
                                  o.grad_values, o.grad_q, o.grad_k, o.grad_v, pieces.sums};
  constexpr size_t kForwardOperands = 5;
  return found->second->run(handle_, std::span(all).first(attention.backward ? all.size() : kForwardOperands),
                            pieces.rest);
}

}  // namespace laptime::cuda
