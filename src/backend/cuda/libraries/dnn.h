// Dnn: the functions of cuDNN that we call, loaded at run time. cuDNN is an alternative to our own kernels for
// attention.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/cuda/driver.h"

namespace laptime::cuda {

// Types of the library's ABI, declared here so that building does not need the library's headers.
using DnnStatus = int;
using DnnHandle = struct DnnObject*;
using DnnDescriptorHandle = struct DnnDescriptorObject*;

inline constexpr DnnStatus kDnnSuccess = 0;
// The first version whose backward attention can add in a fixed order on every card since Ampere, and supports any
// number of positions.
inline constexpr size_t kOldestDnn = 91800;

// Constants of the interface, named after the library's own: kinds of descriptors, their attributes, and attribute
// types and values.
namespace dnn {
// Descriptors.
inline constexpr int kPointwise = 0, kEngine = 2, kEngineConfig = 3, kHeuristic = 4, kPlan = 5,
                     kOperationPointwise = 13, kOperationGraph = 15, kVariantPack = 16, kTensor = 17, kMatmul = 18,
                     kOperationMatmul = 19, kReduction = 21, kOperationReduction = 22, kOperationReshape = 31,
                     kDevice = 38;
// Attributes.
inline constexpr int kPointwiseMode = 0, kPointwiseMath = 1, kPointwiseAxis = 9;
inline constexpr int kHeuristicMode = 200, kHeuristicGraph = 201, kHeuristicResults = 202, kHeuristicDevice = 204;
inline constexpr int kConfigEngine = 300;
inline constexpr int kPlanHandle = 400, kPlanConfig = 401, kPlanWorkspace = 402, kPlanDevice = 407;
inline constexpr int kPointwiseOperator = 750, kPointwiseX = 751, kPointwiseB = 752, kPointwiseY = 753,
                     kPointwiseT = 758;
inline constexpr int kGraphHandle = 800, kGraphOperations = 801;
inline constexpr int kTensorAlignment = 900, kTensorType = 901, kTensorSizes = 902, kTensorStrides = 903,
                     kTensorId = 906, kTensorIsVirtual = 907, kTensorIsByValue = 908;
inline constexpr int kPackIds = 1000, kPackPointers = 1001, kPackWorkspace = 1003;
inline constexpr int kEngineNumericalNotes = 1303;
inline constexpr int kMatmulMath = 1500;
inline constexpr int kMatmulA = 1520, kMatmulB = 1521, kMatmulC = 1522, kMatmulOperator = 1523;
inline constexpr int kReductionMode = 1600, kReductionMath = 1601;
inline constexpr int kReductionX = 1610, kReductionY = 1611, kReductionOperator = 1612;
inline constexpr int kReshapeX = 2200, kReshapeY = 2201;
inline constexpr int kDeviceJson = 2702;
// Types of attributes.
inline constexpr int kHandleValue = 0, kTypeValue = 1, kBooleanValue = 2, kInt64Value = 3, kPointerValue = 6,
                     kHeuristicModeValue = 8, kNumericalNoteValue = 11, kPointwiseModeValue = 14, kDescriptorValue = 15,
                     kReductionModeValue = 18, kCharValue = 24;
// Types of elements.
inline constexpr int kFloat = 0, kHalf = 2, kInt32 = 4, kBFloat16 = 9, kBoolean = 11;
// Modes of pointwise operations, and of reductions.
inline constexpr int kAdd = 0, kMul = 1, kDiv = 6, kSub = 9, kExp = 13, kLog = 15, kGreaterOrEqual = 303, kIndex = 501,
                     kSelect = 601;
inline constexpr int kReduceAdd = 0, kReduceMax = 3;
// Modes of the heuristic: kHeuristicA is the fast estimate, kHeuristicFallback is for graphs that no other engine
// supports.
inline constexpr int kHeuristicFallback = 2, kHeuristicA = 3;
// One of the numerical notes with which cuDNN describes an engine, and the number of possible notes.
inline constexpr int kNondeterministic = 4;
inline constexpr int kNotes = 10;
}  // namespace dnn

// Each member is named after a function of libcudnn.
struct Dnn {
  // NOLINTBEGIN(readability-identifier-naming): the names of libcudnn
  size_t (*cudnnGetVersion)() = nullptr;
  const char* (*cudnnGetErrorString)(DnnStatus status) = nullptr;
  void (*cudnnGetLastErrorString)(char* text, size_t bytes) = nullptr;
  DnnStatus (*cudnnCreate)(DnnHandle* handle) = nullptr;
  DnnStatus (*cudnnDestroy)(DnnHandle handle) = nullptr;
  DnnStatus (*cudnnSetStream)(DnnHandle handle, StreamHandle stream) = nullptr;
  DnnStatus (*cudnnBackendCreateDescriptor)(int kind, DnnDescriptorHandle* descriptor) = nullptr;
  DnnStatus (*cudnnBackendDestroyDescriptor)(DnnDescriptorHandle descriptor) = nullptr;
  DnnStatus (*cudnnBackendFinalize)(DnnDescriptorHandle descriptor) = nullptr;
  DnnStatus (*cudnnBackendSetAttribute)(DnnDescriptorHandle descriptor, int attribute, int type, int64_t count,
                                        const void* values) = nullptr;
  DnnStatus (*cudnnBackendGetAttribute)(DnnDescriptorHandle descriptor, int attribute, int type, int64_t most,
                                        int64_t* count, void* values) = nullptr;
  DnnStatus (*cudnnBackendExecute)(DnnHandle handle, DnnDescriptorHandle plan, DnnDescriptorHandle pack) = nullptr;
  // NOLINTEND(readability-identifier-naming)

  // The message for a failed call, with the library's description of the error.
  std::string failure(DnnStatus status, const char* what) const;
  // Throws Error if `status` is not kDnnSuccess.
  void check(DnnStatus status, const char* what) const;
};

// The value of Kernel::library.
inline constexpr const char* kDnnName = "cuDNN";

// Loads libcudnn from the given file. Returns null if the library is not installed, is older than kOldestDnn, or lacks
// a function. Never throws.
std::shared_ptr<const Dnn> find_dnn(const char* library = "libcudnn.so.9");

}  // namespace laptime::cuda
