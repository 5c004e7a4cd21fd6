// Creates the descriptors of a graph, and chooses a plan.
#include "backend/cuda/libraries/dnn_graph.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace laptime::cuda {
namespace {

constexpr int64_t kAlignment = 16;  // alignment of operands in bytes: the widest load of a CUDA thread
constexpr size_t kMostProposals = 16;

DnnSizes packed_strides(const DnnSizes& sizes) {
  return {sizes[1] * sizes[2] * sizes[3], sizes[2] * sizes[3], sizes[3], 1};
}

// Asks the library whether the engine of a configuration is deterministic.
bool adds_in_fixed_order(const std::shared_ptr<const Dnn>& dnn, const DnnDescriptor& config) {
  const DnnDescriptor engine(dnn, dnn::kEngine);
  DnnDescriptorHandle handle = engine.handle();
  int64_t count = 0;
  dnn->check(dnn->cudnnBackendGetAttribute(config.handle(), dnn::kConfigEngine, dnn::kDescriptorValue, 1, &count,
                                           static_cast<void*>(&handle)),
             "reading the engine of a plan (cudnnBackendGetAttribute)");
  std::array<int, dnn::kNotes> notes{};
  dnn->check(dnn->cudnnBackendGetAttribute(handle, dnn::kEngineNumericalNotes, dnn::kNumericalNoteValue, dnn::kNotes,
                                           &count, notes.data()),
             "reading the notes of an engine (cudnnBackendGetAttribute)");
  const std::span<const int> known(notes.data(), static_cast<size_t>(std::clamp<int64_t>(count, 0, dnn::kNotes)));
  return std::ranges::find(known, dnn::kNondeterministic) == known.end();
}

// The engine configurations that a heuristic proposes, fastest first by estimate; empty if the graph is rejected.
std::vector<DnnDescriptor> proposals(const std::shared_ptr<const Dnn>& dnn, const DnnDescriptor& graph,
                                     const DnnTarget& target, int mode) {
  DnnDescriptor heuristic(dnn, dnn::kHeuristic);
  heuristic.set(dnn::kHeuristicGraph, graph);
  heuristic.set(dnn::kHeuristicMode, dnn::kHeuristicModeValue, mode);
  if (target.device != nullptr) heuristic.set(dnn::kHeuristicDevice, *target.device);
  // A graph that no engine of this mode supports is rejected here.
  if (dnn->cudnnBackendFinalize(heuristic.handle()) != kDnnSuccess) return {};
  std::vector<DnnDescriptor> configs;
  std::vector<DnnDescriptorHandle> handles;
  for (size_t k = 0; k < kMostProposals; ++k) handles.push_back(configs.emplace_back(dnn, dnn::kEngineConfig).handle());
  int64_t count = 0;
  dnn->check(
      dnn->cudnnBackendGetAttribute(heuristic.handle(), dnn::kHeuristicResults, dnn::kDescriptorValue,
                                    static_cast<int64_t>(handles.size()), &count, static_cast<void*>(handles.data())),
      "querying plans (cudnnBackendGetAttribute)");
  configs.erase(configs.begin() + std::clamp<int64_t>(count, 0, static_cast<int64_t>(configs.size())), configs.end());
  return configs;
}

int64_t workspace_of(const Dnn& dnn, const DnnDescriptor& plan) {
  int64_t bytes = 0;
  int64_t count = 0;
  dnn.check(dnn.cudnnBackendGetAttribute(plan.handle(), dnn::kPlanWorkspace, dnn::kInt64Value, 1, &count, &bytes),
            "querying the workspace of a plan (cudnnBackendGetAttribute)");
  return bytes;
}

}  // namespace

DnnDescriptor::DnnDescriptor(std::shared_ptr<const Dnn> dnn, int kind) : dnn_(std::move(dnn)) {
  dnn_->check(dnn_->cudnnBackendCreateDescriptor(kind, &handle_), "cudnnBackendCreateDescriptor");
}

DnnDescriptor::DnnDescriptor(DnnDescriptor&& other) noexcept
    : dnn_(std::move(other.dnn_)), handle_(std::exchange(other.handle_, nullptr)) {}

DnnDescriptor& DnnDescriptor::operator=(DnnDescriptor&& other) noexcept {
  std::swap(dnn_, other.dnn_);
  std::swap(handle_, other.handle_);
  return *this;
}

DnnDescriptor::~DnnDescriptor() {
  if (handle_ != nullptr) dnn_->cudnnBackendDestroyDescriptor(handle_);
}

void DnnDescriptor::set(int attribute, int type, int64_t count, const void* values) {
  dnn_->check(dnn_->cudnnBackendSetAttribute(handle_, attribute, type, count, values), "cudnnBackendSetAttribute");
}

void DnnDescriptor::finalize(const char* what) { dnn_->check(dnn_->cudnnBackendFinalize(handle_), what); }

DnnGraph::Tensor DnnGraph::add(const Value& value) {
  values_.push_back(value);
  return values_.size() - 1;
}

DnnGraph::Tensor DnnGraph::emit(Operation operation, const Value& result) {
  operation.y = add(result);
  operations_.push_back(operation);
  return operation.y;
}

DnnGraph::Value DnnGraph::like(Tensor x, int type) const {
  const DnnSizes& sizes = values_[x].sizes;
  return {sizes, packed_strides(sizes), type};
}

DnnGraph::Tensor DnnGraph::operand(int type, const DnnSizes& sizes, const DnnSizes& strides) {
  return operands_.emplace_back(add({sizes, strides, type, Place::kMemory}));
}

DnnGraph::Tensor DnnGraph::number(float value) {
  numbers_.push_back(value);
  return number_ids_.emplace_back(add({{1, 1, 1, 1}, {1, 1, 1, 1}, dnn::kFloat, Place::kNumber}));
}

DnnGraph::Tensor DnnGraph::matmul(Tensor a, Tensor b) {
  Value result = like(a, dnn::kFloat);
  result.sizes[3] = values_[b].sizes[3];
  result.strides = packed_strides(result.sizes);
  return emit({.kind = dnn::kOperationMatmul, .math = dnn::kFloat, .x = a, .b = b}, result);
}

DnnGraph::Tensor DnnGraph::pointwise(int mode, Tensor x, std::optional<Tensor> b) {
  return emit({.kind = dnn::kOperationPointwise, .mode = mode, .math = dnn::kFloat, .x = x, .b = b},
              like(x, dnn::kFloat));
}

DnnGraph::Tensor DnnGraph::index(Tensor x, int64_t axis) {
  return emit({.kind = dnn::kOperationPointwise, .mode = dnn::kIndex, .math = dnn::kFloat, .axis = axis, .x = x},
              like(x, dnn::kInt32));
}

DnnGraph::Tensor DnnGraph::greater_or_equal(Tensor x, Tensor b) {
  return emit({.kind = dnn::kOperationPointwise, .mode = dnn::kGreaterOrEqual, .math = dnn::kBoolean, .x = x, .b = b},
              like(x, dnn::kBoolean));
}

DnnGraph::Tensor DnnGraph::select(Tensor x, Tensor b, Tensor mask) {
  return emit({.kind = dnn::kOperationPointwise, .mode = dnn::kSelect, .math = dnn::kFloat, .x = x, .b = b, .t = mask},
              like(x, dnn::kFloat));
}

DnnGraph::Tensor DnnGraph::reduce(int mode, Tensor x) {
  Value result = like(x, dnn::kFloat);
  result.sizes[3] = 1;
  result.strides = packed_strides(result.sizes);
  return emit({.kind = dnn::kOperationReduction, .mode = mode, .math = dnn::kFloat, .x = x}, result);
}

DnnGraph::Tensor DnnGraph::transposed(Tensor x) {
  Value result{values_[x].sizes, values_[x].strides, values_[x].type};
  std::swap(result.sizes[2], result.sizes[3]);
  std::swap(result.strides[2], result.strides[3]);
  return emit({.kind = dnn::kOperationReshape, .x = x}, result);
}

DnnGraph::Tensor DnnGraph::rounded(Tensor x, int type) {
  values_[x].type = type;
  return x;
}

void DnnGraph::store(Tensor x, Tensor operand) {
  LAPTIME_CHECK(operations_.back().y == x && values_[x].sizes == values_[operand].sizes,
                "cannot store tensor {} to operand {}", x, operand);
  operations_.back().y = operand;
}

DnnDescriptor DnnGraph::describe(const std::shared_ptr<const Dnn>& dnn, Tensor tensor) const {
  const Value& value = values_[tensor];
  DnnDescriptor descriptor(dnn, dnn::kTensor);
  descriptor.set(dnn::kTensorId, dnn::kInt64Value, static_cast<int64_t>(tensor) + 1);
  descriptor.set(dnn::kTensorType, dnn::kTypeValue, value.type);
  descriptor.set(dnn::kTensorAlignment, dnn::kInt64Value, kAlignment);
  descriptor.set(dnn::kTensorSizes, dnn::kInt64Value, std::span<const int64_t>(value.sizes));
  descriptor.set(dnn::kTensorStrides, dnn::kInt64Value, std::span<const int64_t>(value.strides));
  descriptor.set(dnn::kTensorIsVirtual, dnn::kBooleanValue, value.place == Place::kWithin);
  descriptor.set(dnn::kTensorIsByValue, dnn::kBooleanValue, value.place == Place::kNumber);
  descriptor.finalize("describing a tensor (cudnnBackendFinalize)");
  return descriptor;
}

void DnnGraph::describe(const std::shared_ptr<const Dnn>& dnn, const Operation& operation,
                        std::vector<DnnDescriptor>& parts) {
  const auto tensor = [&](Tensor index) -> const DnnDescriptor& { return parts[index]; };
  DnnDescriptor descriptor(dnn, operation.kind);
  switch (operation.kind) {
    case dnn::kOperationPointwise: {
      DnnDescriptor pointwise(dnn, dnn::kPointwise);
      pointwise.set(dnn::kPointwiseMode, dnn::kPointwiseModeValue, operation.mode);
      pointwise.set(dnn::kPointwiseMath, dnn::kTypeValue, operation.math);
      if (operation.axis >= 0) pointwise.set(dnn::kPointwiseAxis, dnn::kInt64Value, operation.axis);
      pointwise.finalize("describing a pointwise operation (cudnnBackendFinalize)");
      descriptor.set(dnn::kPointwiseOperator, pointwise);
      descriptor.set(dnn::kPointwiseX, tensor(*operation.x));
      if (operation.b) descriptor.set(dnn::kPointwiseB, tensor(*operation.b));
      if (operation.t) descriptor.set(dnn::kPointwiseT, tensor(*operation.t));
      descriptor.set(dnn::kPointwiseY, tensor(operation.y));
      descriptor.finalize("adding a pointwise operation (cudnnBackendFinalize)");
      parts.push_back(std::move(pointwise));
      break;
    }
    case dnn::kOperationMatmul: {
      DnnDescriptor matmul(dnn, dnn::kMatmul);
      matmul.set(dnn::kMatmulMath, dnn::kTypeValue, operation.math);
      matmul.finalize("describing a product (cudnnBackendFinalize)");
      descriptor.set(dnn::kMatmulOperator, matmul);
      descriptor.set(dnn::kMatmulA, tensor(*operation.x));
      descriptor.set(dnn::kMatmulB, tensor(*operation.b));
      descriptor.set(dnn::kMatmulC, tensor(operation.y));
      descriptor.finalize("adding a product (cudnnBackendFinalize)");
      parts.push_back(std::move(matmul));
      break;
    }
    case dnn::kOperationReduction: {
      DnnDescriptor reduction(dnn, dnn::kReduction);
      reduction.set(dnn::kReductionMode, dnn::kReductionModeValue, operation.mode);
      reduction.set(dnn::kReductionMath, dnn::kTypeValue, operation.math);
      reduction.finalize("describing a reduction (cudnnBackendFinalize)");
      descriptor.set(dnn::kReductionOperator, reduction);
      descriptor.set(dnn::kReductionX, tensor(*operation.x));
      descriptor.set(dnn::kReductionY, tensor(operation.y));
      descriptor.finalize("adding a reduction (cudnnBackendFinalize)");
      parts.push_back(std::move(reduction));
      break;
    }
    default:
      descriptor.set(dnn::kReshapeX, tensor(*operation.x));
      descriptor.set(dnn::kReshapeY, tensor(operation.y));
      descriptor.finalize("adding a transposition (cudnnBackendFinalize)");
  }
  parts.push_back(std::move(descriptor));
}

std::unique_ptr<DnnPlan> DnnGraph::plan(const std::shared_ptr<const Dnn>& dnn, const DnnTarget& target,
                                        int64_t most_workspace) const {
  std::vector<DnnDescriptor> parts;
  for (Tensor tensor = 0; tensor < values_.size(); ++tensor) parts.push_back(describe(dnn, tensor));
  std::vector<DnnDescriptorHandle> operations;
  for (const Operation& operation : operations_) {
    describe(dnn, operation, parts);
    operations.push_back(parts.back().handle());
  }
  DnnDescriptor graph(dnn, dnn::kOperationGraph);
  graph.set(dnn::kGraphOperations, dnn::kDescriptorValue, std::span<const DnnDescriptorHandle>(operations));
  if (target.handle != nullptr) graph.set(dnn::kGraphHandle, dnn::kHandleValue, target.handle);
  graph.finalize("describing the graph (cudnnBackendFinalize)");

  for (const int mode : {dnn::kHeuristicA, dnn::kHeuristicFallback}) {
    for (DnnDescriptor& config : proposals(dnn, graph, target, mode)) {
      if (!adds_in_fixed_order(dnn, config)) continue;
      DnnDescriptor plan(dnn, dnn::kPlan);
      plan.set(dnn::kPlanConfig, config);
      if (target.handle != nullptr) plan.set(dnn::kPlanHandle, dnn::kHandleValue, target.handle);
      if (target.device != nullptr) plan.set(dnn::kPlanDevice, *target.device);
      // The heuristic also proposes configurations for which no plan can be made.
      if (dnn->cudnnBackendFinalize(plan.handle()) != kDnnSuccess) continue;
      const int64_t workspace = workspace_of(*dnn, plan);
      if (workspace > most_workspace) continue;
      parts.push_back(std::move(graph));
      parts.push_back(std::move(config));
      std::unique_ptr<DnnPlan> made(new DnnPlan(dnn, std::move(plan)));
      made->parts_ = std::move(parts);
      made->workspace_bytes_ = workspace;
      made->numbers_ = numbers_;
      for (const std::vector<Tensor>* tensors : {&operands_, &number_ids_}) {
        for (const Tensor tensor : *tensors) made->ids_.push_back(static_cast<int64_t>(tensor) + 1);
      }
      made->addresses_.resize(made->ids_.size());
      for (size_t k = 0; k < numbers_.size(); ++k) made->addresses_[operands_.size() + k] = &made->numbers_[k];
      return made;
    }
  }
  return nullptr;
}

std::string DnnPlan::run(DnnHandle handle, std::span<void* const> operands, void* workspace) {
  LAPTIME_CHECK(operands.size() + numbers_.size() == ids_.size(), "wrong number of operands: {}", operands.size());
  std::ranges::copy(operands, addresses_.begin());
  // cuDNN requires a new variant pack for each call.
  try {
    DnnDescriptor pack(dnn_, dnn::kVariantPack);
    pack.set(dnn::kPackIds, dnn::kInt64Value, std::span<const int64_t>(ids_));
    pack.set(dnn::kPackPointers, dnn::kPointerValue, std::span<void* const>(addresses_));
    pack.set(dnn::kPackWorkspace, dnn::kPointerValue, workspace);
    pack.finalize("passing operands (cudnnBackendFinalize)");
    dnn_->check(dnn_->cudnnBackendExecute(handle, plan_.handle(), pack.handle()), "cudnnBackendExecute");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace laptime::cuda
