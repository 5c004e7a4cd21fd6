// Loads libcudnn.
#include "backend/cuda/libraries/dnn.h"

#include <fmt/format.h>

#include <array>

#include "backend/cuda/libraries/library.h"
#include "base/error.h"

namespace laptime::cuda {
namespace {

void find_functions(Library& library, Dnn& functions) {
  library.find(functions.cudnnGetVersion, "cudnnGetVersion");
  library.find(functions.cudnnGetErrorString, "cudnnGetErrorString");
  library.find(functions.cudnnGetLastErrorString, "cudnnGetLastErrorString");
  library.find(functions.cudnnCreate, "cudnnCreate");
  library.find(functions.cudnnDestroy, "cudnnDestroy");
  library.find(functions.cudnnSetStream, "cudnnSetStream");
  library.find(functions.cudnnBackendCreateDescriptor, "cudnnBackendCreateDescriptor");
  library.find(functions.cudnnBackendDestroyDescriptor, "cudnnBackendDestroyDescriptor");
  library.find(functions.cudnnBackendFinalize, "cudnnBackendFinalize");
  library.find(functions.cudnnBackendSetAttribute, "cudnnBackendSetAttribute");
  library.find(functions.cudnnBackendGetAttribute, "cudnnBackendGetAttribute");
  library.find(functions.cudnnBackendExecute, "cudnnBackendExecute");
}

}  // namespace

std::string Dnn::failure(DnnStatus status, const char* what) const {
  std::array<char, 512> detail{};
  cudnnGetLastErrorString(detail.data(), detail.size());
  const char* const text = cudnnGetErrorString(status);
  return fmt::format("cuda: {} failed: {} (status {}){}{}", what, text == nullptr ? "unknown" : text, status,
                     detail[0] == '\0' ? "" : "; ", detail.data());
}

void Dnn::check(DnnStatus status, const char* what) const {
  if (status != kDnnSuccess) throw Error(failure(status, what));
}

std::shared_ptr<const Dnn> find_dnn(const char* name) {
  Library library(name);
  if (!library.is_loaded()) return nullptr;
  auto functions = std::make_shared<Dnn>();
  find_functions(library, *functions);
  if (library.missing() != nullptr || functions->cudnnGetVersion() < kOldestDnn) return nullptr;
  return functions;
}

}  // namespace laptime::cuda
