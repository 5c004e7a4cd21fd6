// Opens the libraries of tests/fake_cuda, and waits after each product.
#include "support/library_queue.h"

#include <string>
#include <utility>

#include "backend/cuda/driver.h"
#include "base/error.h"

namespace laptime::test {

LibraryQueue::LibraryQueue() : HostQueue({.checked = false}), found_(cuda::find_driver()) {
  std::shared_ptr<const cuda::Blas> blas = cuda::find_blas();
  if (found_.driver == nullptr || blas == nullptr)
    throw Error("build laptime_fake_cuda and laptime_fake_cublaslt, and run the test by ctest");
  found_.driver->check(found_.driver->cuStreamCreate(&stream_, 0), "cuStreamCreate");
  found_.driver->check(found_.driver->cuMemAlloc(&workspace_, cuda::BlasProducts::kWorkspaceBytes), "cuMemAlloc");
  products_ = std::make_unique<cuda::BlasProducts>(std::move(blas), stream_, workspace_);
}

LibraryQueue::~LibraryQueue() {
  products_.reset();
  found_.driver->cuMemFree(workspace_);
  found_.driver->cuStreamDestroy(stream_);
}

void LibraryQueue::prepare(const cuda::BlasProduct& product) { products_->prepare(product); }

void LibraryQueue::launch(const cuda::BlasProduct& product, const cuda::BlasOperands& operands) {
  if (const std::string failure = products_->run(product, operands); !failure.empty()) throw Error(failure);
  found_.driver->check(found_.driver->cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

}  // namespace laptime::test
