// Loads libcublasLt.
#include "backend/cuda/blas.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <type_traits>

#include "base/error.h"

namespace laptime::cuda {
namespace {

// Versions whose interface is that of Blas, the newest first.
constexpr const char* kLibraries[] = {"libcublasLt.so.13", "libcublasLt.so.12"};

bool load_functions(void* library, Blas& functions) {
  bool complete = true;
  const auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    complete = complete && function != nullptr;
  };
  load(functions.cublasLtCreate, "cublasLtCreate");
  load(functions.cublasLtDestroy, "cublasLtDestroy");
  load(functions.cublasLtGetVersion, "cublasLtGetVersion");
  load(functions.cublasLtGetStatusString, "cublasLtGetStatusString");
  load(functions.cublasLtMatmulDescCreate, "cublasLtMatmulDescCreate");
  load(functions.cublasLtMatmulDescDestroy, "cublasLtMatmulDescDestroy");
  load(functions.cublasLtMatmulDescSetAttribute, "cublasLtMatmulDescSetAttribute");
  load(functions.cublasLtMatrixLayoutCreate, "cublasLtMatrixLayoutCreate");
  load(functions.cublasLtMatrixLayoutDestroy, "cublasLtMatrixLayoutDestroy");
  load(functions.cublasLtMatrixLayoutSetAttribute, "cublasLtMatrixLayoutSetAttribute");
  load(functions.cublasLtMatmulPreferenceCreate, "cublasLtMatmulPreferenceCreate");
  load(functions.cublasLtMatmulPreferenceDestroy, "cublasLtMatmulPreferenceDestroy");
  load(functions.cublasLtMatmulPreferenceSetAttribute, "cublasLtMatmulPreferenceSetAttribute");
  load(functions.cublasLtMatmulAlgoGetHeuristic, "cublasLtMatmulAlgoGetHeuristic");
  load(functions.cublasLtMatmul, "cublasLtMatmul");
  return complete;
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
    void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);  // stays loaded
    if (library == nullptr) continue;
    auto functions = std::make_shared<Blas>();
    if (load_functions(library, *functions)) return functions;
  }
  return nullptr;
}

}  // namespace laptime::cuda
