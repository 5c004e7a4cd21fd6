// Loads libcublasLt.
#include "backend/cuda/libraries/blas.h"

#include <fmt/format.h>

#include "backend/cuda/libraries/library.h"
#include "base/error.h"

namespace laptime::cuda {
namespace {

// Library versions that have the functions of Blas, newest first.
constexpr const char* kLibraries[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

void find_functions(Library& library, Blas& functions) {
  library.find(functions.cublasLtCreate, "cublasLtCreate");
  library.find(functions.cublasLtDestroy, "cublasLtDestroy");
  library.find(functions.cublasLtGetVersion, "cublasLtGetVersion");
  library.find(functions.cublasLtGetStatusString, "cublasLtGetStatusString");
  library.find(functions.cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate");
  library.find(functions.cublasLtMatmulDescDestroy, "cublasLtMatmulDescDestroy");
  library.find(functions.cublasLtMatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute");
  library.find(functions.cublasLtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate");
  library.find(functions.cublasLtMatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy");
  library.find(functions.cublasLtMatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute");
  library.find(functions.cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate");
  library.find(functions.cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy");
  library.find(functions.cublasLtMatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute");
  library.find(functions.cublasLtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic");
  library.find(functions.cublasLtMatmul, "cublasLtMatmul");
}

}  // namespace

std::string Blas::failure(BlasStatus status, const char* what) const {
  const char* const text = cublasLtGetStatusString(status);
  return fmt::format("cuda: {} failed: {} (status {})", what, text == nullptr ? "unknown" : text, status);
}

void Blas::check(BlasStatus status, const char* what) const {
  if (status != kBlasSuccess) throw Error(failure(status, what));
}

std::shared_ptr<const Blas> find_blas() {
  for (const char* const name : kLibraries) {
    Library library(name);
    if (!library.is_loaded()) continue;
    auto functions = std::make_shared<Blas>();
    find_functions(library, *functions);
    if (library.missing() == nullptr) return functions;
  }
  return nullptr;
}

}  // namespace laptime::cuda
