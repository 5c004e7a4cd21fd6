// BlasProducts: the matrix products of cuBLASLt in one stream, each prepared before it runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/blas.h"
#include "tensor/dtype.h"

namespace laptime::cuda {

// How many of the algorithms that the library proposes for a product are tried.
inline constexpr int kBlasAlgorithms = 3;

// A batch of matrices in memory: one of the two strides is 1, and the other is `leading`.
struct BlasMatrix {
  DType dtype = DType::kFloat32;
  bool columns_adjacent = true;  // the column stride is 1, else the row stride is
  int64_t leading = 0;
  int64_t batch_stride = 0;  // in elements
  uint32_t alignment = 16;   // of its first byte

  friend auto operator<=>(const BlasMatrix&, const BlasMatrix&) = default;
};

// D [batches, m, n] = A [batches, m, k] B [batches, k, n] + bias [n] + C [batches, m, n]. C has the type of D, and the
// columns of both are adjacent.
struct BlasProduct {
  int64_t batches = 1, m = 0, n = 0, k = 0;
  BlasMatrix a, b, c, d;
  bool has_bias = false;
  DType bias = DType::kFloat32;
  bool adds_c = false;
  bool tf32 = false;  // float32 factors keep the 10 bits of mantissa of TF32
  int algorithm = 0;  // index of the algorithm among those the library proposes, the fastest by its estimate first
  // Also algorithms whose partial sums are added in no fixed order, and rounded between: to compare with, since their
  // bits change from run to run. An index beyond the library's proposals is then an error.
  bool any_order = false;

  friend auto operator<=>(const BlasProduct&, const BlasProduct&) = default;
};

// Addresses on the device.
struct BlasOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* bias = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
};

class BlasProducts {
 public:
  // Bytes of device memory that all products of a stream share, as much as NVIDIA recommends.
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;

  // The context of the stream must be current. `workspace` has kWorkspaceBytes, aligned to 256, and must outlive the
  // object. Error if the library cannot start.
  BlasProducts(std::shared_ptr<const Blas> blas, StreamHandle stream, DeviceAddress workspace);
  BlasProducts(const BlasProducts&) = delete;
  BlasProducts& operator=(const BlasProducts&) = delete;
  ~BlasProducts();

  // Chooses the algorithm, which stays the same as long as this object exists. Where the library proposes fewer
  // algorithms, its last one. Error if it proposes none.
  void prepare(const BlasProduct& product);
  // Enqueues a prepared product. Returns what failed; empty: nothing.
  std::string run(const BlasProduct& product, const BlasOperands& operands);

 private:
  struct Prepared;

  std::shared_ptr<const Blas> blas_;
  StreamHandle stream_;
  DeviceAddress workspace_;
  BlasHandle handle_ = nullptr;
  std::map<BlasProduct, std::unique_ptr<Prepared>> prepared_;
};

}  // namespace laptime::cuda
