// Stands in for libcublasLt on the GPU of fake_cuda.cpp. It has only the functions that laptime calls. Proposes three
// algorithms that add the terms of a sum in different orders. A product is computed on the host when the stream reaches
// the product. The last algorithm rounds a product to the type of the result before it adds the bias, as the library
// does for some shapes. Calls that the documentation of cuBLASLt forbids are rejected.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <utility>

#include "backend/cuda/libraries/blas.h"
#include "tensor/dtype.h"

namespace laptime::cuda {

struct BlasObject {};
struct BlasProductObject {
  int compute = 0;
  int32_t transpose_a = 0, transpose_b = 0;
  uint32_t epilogue = 1;
  const void* bias = nullptr;
  int32_t bias_type = -1;
};
struct BlasLayoutObject {
  int type = 0;
  int64_t rows = 0, columns = 0, column_stride = 0;
  int32_t batches = 1;
  int64_t batch_stride = 0;
};
struct BlasPreferenceObject {
  uint64_t workspace_bytes = 0;
  uint32_t reductions = 7;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

}  // namespace laptime::cuda

// NOLINTNEXTLINE(readability-identifier-naming): the name of libcuda
extern "C" int cuLaunchHostFunc(laptime::cuda::StreamHandle stream, void (*function)(void*), void* data);

namespace {

using namespace laptime;
using namespace laptime::cuda;

constexpr BlasStatus kInvalidValue = 7;
constexpr BlasStatus kExecutionFailed = 13;
constexpr BlasStatus kNotSupported = 15;
constexpr uint64_t kAlgorithms = 3;
constexpr uint64_t kTwoParts = 2;  // the algorithm that computes a sum in two parts, in the workspace

// An element converted to float32.
float load(int type, const void* from, int64_t position) {
  switch (type) {
    case blas::kReal16: return static_cast<float>(static_cast<const Float16*>(from)[position]);
    case blas::kRealBFloat16: return static_cast<float>(static_cast<const BFloat16*>(from)[position]);
    default: return static_cast<const float*>(from)[position];
  }
}
void store(int type, void* to, int64_t position, float value) {
  switch (type) {
    case blas::kReal16: static_cast<Float16*>(to)[position] = Float16(value); break;
    case blas::kRealBFloat16: static_cast<BFloat16*>(to)[position] = BFloat16(value); break;
    default: static_cast<float*>(to)[position] = value;
  }
}

float rounded_to(int type, float value) {
  if (type == blas::kReal16) return static_cast<float>(Float16(value));
  return type == blas::kRealBFloat16 ? static_cast<float>(BFloat16(value)) : value;
}

float rounded_to_tf32(float value) {
  constexpr uint32_t kDropped = 13;
  auto bits = std::bit_cast<uint32_t>(value);
  bits += (1U << (kDropped - 1)) - 1 + ((bits >> kDropped) & 1U);
  return std::bit_cast<float>(bits >> kDropped << kDropped);
}

// A product with all its arguments, computed when the stream reaches it.
struct Task {
  BlasProductObject product;
  BlasLayoutObject a_layout, b_layout, c_layout, d_layout;
  const void *a, *b, *c;
  void* d;
  float beta;
  uint64_t algorithm;
  float* workspace;

  float factor(const BlasLayoutObject& layout, const void* from, bool transposed, int64_t batch, int64_t row,
               int64_t column) const {
    if (transposed) std::swap(row, column);
    const float value = load(layout.type, from, batch * layout.batch_stride + row + column * layout.column_stride);
    return product.compute == blas::kComputeTf32 ? rounded_to_tf32(value) : value;
  }
  int64_t depth() const { return product.transpose_a != 0 ? a_layout.rows : a_layout.columns; }
  // The sum of the terms [begin, end) of an element, which the last algorithm adds in reverse order.
  float sum(int64_t batch, int64_t row, int64_t column, int64_t begin, int64_t end) const {
    float total = 0;
    for (int64_t at = begin; at < end; ++at) {
      const int64_t k = algorithm == kAlgorithms ? end - 1 - (at - begin) : at;
      total += factor(a_layout, a, product.transpose_a != 0, batch, row, k) *
               factor(b_layout, b, product.transpose_b != 0, batch, k, column);
    }
    return total;
  }
  float element(int64_t batch, int64_t row, int64_t column) const {
    const int64_t depth_of_all = depth();
    if (algorithm != kTwoParts) return sum(batch, row, column, 0, depth_of_all);
    float* const parts = workspace + 2 * ((batch * d_layout.columns + column) * d_layout.rows + row);
    parts[0] = sum(batch, row, column, 0, depth_of_all / 2);
    parts[1] = sum(batch, row, column, depth_of_all / 2, depth_of_all);
    return parts[0] + parts[1];
  }
  void run() const {
    for (int64_t batch = 0; batch < d_layout.batches; ++batch) {
      for (int64_t column = 0; column < d_layout.columns; ++column) {
        for (int64_t row = 0; row < d_layout.rows; ++row) {
          float value = element(batch, row, column);
          if (product.epilogue == blas::kEpilogueBias) {
            if (algorithm == kAlgorithms) value = rounded_to(d_layout.type, value);
            value += load(product.bias_type, product.bias, row);
          }
          if (beta != 0) {
            const int64_t at = batch * c_layout.batch_stride + row + column * c_layout.column_stride;
            value += beta * load(c_layout.type, c, at);
          }
          store(d_layout.type, d, batch * d_layout.batch_stride + row + column * d_layout.column_stride, value);
        }
      }
    }
  }
};

bool fits(const BlasLayoutObject& layout) {
  return layout.rows > 0 && layout.columns > 0 && layout.column_stride >= layout.rows;
}

bool is_possible(const BlasProductObject& product, const BlasLayoutObject& a, const BlasLayoutObject& b,
                 const BlasLayoutObject& c, const BlasLayoutObject& d) {
  const bool shapes =
      (product.transpose_a != 0 ? a.columns : a.rows) == d.rows &&
      (product.transpose_b != 0 ? b.rows : b.columns) == d.columns &&
      (product.transpose_a != 0 ? a.rows : a.columns) == (product.transpose_b != 0 ? b.columns : b.rows) &&
      c.rows == d.rows && c.columns == d.columns;
  const bool batches = a.batches == d.batches && b.batches == d.batches && c.batches == d.batches;
  const bool types =
      a.type == b.type && c.type == d.type && (d.type == a.type || d.type == blas::kReal32) &&
      (product.compute == blas::kComputeFloat32 || (product.compute == blas::kComputeTf32 && a.type == blas::kReal32));
  const bool bias = product.epilogue == 1 || (product.epilogue == blas::kEpilogueBias && product.bias_type == d.type);
  return shapes && batches && types && bias && fits(a) && fits(b) && fits(c) && fits(d);
}

size_t workspace_of(uint64_t algorithm, const BlasLayoutObject& d) {
  if (algorithm != kTwoParts) return 0;
  return static_cast<size_t>(2 * d.rows * d.columns * d.batches) * sizeof(float);
}

// Every product that has been enqueued. None is removed, because a graph may run it again.
std::deque<Task>& tasks() {
  static std::deque<Task> all;
  return all;
}

// Copies an attribute to `field`. Returns kInvalidValue if the value is missing or has a different size.
template <class T>
BlasStatus take(T& field, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof(T)) return kInvalidValue;
  std::memcpy(&field, value, bytes);
  return kBlasSuccess;
}

// From this index on, the data of an algorithm contains the required alignments of A, B, C and D.
constexpr size_t kAlignments = 1;

bool is_aligned(const void* address, uint64_t alignment) {
  return reinterpret_cast<uintptr_t>(address) % alignment == 0;
}

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names of libcublasLt
extern "C" {

BlasStatus cublasLtCreate(BlasHandle* handle) { return *handle = new BlasObject, kBlasSuccess; }
BlasStatus cublasLtDestroy(BlasHandle handle) {
  delete handle;
  return kBlasSuccess;
}
size_t cublasLtGetVersion() { return 130002; }
const char* cublasLtGetStatusString(BlasStatus status) {
  switch (status) {
    case kInvalidValue: return "CUBLAS_STATUS_INVALID_VALUE";
    case kExecutionFailed: return "CUBLAS_STATUS_EXECUTION_FAILED";
    default: return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
}

BlasStatus cublasLtMatmulDescCreate(BlasProductHandle* product, int compute, int scale) {
  if (scale != blas::kReal32) return kNotSupported;
  *product = new BlasProductObject{.compute = compute};
  return kBlasSuccess;
}
BlasStatus cublasLtMatmulDescDestroy(BlasProductHandle product) {
  delete product;
  return kBlasSuccess;
}
BlasStatus cublasLtMatmulDescSetAttribute(BlasProductHandle product, int attribute, const void* value, size_t bytes) {
  switch (attribute) {
    case blas::kProductTransposeA: return take(product->transpose_a, value, bytes);
    case blas::kProductTransposeB: return take(product->transpose_b, value, bytes);
    case blas::kProductEpilogue: return take(product->epilogue, value, bytes);
    case blas::kProductBias: return take(product->bias, value, bytes);
    case blas::kProductBiasType: return take(product->bias_type, value, bytes);
    default: return kInvalidValue;
  }
}

BlasStatus cublasLtMatrixLayoutCreate(BlasLayoutHandle* layout, int type, uint64_t rows, uint64_t columns,
                                      int64_t column_stride) {
  *layout = new BlasLayoutObject{.type = type,
                                 .rows = static_cast<int64_t>(rows),
                                 .columns = static_cast<int64_t>(columns),
                                 .column_stride = column_stride};
  return kBlasSuccess;
}
BlasStatus cublasLtMatrixLayoutDestroy(BlasLayoutHandle layout) {
  delete layout;
  return kBlasSuccess;
}
BlasStatus cublasLtMatrixLayoutSetAttribute(BlasLayoutHandle layout, int attribute, const void* value, size_t bytes) {
  switch (attribute) {
    case blas::kLayoutBatches: return take(layout->batches, value, bytes);
    case blas::kLayoutBatchStride: return take(layout->batch_stride, value, bytes);
    default: return kInvalidValue;
  }
}

BlasStatus cublasLtMatmulPreferenceCreate(BlasPreferenceHandle* preference) {
  *preference = new BlasPreferenceObject;
  return kBlasSuccess;
}
BlasStatus cublasLtMatmulPreferenceDestroy(BlasPreferenceHandle preference) {
  delete preference;
  return kBlasSuccess;
}
BlasStatus cublasLtMatmulPreferenceSetAttribute(BlasPreferenceHandle preference, int attribute, const void* value,
                                                size_t bytes) {
  switch (attribute) {
    case blas::kPreferWorkspaceBytes: return take(preference->workspace_bytes, value, bytes);
    case blas::kPreferReductions: return take(preference->reductions, value, bytes);
    case blas::kPreferAlignmentA: return take(preference->alignment[0], value, bytes);
    case blas::kPreferAlignmentB: return take(preference->alignment[1], value, bytes);
    case blas::kPreferAlignmentC: return take(preference->alignment[2], value, bytes);
    case blas::kPreferAlignmentD: return take(preference->alignment[3], value, bytes);
    default: return kInvalidValue;
  }
}

BlasStatus cublasLtMatmulAlgoGetHeuristic(BlasHandle, BlasProductHandle product, BlasLayoutHandle a, BlasLayoutHandle b,
                                          BlasLayoutHandle c, BlasLayoutHandle d, BlasPreferenceHandle preference,
                                          int most, BlasHeuristic* results, int* count) {
  *count = 0;
  if (most <= 0) return kInvalidValue;
  if (!is_possible(*product, *a, *b, *c, *d)) return kNotSupported;
  for (uint64_t algorithm = 1; algorithm <= kAlgorithms && *count < most; ++algorithm) {
    const size_t bytes = workspace_of(algorithm, *d);
    if (bytes > preference->workspace_bytes) continue;
    if (algorithm == kTwoParts && (preference->reductions & blas::kReductionsInOrder) == 0) continue;
    BlasHeuristic& result = results[(*count)++];
    result = {};
    result.algorithm.data[0] = algorithm;
    for (size_t k = 0; k < 4; ++k) result.algorithm.data[kAlignments + k] = preference->alignment[k];
    result.workspace_bytes = bytes;
  }
  return kBlasSuccess;
}

BlasStatus cublasLtMatmul(BlasHandle, BlasProductHandle product, const void* alpha, const void* a,
                          BlasLayoutHandle a_layout, const void* b, BlasLayoutHandle b_layout, const void* beta,
                          const void* c, BlasLayoutHandle c_layout, void* d, BlasLayoutHandle d_layout,
                          const BlasAlgorithm* algorithm, void* workspace, size_t workspace_bytes,
                          StreamHandle stream) {
  const uint64_t number = algorithm->data[0];
  if (number == 0 || number > kAlgorithms || *static_cast<const float*>(alpha) != 1) return kInvalidValue;
  if (!is_possible(*product, *a_layout, *b_layout, *c_layout, *d_layout)) return kNotSupported;
  // LAPTIME_FAKE_CUBLASLT_REFUSES=N: algorithm N is proposed, but refuses to run.
  const char* const refused = std::getenv("LAPTIME_FAKE_CUBLASLT_REFUSES");
  if (refused != nullptr && std::strtoull(refused, nullptr, 10) == number) return kNotSupported;
  if (workspace_of(number, *d_layout) > workspace_bytes) return kInvalidValue;
  if (product->epilogue == blas::kEpilogueBias && product->bias == nullptr) return kInvalidValue;
  // If the product is in place, C and D must have the same column stride.
  if (c == d && c_layout->column_stride != d_layout->column_stride) return kInvalidValue;
  const void* const operands[] = {a, b, c, d};
  for (size_t k = 0; k < 4; ++k) {
    if (!is_aligned(operands[k], algorithm->data[kAlignments + k])) return kInvalidValue;
  }
  Task& task = tasks().emplace_back(Task{*product, *a_layout, *b_layout, *c_layout, *d_layout, a, b, c, d,
                                         *static_cast<const float*>(beta), number, static_cast<float*>(workspace)});
  const auto run = [](void* data) { static_cast<const Task*>(data)->run(); };
  return cuLaunchHostFunc(stream, run, &task) == kSuccess ? kBlasSuccess : kExecutionFailed;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
