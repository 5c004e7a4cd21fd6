// BlasProducts: runs matrix products with cuBLASLt. Each product is prepared before it runs.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/cuda/libraries/blas.h"
#include "base/error.h"
#include "tensor/dtype.h"

namespace laptime::cuda {

// The number of proposed algorithms that are tried for a product. The library usually proposes about this many, and
// any of them may be the fastest.
inline constexpr int kBlasAlgorithms = 8;

// A batch of matrices in memory: one of the two strides is 1, and the other is `leading`.
struct BlasMatrix {
  DType dtype = DType::kFloat32;
  bool columns_adjacent = true;  // true if the column stride is 1, false if the row stride is
  int64_t leading = 0;
  int64_t batch_stride = 0;  // in elements
  uint32_t alignment = 16;   // alignment of the first element, in bytes

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
  bool tf32 = false;  // round float32 factors to the 10 mantissa bits of TF32
  int algorithm = 0;  // index among the algorithms that the library proposes, which are sorted by estimated time
  // Also allow algorithms that add partial sums in no fixed order, or round partial sums before adding them. Only for
  // comparison, because results vary between runs.
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

// Thrown if the library proposes at least one algorithm, but none with the index BlasProduct::algorithm.
class MissingProposal : public Error {
 public:
  using Error::Error;
};

class BlasProducts {
 public:
  // Bytes of the workspace that all products of a stream share, as recommended by NVIDIA. The workspace must be aligned
  // to 256 bytes, and must outlive the products that are enqueued with it.
  static constexpr size_t kWorkspaceBytes = size_t{32} << 20;

  // A CUDA context must be current. Throws Error if the library cannot start.
  explicit BlasProducts(std::shared_ptr<const Blas> blas);
  BlasProducts(const BlasProducts&) = delete;
  BlasProducts& operator=(const BlasProducts&) = delete;
  ~BlasProducts();

  // Chooses the algorithm, which stays the same for the lifetime of this object. Throws MissingProposal if the library
  // proposes too few algorithms, and Error if it proposes none.
  void prepare(const BlasProduct& product);
  // Enqueues a prepared product. The workspace of `target` has kWorkspaceBytes. Returns the error; empty if there is
  // none.
  std::string run(const BlasProduct& product, const BlasOperands& operands, const LaunchTarget& target);

 private:
  struct Prepared;

  // The algorithms that the library proposes for a product; empty if it proposes none or fails.
  const std::vector<BlasAlgorithm>& proposals(const BlasProduct& product, const Prepared& described);

  std::shared_ptr<const Blas> blas_;
  BlasHandle handle_ = nullptr;
  std::map<BlasProduct, std::unique_ptr<Prepared>> prepared_;
  std::map<BlasProduct, std::vector<BlasAlgorithm>> proposals_;  // keyed by the product, with its algorithm set to 0
};

}  // namespace laptime::cuda
