// Stands in for libcudnn on the GPU of fake_cuda.cpp. It has only the functions that laptime calls. When a stream
// reaches a graph of tensors of rank 4, the operations of the graph are computed on the host, one after the other. The
// library proposes four engines: the first adds in no fixed order, the second cannot make a plan, the third requests a
// terabyte, and the last is usable. Calls that the documentation of cuDNN forbids are rejected.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/libraries/dnn.h"
#include "tensor/dtype.h"

// NOLINTNEXTLINE(readability-identifier-naming): the name of libcuda
extern "C" int cuLaunchHostFunc(laptime::cuda::StreamHandle stream, void (*function)(void*), void* data);

namespace laptime::cuda {

struct DnnObject {
  StreamHandle stream = nullptr;
};

struct Program;

struct DnnDescriptorObject {
  int kind = 0;
  bool is_finalized = false;
  std::map<int, std::vector<std::byte>> attributes = {};
  std::shared_ptr<const Program> program = nullptr;  // set for graphs and for objects made from them
  int engine = 0;                                    // set for configurations, engines and plans

  bool has(int attribute) const { return attributes.contains(attribute); }
  template <class T>
  std::vector<T> all(int attribute) const {
    const std::vector<std::byte>& bytes = attributes.at(attribute);
    constexpr size_t kSize = sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be an address
    std::vector<T> values(bytes.size() / kSize);
    std::memcpy(values.data(), bytes.data(), values.size() * kSize);
    return values;
  }
  template <class T>
  T one(int attribute) const {
    T value{};
    constexpr size_t kSize = sizeof(T);  // NOLINT(bugprone-sizeof-expression): T may be an address
    std::memcpy(&value, attributes.at(attribute).data(), kSize);
    return value;
  }
};

using Sizes = std::array<int64_t, 4>;

struct Tensor {
  int64_t id = 0;
  int type = 0;
  Sizes sizes{}, strides{};
  bool is_virtual = false, is_number = false;

  int64_t count() const { return sizes[0] * sizes[1] * sizes[2] * sizes[3]; }
  // Offset of an element from the first element, in elements; axes of size 1 are broadcast.
  int64_t offset(const Sizes& index) const {
    int64_t offset = 0;
    for (size_t axis = 0; axis < 4; ++axis) offset += sizes[axis] == 1 ? 0 : index[axis] * strides[axis];
    return offset;
  }
  int64_t extent() const { return offset({sizes[0] - 1, sizes[1] - 1, sizes[2] - 1, sizes[3] - 1}) + 1; }
  template <class Body>
  void for_each(const Body& body) const {
    for (int64_t a = 0; a < sizes[0]; ++a) {
      for (int64_t b = 0; b < sizes[1]; ++b) {
        for (int64_t c = 0; c < sizes[2]; ++c) {
          for (int64_t d = 0; d < sizes[3]; ++d) body(Sizes{a, b, c, d});
        }
      }
    }
  }
};

struct Step {
  int kind = 0;
  int mode = 0;
  int64_t axis = 0;
  int64_t x = 0, b = 0, t = 0, y = 0;  // ids of the tensors; 0 if absent
};

struct Program {
  std::map<int64_t, Tensor> tensors;
  std::vector<Step> steps;
};

}  // namespace laptime::cuda

namespace {

using namespace laptime;
using namespace laptime::cuda;

constexpr DnnStatus kBadParam = 2000;
constexpr DnnStatus kNotSupported = 3000;
constexpr DnnStatus kExecutionFailed = 5000;
constexpr int kEngines = 4;
constexpr int kUnordered = 0, kPlanless = 1, kGreedy = 2;
constexpr int64_t kWorkspaceBytes = 256;

std::string& last_error() {
  static std::string text;
  return text;
}
DnnStatus refuse(DnnStatus status, const char* reason) {
  last_error() = reason;
  return status;
}

size_t bytes_of(int type) {
  switch (type) {
    case dnn::kHandleValue:
    case dnn::kInt64Value:
    case dnn::kPointerValue:
    case dnn::kDescriptorValue: return 8;
    case dnn::kBooleanValue:
    case dnn::kCharValue: return 1;
    default: return 4;
  }
}

float rounded(int type, float value) {
  if (type == dnn::kHalf) return static_cast<float>(Float16(value));
  return type == dnn::kBFloat16 ? static_cast<float>(BFloat16(value)) : value;
}
float load(int type, const void* from, int64_t position) {
  switch (type) {
    case dnn::kHalf: return static_cast<float>(static_cast<const Float16*>(from)[position]);
    case dnn::kBFloat16: return static_cast<float>(static_cast<const BFloat16*>(from)[position]);
    default: return static_cast<const float*>(from)[position];
  }
}
void store(int type, void* to, int64_t position, float value) {
  switch (type) {
    case dnn::kHalf: static_cast<Float16*>(to)[position] = Float16(value); break;
    case dnn::kBFloat16: static_cast<BFloat16*>(to)[position] = BFloat16(value); break;
    default: static_cast<float*>(to)[position] = value;
  }
}

// A graph with all its arguments, computed when the stream reaches it.
struct Task {
  std::shared_ptr<const Program> program;
  std::map<int64_t, void*> addresses = {};
  std::map<int64_t, float> numbers = {};
  void* workspace = nullptr;

  void run() const {
    std::memset(workspace, 0xFF, kWorkspaceBytes);
    // The elements of each tensor, at their offsets.
    std::map<int64_t, std::vector<float>> values;
    for (const auto& [id, tensor] : program->tensors) {
      std::vector<float>& of = values[id];
      of.resize(static_cast<size_t>(tensor.extent()));
      if (tensor.is_number) of[0] = numbers.at(id);
      if (tensor.is_virtual || tensor.is_number) continue;
      tensor.for_each([&, &id = id, &tensor = tensor](const Sizes& index) {
        const int64_t at = tensor.offset(index);
        of[static_cast<size_t>(at)] = load(tensor.type, addresses.at(id), at);
      });
    }
    for (const Step& step : program->steps) {
      const Tensor& y = program->tensors.at(step.y);
      const auto value = [&](int64_t id, const Sizes& index) {
        return values.at(id)[static_cast<size_t>(program->tensors.at(id).offset(index))];
      };
      y.for_each([&](const Sizes& index) {
        const float result = rounded(y.type, element(step, index, value, values));
        values.at(step.y)[static_cast<size_t>(y.offset(index))] = result;
        if (!y.is_virtual) store(y.type, addresses.at(step.y), y.offset(index), result);
      });
    }
  }

 private:
  template <class ValueOf>
  float element(const Step& step, const Sizes& index, const ValueOf& value,
                const std::map<int64_t, std::vector<float>>& values) const {
    const Tensor& x = program->tensors.at(step.x);
    switch (step.kind) {
      case dnn::kOperationMatmul: {
        const int64_t head = index[1] * program->tensors.at(step.b).sizes[1] / x.sizes[1];
        float sum = 0;
        for (int64_t k = 0; k < x.sizes[3]; ++k)
          sum += value(step.x, {index[0], index[1], index[2], k}) * value(step.b, {index[0], head, k, index[3]});
        return sum;
      }
      case dnn::kOperationReduction: {
        float result = step.mode == dnn::kReduceMax ? -INFINITY : 0;
        for (int64_t k = 0; k < x.sizes[3]; ++k) {
          const float next = value(step.x, {index[0], index[1], index[2], k});
          result = step.mode == dnn::kReduceMax ? std::max(result, next) : result + next;
        }
        return result;
      }
      case dnn::kOperationReshape:  // the same memory with different strides
        return values.at(step.x)[static_cast<size_t>(program->tensors.at(step.y).offset(index))];
      default: break;
    }
    const float a = value(step.x, index);
    const float b = step.b == 0 ? 0 : value(step.b, index);
    switch (step.mode) {
      case dnn::kAdd: return a + b;
      case dnn::kSub: return a - b;
      case dnn::kMul: return a * b;
      case dnn::kDiv: return a / b;
      case dnn::kExp: return std::exp(a);
      case dnn::kLog: return std::log(a);
      case dnn::kIndex: return static_cast<float>(index[static_cast<size_t>(step.axis)]);
      case dnn::kGreaterOrEqual: return a >= b ? 1 : 0;
      default: return value(step.t, index) != 0 ? a : b;
    }
  }
};

// Every graph that has been enqueued. None is removed, because the driver may have captured it and run it again.
std::deque<Task>& tasks() {
  static std::deque<Task> all;
  return all;
}

Tensor tensor_of(DnnDescriptorHandle descriptor) {
  Tensor tensor{.id = descriptor->one<int64_t>(dnn::kTensorId), .type = descriptor->one<int>(dnn::kTensorType)};
  tensor.is_virtual = descriptor->one<bool>(dnn::kTensorIsVirtual);
  tensor.is_number = descriptor->one<bool>(dnn::kTensorIsByValue);
  std::ranges::copy(descriptor->all<int64_t>(dnn::kTensorSizes), tensor.sizes.begin());
  std::ranges::copy(descriptor->all<int64_t>(dnn::kTensorStrides), tensor.strides.begin());
  return tensor;
}

struct Attributes {
  int x, b, t, y, descriptor;
};
Attributes attributes_of(int kind) {
  switch (kind) {
    case dnn::kOperationMatmul: return {dnn::kMatmulA, dnn::kMatmulB, -1, dnn::kMatmulC, dnn::kMatmulOperator};
    case dnn::kOperationReduction: return {dnn::kReductionX, -1, -1, dnn::kReductionY, dnn::kReductionOperator};
    case dnn::kOperationReshape: return {dnn::kReshapeX, -1, -1, dnn::kReshapeY, -1};
    default: return {dnn::kPointwiseX, dnn::kPointwiseB, dnn::kPointwiseT, dnn::kPointwiseY, dnn::kPointwiseOperator};
  }
}

// Adds an operation. Returns false if it is incomplete, or reads a virtual tensor that no earlier operation computes.
bool add_step(DnnDescriptorHandle operation, Program& program, std::vector<int64_t>& computed) {
  const Attributes attributes = attributes_of(operation->kind);
  Step step{.kind = operation->kind};
  bool is_possible = operation->is_finalized;
  const auto operand = [&](int attribute, bool is_read) -> int64_t {
    if (!operation->has(attribute)) return 0;
    const Tensor tensor = tensor_of(operation->one<DnnDescriptorHandle>(attribute));
    const bool known = std::ranges::find(computed, tensor.id) != computed.end();
    if (is_read && tensor.is_virtual && !known) is_possible = false;
    program.tensors.emplace(tensor.id, tensor);
    return tensor.id;
  };
  step.x = operand(attributes.x, true);
  step.b = operand(attributes.b, true);
  step.t = operand(attributes.t, true);
  step.y = operand(attributes.y, false);
  computed.push_back(step.y);
  if (attributes.descriptor >= 0) {
    auto* const descriptor = operation->one<DnnDescriptorHandle>(attributes.descriptor);
    is_possible = is_possible && descriptor->is_finalized;
    if (descriptor->has(dnn::kPointwiseMode)) step.mode = descriptor->one<int>(dnn::kPointwiseMode);
    if (descriptor->has(dnn::kReductionMode)) step.mode = descriptor->one<int>(dnn::kReductionMode);
    if (descriptor->has(dnn::kPointwiseAxis)) step.axis = descriptor->one<int64_t>(dnn::kPointwiseAxis);
  }
  program.steps.push_back(step);
  return is_possible && step.x != 0 && step.y != 0;
}

// True if the fused engines of cuDNN support the products: the second factor has 16-bit elements that are contiguous
// along one of its last two axes, and heads of the first factor may share a head of the second. False for every graph
// if LAPTIME_FAKE_CUDNN_REFUSES is set.
bool is_supported(const Program& program) {
  if (std::getenv("LAPTIME_FAKE_CUDNN_REFUSES") != nullptr) return false;
  return std::ranges::all_of(program.steps, [&](const Step& step) {
    if (step.kind != dnn::kOperationMatmul) return true;
    const Tensor& b = program.tensors.at(step.b);
    return (b.type == dnn::kHalf || b.type == dnn::kBFloat16) && (b.strides[2] == 1 || b.strides[3] == 1) &&
           program.tensors.at(step.x).sizes[1] % b.sizes[1] == 0 &&
           program.tensors.at(step.y).sizes[1] == program.tensors.at(step.x).sizes[1];
  });
}

DnnStatus finalize(DnnDescriptorObject& descriptor) {
  const auto lacks = [&](std::initializer_list<int> attributes) {
    return std::ranges::any_of(attributes, [&](int attribute) { return !descriptor.has(attribute); });
  };
  switch (descriptor.kind) {
    case dnn::kTensor:
      if (lacks({dnn::kTensorId, dnn::kTensorType, dnn::kTensorAlignment, dnn::kTensorSizes, dnn::kTensorStrides}))
        return refuse(kBadParam, "the tensor lacks an attribute");
      break;
    case dnn::kOperationGraph: {
      auto program = std::make_shared<Program>();
      std::vector<int64_t> computed;
      for (auto* const operation : descriptor.all<DnnDescriptorHandle>(dnn::kGraphOperations)) {
        if (!add_step(operation, *program, computed))
          return refuse(kBadParam, "the graph reads a tensor that no operation computes");
      }
      descriptor.program = std::move(program);
      break;
    }
    case dnn::kHeuristic:
      if (lacks({dnn::kHeuristicGraph, dnn::kHeuristicMode})) return refuse(kBadParam, "the heuristic lacks a graph");
      descriptor.program = descriptor.one<DnnDescriptorHandle>(dnn::kHeuristicGraph)->program;
      if (!is_supported(*descriptor.program)) return refuse(kNotSupported, "no engine supports the graph");
      break;
    case dnn::kPlan: {
      if (lacks({dnn::kPlanConfig, dnn::kPlanHandle})) return refuse(kBadParam, "the plan lacks an attribute");
      auto* const config = descriptor.one<DnnDescriptorHandle>(dnn::kPlanConfig);
      if (config->engine == kPlanless) return refuse(kNotSupported, "the engine cannot run the graph");
      descriptor.program = config->program;
      descriptor.engine = config->engine;
      break;
    }
    case dnn::kVariantPack:
      if (lacks({dnn::kPackIds, dnn::kPackPointers, dnn::kPackWorkspace}))
        return refuse(kBadParam, "the pack lacks an attribute");
      break;
    default: break;
  }
  descriptor.is_finalized = true;
  return kDnnSuccess;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names of libcudnn
extern "C" {

// LAPTIME_FAKE_CUDNN_VERSION: the version to report instead of a recent one.
size_t cudnnGetVersion() {
  const char* const version = std::getenv("LAPTIME_FAKE_CUDNN_VERSION");
  return version == nullptr ? 91900 : std::strtoull(version, nullptr, 10);
}
const char* cudnnGetErrorString(DnnStatus status) {
  switch (status) {
    case kBadParam: return "CUDNN_STATUS_BAD_PARAM";
    case kExecutionFailed: return "CUDNN_STATUS_EXECUTION_FAILED";
    default: return "CUDNN_STATUS_NOT_SUPPORTED";
  }
}
void cudnnGetLastErrorString(char* text, size_t bytes) { std::snprintf(text, bytes, "%s", last_error().c_str()); }
DnnStatus cudnnCreate(DnnHandle* handle) { return *handle = new DnnObject, kDnnSuccess; }
DnnStatus cudnnDestroy(DnnHandle handle) {
  delete handle;
  return kDnnSuccess;
}
DnnStatus cudnnSetStream(DnnHandle handle, StreamHandle stream) { return handle->stream = stream, kDnnSuccess; }

DnnStatus cudnnBackendCreateDescriptor(int kind, DnnDescriptorHandle* descriptor) {
  *descriptor = new DnnDescriptorObject{.kind = kind};
  return kDnnSuccess;
}
DnnStatus cudnnBackendDestroyDescriptor(DnnDescriptorHandle descriptor) {
  delete descriptor;
  return kDnnSuccess;
}
DnnStatus cudnnBackendFinalize(DnnDescriptorHandle descriptor) { return finalize(*descriptor); }
DnnStatus cudnnBackendSetAttribute(DnnDescriptorHandle descriptor, int attribute, int type, int64_t count,
                                   const void* values) {
  if (descriptor->is_finalized) return refuse(kBadParam, "the descriptor is already finalized");
  const auto* const begin = static_cast<const std::byte*>(values);
  const size_t bytes = static_cast<size_t>(count) * bytes_of(type);
  if (type == dnn::kDescriptorValue) {
    for (int64_t k = 0; k < count; ++k) {
      if (!static_cast<const DnnDescriptorHandle*>(values)[k]->is_finalized &&
          static_cast<const DnnDescriptorHandle*>(values)[k]->kind != dnn::kEngineConfig)
        return refuse(kBadParam, "an attribute is not finalized");
    }
  }
  descriptor->attributes[attribute].assign(begin, begin + bytes);
  return kDnnSuccess;
}
DnnStatus cudnnBackendGetAttribute(DnnDescriptorHandle descriptor, int attribute, int, int64_t most, int64_t* count,
                                   void* values) {
  auto* const descriptors = static_cast<DnnDescriptorHandle*>(values);
  switch (attribute) {
    case dnn::kHeuristicResults:
      *count = std::min<int64_t>(most, kEngines);
      for (int k = 0; k < *count; ++k) {
        descriptors[k]->program = descriptor->program;
        descriptors[k]->engine = k;
      }
      return kDnnSuccess;
    case dnn::kConfigEngine: return descriptors[0]->engine = descriptor->engine, *count = 1, kDnnSuccess;
    case dnn::kEngineNumericalNotes:
      *count = descriptor->engine == kUnordered ? 2 : 1;
      static_cast<int*>(values)[0] = 0;
      if (*count == 2) static_cast<int*>(values)[1] = dnn::kNondeterministic;
      return kDnnSuccess;
    case dnn::kPlanWorkspace:
      *static_cast<int64_t*>(values) = descriptor->engine == kGreedy ? int64_t{1} << 40 : kWorkspaceBytes;
      return *count = 1, kDnnSuccess;
    default: return refuse(kBadParam, "the attribute is unknown");
  }
}

DnnStatus cudnnBackendExecute(DnnHandle handle, DnnDescriptorHandle plan, DnnDescriptorHandle pack) {
  if (!plan->is_finalized || !pack->is_finalized) return refuse(kBadParam, "a descriptor is not finalized");
  if (plan->engine != kEngines - 1) return refuse(kExecutionFailed, "the wrong engine was chosen");
  Task task{.program = plan->program, .workspace = pack->one<void*>(dnn::kPackWorkspace)};
  if (task.workspace == nullptr) return refuse(kBadParam, "the workspace is missing");
  const std::vector<int64_t> ids = pack->all<int64_t>(dnn::kPackIds);
  const std::vector<void*> addresses = pack->all<void*>(dnn::kPackPointers);
  for (size_t k = 0; k < ids.size(); ++k) task.addresses[ids[k]] = addresses.at(k);
  for (const auto& [id, tensor] : plan->program->tensors) {
    if (tensor.is_virtual) continue;
    const auto found = task.addresses.find(id);
    if (found == task.addresses.end() || found->second == nullptr) return refuse(kBadParam, "an operand is missing");
    // Scalars are in host memory and are read immediately.
    if (tensor.is_number) {
      task.numbers[id] = *static_cast<const float*>(found->second);
    } else if (reinterpret_cast<uintptr_t>(found->second) % 16 != 0) {
      return refuse(kBadParam, "an operand is misaligned");
    }
  }
  const auto run = [](void* data) { static_cast<const Task*>(data)->run(); };
  const int status = cuLaunchHostFunc(handle->stream, run, &tasks().emplace_back(std::move(task)));
  return status == kSuccess ? kDnnSuccess : refuse(kExecutionFailed, "the stream does not accept the graph");
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
