// Blas: the functions of cuBLASLt that we call, loaded at run time. cuBLASLt is an alternative to our own kernel for
// matrix products.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "backend/cuda/driver.h"

namespace laptime::cuda {

// Types of the library's ABI, declared here so that building does not need the toolkit's header.
using BlasStatus = int;
using BlasHandle = struct BlasObject*;
using BlasProductHandle = struct BlasProductObject*;
using BlasLayoutHandle = struct BlasLayoutObject*;
using BlasPreferenceHandle = struct BlasPreferenceObject*;
struct BlasAlgorithm {
  uint64_t data[8];
};
struct BlasHeuristic {
  BlasAlgorithm algorithm;
  size_t workspace_bytes;
  BlasStatus state;
  float waves;
  int reserved[4];
};

inline constexpr BlasStatus kBlasSuccess = 0;

// Constants of the interface: types of elements and of computation, and attributes of descriptors.
namespace blas {
inline constexpr int kReal32 = 0, kReal16 = 2, kRealBFloat16 = 14;
inline constexpr int kComputeFloat32 = 68, kComputeTf32 = 77;
inline constexpr int kProductTransposeA = 3, kProductTransposeB = 4, kProductEpilogue = 7, kProductBias = 8,
                     kProductBiasType = 26;
inline constexpr int kEpilogueBias = 4;
inline constexpr int kLayoutBatches = 5, kLayoutBatchStride = 6;
inline constexpr int kPreferWorkspaceBytes = 1, kPreferReductions = 3, kPreferAlignmentA = 5, kPreferAlignmentB = 6,
                     kPreferAlignmentC = 7, kPreferAlignmentD = 8;
// Reduction scheme: partial sums in the compute type, added in a fixed order.
inline constexpr uint32_t kReductionsInOrder = 2;
}  // namespace blas

// Each member is named after a function of libcublasLt. Matrices are column-major.
struct Blas {
  // NOLINTBEGIN(readability-identifier-naming): the names of libcublasLt
  BlasStatus (*cublasLtCreate)(BlasHandle* handle) = nullptr;
  BlasStatus (*cublasLtDestroy)(BlasHandle handle) = nullptr;
  size_t (*cublasLtGetVersion)() = nullptr;
  const char* (*cublasLtGetStatusString)(BlasStatus status) = nullptr;
  BlasStatus (*cublasLtMatmulDescCreate)(BlasProductHandle* product, int compute, int scale) = nullptr;
  BlasStatus (*cublasLtMatmulDescDestroy)(BlasProductHandle product) = nullptr;
  BlasStatus (*cublasLtMatmulDescSetAttribute)(BlasProductHandle product, int attribute, const void* value,
                                               size_t bytes) = nullptr;
  BlasStatus (*cublasLtMatrixLayoutCreate)(BlasLayoutHandle* layout, int type, uint64_t rows, uint64_t columns,
                                           int64_t column_stride) = nullptr;
  BlasStatus (*cublasLtMatrixLayoutDestroy)(BlasLayoutHandle layout) = nullptr;
  BlasStatus (*cublasLtMatrixLayoutSetAttribute)(BlasLayoutHandle layout, int attribute, const void* value,
                                                 size_t bytes) = nullptr;
  BlasStatus (*cublasLtMatmulPreferenceCreate)(BlasPreferenceHandle* preference) = nullptr;
  BlasStatus (*cublasLtMatmulPreferenceDestroy)(BlasPreferenceHandle preference) = nullptr;
  BlasStatus (*cublasLtMatmulPreferenceSetAttribute)(BlasPreferenceHandle preference, int attribute, const void* value,
                                                     size_t bytes) = nullptr;
  BlasStatus (*cublasLtMatmulAlgoGetHeuristic)(BlasHandle handle, BlasProductHandle product, BlasLayoutHandle a,
                                               BlasLayoutHandle b, BlasLayoutHandle c, BlasLayoutHandle d,
                                               BlasPreferenceHandle preference, int most, BlasHeuristic* results,
                                               int* count) = nullptr;
  BlasStatus (*cublasLtMatmul)(BlasHandle handle, BlasProductHandle product, const void* alpha, const void* a,
                               BlasLayoutHandle a_layout, const void* b, BlasLayoutHandle b_layout, const void* beta,
                               const void* c, BlasLayoutHandle c_layout, void* d, BlasLayoutHandle d_layout,
                               const BlasAlgorithm* algorithm, void* workspace, size_t workspace_bytes,
                               StreamHandle stream) = nullptr;
  // NOLINTEND(readability-identifier-naming)

  // The message for a failed call, such as "cuda: cublasLtMatmul failed: ...".
  std::string failure(BlasStatus status, const char* what) const;
  // Throws Error if `status` is not kBlasSuccess.
  void check(BlasStatus status, const char* what) const;
};

// The value of Kernel::library.
inline constexpr const char* kBlasName = "cuBLASLt";

// Loads libcublasLt. Returns null if it is not installed or lacks a function. Never throws.
std::shared_ptr<const Blas> find_blas();

}  // namespace laptime::cuda
