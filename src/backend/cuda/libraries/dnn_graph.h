// DnnGraph: cuDNN tensors and operations, and the plan that the library creates from them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/libraries/dnn.h"

namespace laptime::cuda {

// Owns a cuDNN descriptor.
class DnnDescriptor {
 public:
  DnnDescriptor(std::shared_ptr<const Dnn> dnn, int kind);
  DnnDescriptor(DnnDescriptor&& other) noexcept;
  DnnDescriptor& operator=(DnnDescriptor&& other) noexcept;
  DnnDescriptor(const DnnDescriptor&) = delete;
  DnnDescriptor& operator=(const DnnDescriptor&) = delete;
  ~DnnDescriptor();

  // `type` is cuDNN's constant for the type of the values. Like finalize(), throws Error if cuDNN reports a failure.
  template <class T>
  void set(int attribute, int type, std::span<const T> values) {
    set(attribute, type, static_cast<int64_t>(values.size()), values.data());
  }
  template <class T>
  void set(int attribute, int type, const T& value) {
    set(attribute, type, 1, &value);
  }
  void set(int attribute, const DnnDescriptor& value) { set(attribute, dnn::kDescriptorValue, value.handle_); }
  void finalize(const char* what);

  DnnDescriptorHandle handle() const { return handle_; }

 private:
  void set(int attribute, int type, int64_t count, const void* values);

  std::shared_ptr<const Dnn> dnn_;
  DnnDescriptorHandle handle_ = nullptr;
};

// The device for which plans are made: the device of `handle` or, on a machine without a GPU, the described `device`.
struct DnnTarget {
  DnnHandle handle = nullptr;
  const DnnDescriptor* device = nullptr;
};

// Runs a graph on a device.
class DnnPlan {
 public:
  int64_t workspace_bytes() const { return workspace_bytes_; }
  // Enqueues the plan in the stream of the handle. `operands` are the addresses of the graph's operands, in the order
  // in which they were added. Returns the error, or an empty string.
  std::string run(DnnHandle handle, std::span<void* const> operands, void* workspace);

 private:
  friend class DnnGraph;
  DnnPlan(std::shared_ptr<const Dnn> dnn, DnnDescriptor plan) : dnn_(std::move(dnn)), plan_(std::move(plan)) {}

  std::shared_ptr<const Dnn> dnn_;
  DnnDescriptor plan_;
  std::vector<DnnDescriptor> parts_;  // parts of the graph that the plan may refer to
  int64_t workspace_bytes_ = 0;
  std::vector<float> numbers_;
  std::vector<int64_t> ids_;      // ids of the operands, followed by those of the scalars
  std::vector<void*> addresses_;  // addresses in the same order
};

using DnnSizes = std::array<int64_t, 4>;

// Operands in device memory, scalars, and operations in the order in which they were added. The result of an operation
// exists only inside cuDNN's kernels, unless it is stored to an operand.
class DnnGraph {
 public:
  using Tensor = size_t;

  // Adds an operand that is aligned to 16 bytes. `type` is cuDNN's constant for the element type. Strides are in
  // elements.
  Tensor operand(int type, const DnnSizes& sizes, const DnnSizes& strides);
  // A float32 scalar that is stored in the plan.
  Tensor number(float value);

  // The product of [B, h, m, k] and [B, h, k, n], in float32.
  Tensor matmul(Tensor a, Tensor b);
  // Elementwise function of x, or of x and the broadcast b, in float32.
  Tensor pointwise(int mode, Tensor x, std::optional<Tensor> b = {});
  // Index of each element of x along an axis.
  Tensor index(Tensor x, int64_t axis);
  // x >= b element by element, with b broadcast to x; the result is boolean.
  Tensor greater_or_equal(Tensor x, Tensor b);
  // x if the mask is true, otherwise b.
  Tensor select(Tensor x, Tensor b, Tensor mask);
  // Reduces along the last axis.
  Tensor reduce(int mode, Tensor x);
  // x with the last two axes swapped.
  Tensor transposed(Tensor x);

  // Makes the last operation, which must have produced x, round its result to this type or store it to an operand.
  Tensor rounded(Tensor x, int type);
  void store(Tensor x, Tensor operand);

  // Returns the first of the library's proposals that adds in a fixed order and needs at most `most_workspace` bytes;
  // null if there is none. Throws Error if the library rejects the graph itself.
  std::unique_ptr<DnnPlan> plan(const std::shared_ptr<const Dnn>& dnn, const DnnTarget& target,
                                int64_t most_workspace) const;

 private:
  enum class Place : uint8_t { kWithin, kMemory, kNumber };
  struct Value {
    DnnSizes sizes{}, strides{};
    int type = dnn::kFloat;
    Place place = Place::kWithin;
  };
  struct Operation {
    int kind = 0;
    int mode = 0;       // mode of a pointwise operation or a reduction
    int math = 0;       // the type of the computation
    int64_t axis = -1;  // axis of an index operation
    std::optional<Tensor> x = {}, b = {}, t = {};
    Tensor y = 0;
  };

  Tensor add(const Value& value);
  // Adds the operation and the value that it computes.
  Tensor emit(Operation operation, const Value& result);
  Value like(Tensor x, int type) const;
  DnnDescriptor describe(const std::shared_ptr<const Dnn>& dnn, Tensor tensor) const;
  // Adds the descriptors that the operation needs, and finally the descriptor of the operation.
  static void describe(const std::shared_ptr<const Dnn>& dnn, const Operation& operation,
                       std::vector<DnnDescriptor>& parts);

  std::vector<Value> values_;
  std::vector<Operation> operations_;
  std::vector<Tensor> operands_;
  std::vector<Tensor> number_ids_;
  std::vector<float> numbers_;
};

}  // namespace laptime::cuda
