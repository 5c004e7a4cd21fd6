// Creates the descriptors of products, chooses their algorithms, and runs them. The library takes column-major
// matrices, so a row-major product D = A B is computed as D^T = B^T A^T.
#include "backend/cuda/libraries/blas_products.h"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <utility>

#include "base/error.h"

namespace laptime::cuda {
namespace {

int type_number(DType dtype) {
  if (dtype == DType::kBFloat16) return blas::kRealBFloat16;
  return dtype == DType::kFloat16 ? blas::kReal16 : blas::kReal32;
}

}  // namespace

// The descriptors of one product, and the algorithm chosen for the product.
struct BlasProducts::Prepared {
  explicit Prepared(const Blas& functions) : blas(functions) {}
  Prepared(const Prepared&) = delete;
  Prepared& operator=(const Prepared&) = delete;
  ~Prepared() {
    for (BlasLayoutHandle layout : {left, right, added, result}) {
      if (layout != nullptr) blas.cublasLtMatrixLayoutDestroy(layout);
    }
    if (product != nullptr) blas.cublasLtMatmulDescDestroy(product);
  }

  template <class T>
  void set(int attribute, T value) {
    blas.check(blas.cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof(value)),
               "cublasLtMatmulDescSetAttribute");
  }

  // Creates the layout of the transpose of [rows, columns]. Returns true if the library must transpose the stored
  // matrix.
  bool describe(BlasLayoutHandle& layout, const BlasMatrix& matrix, int64_t rows, int64_t columns, int64_t batches) {
    const bool transposed = !matrix.columns_adjacent;
    blas.check(blas.cublasLtMatrixLayoutCreate(&layout, type_number(matrix.dtype),
                                               static_cast<uint64_t>(transposed ? rows : columns),
                                               static_cast<uint64_t>(transposed ? columns : rows), matrix.leading),
               "cublasLtMatrixLayoutCreate");
    const auto count = static_cast<int32_t>(batches);
    const char* const what = "cublasLtMatrixLayoutSetAttribute";
    blas.check(blas.cublasLtMatrixLayoutSetAttribute(layout, blas::kLayoutBatches, &count, sizeof(count)), what);
    blas.check(blas.cublasLtMatrixLayoutSetAttribute(layout, blas::kLayoutBatchStride, &matrix.batch_stride,
                                                     sizeof(matrix.batch_stride)),
               what);
    return transposed;
  }

  const Blas& blas;
  BlasProductHandle product = nullptr;
  BlasLayoutHandle left = nullptr, right = nullptr, added = nullptr, result = nullptr;  // B^T, A^T, C^T, D^T
  BlasAlgorithm algorithm{};
};

namespace {

// Restrictions on the algorithms that the library may propose for a product.
class Preference {
 public:
  Preference(const Blas& functions, const BlasProduct& product) : blas_(functions) {
    blas_.check(blas_.cublasLtMatmulPreferenceCreate(&handle_), "cublasLtMatmulPreferenceCreate");
    set(blas::kPreferWorkspaceBytes, uint64_t{BlasProducts::kWorkspaceBytes});
    if (!product.any_order) set(blas::kPreferReductions, blas::kReductionsInOrder);
    set(blas::kPreferAlignmentA, product.b.alignment);
    set(blas::kPreferAlignmentB, product.a.alignment);
    set(blas::kPreferAlignmentC, product.c.alignment);
    set(blas::kPreferAlignmentD, product.d.alignment);
  }
  Preference(const Preference&) = delete;
  Preference& operator=(const Preference&) = delete;
  ~Preference() { blas_.cublasLtMatmulPreferenceDestroy(handle_); }

  BlasPreferenceHandle handle() const { return handle_; }

 private:
  template <class T>
  void set(int attribute, T value) {
    blas_.check(blas_.cublasLtMatmulPreferenceSetAttribute(handle_, attribute, &value, sizeof(value)),
                "cublasLtMatmulPreferenceSetAttribute");
  }

  const Blas& blas_;
  BlasPreferenceHandle handle_ = nullptr;
};

}  // namespace

BlasProducts::BlasProducts(std::shared_ptr<const Blas> blas) : blas_(std::move(blas)) {
  const BlasStatus status = blas_->cublasLtCreate(&handle_);
  if (status != kBlasSuccess)
    throw Error::format("{}; the library may be too new for the driver, or may not support this GPU",
                        blas_->failure(status, "cublasLtCreate"));
}

BlasProducts::~BlasProducts() {
  prepared_.clear();
  blas_->cublasLtDestroy(handle_);
}

void BlasProducts::prepare(const BlasProduct& product) {
  if (prepared_.contains(product)) return;
  auto prepared = std::make_unique<Prepared>(*blas_);
  blas_->check(blas_->cublasLtMatmulDescCreate(
                   &prepared->product, product.tf32 ? blas::kComputeTf32 : blas::kComputeFloat32, blas::kReal32),
               "cublasLtMatmulDescCreate");
  const bool left = prepared->describe(prepared->left, product.b, product.k, product.n, product.batches);
  const bool right = prepared->describe(prepared->right, product.a, product.m, product.k, product.batches);
  prepared->describe(prepared->added, product.c, product.m, product.n, product.batches);
  prepared->describe(prepared->result, product.d, product.m, product.n, product.batches);
  prepared->set(blas::kProductTransposeA, int32_t{left});
  prepared->set(blas::kProductTransposeB, int32_t{right});
  if (product.has_bias) {
    prepared->set(blas::kProductEpilogue, static_cast<uint32_t>(blas::kEpilogueBias));
    prepared->set(blas::kProductBiasType, static_cast<int32_t>(type_number(product.bias)));
  }
  const std::vector<BlasAlgorithm>& proposed = proposals(product, *prepared);
  if (proposed.empty())
    throw Error::format(
        "cuda: cuBLASLt has no algorithm for a product of {} x {} x {} in {}; name laptime's own kernel in "
        "a --kernels file",
        product.m, product.n, product.k, name_of(product.a.dtype));
  const auto index = static_cast<size_t>(product.algorithm);
  if (index >= proposed.size())
    throw MissingProposal(
        fmt::format("cuda: cuBLASLt proposes {} algorithms for a product of {} x {} x {}; there is no algorithm {}; "
                    "name another kernel in a --kernels file",
                    proposed.size(), product.m, product.n, product.k, index + 1));
  prepared->algorithm = proposed[index];
  prepared_.emplace(product, std::move(prepared));
}

// Requests proposals once per product. The number requested is constant, because it may affect their order.
const std::vector<BlasAlgorithm>& BlasProducts::proposals(const BlasProduct& product, const Prepared& described) {
  constexpr int kMost = 32;
  BlasProduct key = product;
  key.algorithm = 0;
  const auto [found, is_new] = proposals_.try_emplace(key);
  if (!is_new) return found->second;
  const Preference preference(*blas_, product);
  std::vector<BlasHeuristic> results(kMost);
  int count = 0;
  const BlasStatus status = blas_->cublasLtMatmulAlgoGetHeuristic(handle_, described.product, described.left,
                                                                  described.right, described.added, described.result,
                                                                  preference.handle(), kMost, results.data(), &count);
  if (status != kBlasSuccess) return found->second;
  results.resize(static_cast<size_t>(count));
  for (const BlasHeuristic& result : results) {
    if (result.state == kBlasSuccess) found->second.push_back(result.algorithm);
  }
  return found->second;
}

std::string BlasProducts::run(const BlasProduct& product, const BlasOperands& operands, const LaunchTarget& target) {
  const auto found = prepared_.find(product);
  LAPTIME_CHECK(found != prepared_.end(), "a product of {} x {} x {} was not prepared", product.m, product.n,
                product.k);
  const Prepared& prepared = *found->second;
  if (product.has_bias) {
    const BlasStatus status = blas_->cublasLtMatmulDescSetAttribute(prepared.product, blas::kProductBias,
                                                                    &operands.bias, sizeof(operands.bias));
    if (status != kBlasSuccess) return blas_->failure(status, "cublasLtMatmulDescSetAttribute");
  }
  const float alpha = 1;
  const float beta = product.adds_c ? 1 : 0;
  const BlasStatus status = blas_->cublasLtMatmul(
      handle_, prepared.product, &alpha, operands.b, prepared.left, operands.a, prepared.right, &beta,
      product.adds_c ? operands.c : operands.d, prepared.added, operands.d, prepared.result, &prepared.algorithm,
      std::bit_cast<void*>(target.workspace), kWorkspaceBytes, target.stream);
  return status == kBlasSuccess ? "" : blas_->failure(status, "cublasLtMatmul");
}

}  // namespace laptime::cuda
