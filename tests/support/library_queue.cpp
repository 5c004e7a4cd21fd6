// Opens the libraries of tests/fake_cuda, and waits after each of their launches.
#include "support/library_queue.h"

#include <string>
#include <utility>

#include "backend/cuda/driver.h"
#include "base/error.h"

namespace laptime::test {

LibraryQueue::LibraryQueue() : HostQueue({.checked = false}), found_(cuda::find_driver()) {
  std::shared_ptr<const cuda::Blas> blas = cuda::find_blas();
  std::shared_ptr<const cuda::Dnn> dnn = cuda::find_dnn();
  if (found_.driver == nullptr || blas == nullptr || dnn == nullptr)
    throw Error("build laptime_fake_cuda, laptime_fake_cublaslt and laptime_fake_cudnn, and run the test with ctest");
  found_.driver->check(found_.driver->cuStreamCreate(&stream_, 0), "cuStreamCreate");
  found_.driver->check(found_.driver->cuMemAlloc(&workspace_, cuda::BlasProducts::kWorkspaceBytes), "cuMemAlloc");
  products_ = std::make_unique<cuda::BlasProducts>(std::move(blas));
  attentions_ = std::make_unique<cuda::DnnAttentions>(std::move(dnn));
}

LibraryQueue::~LibraryQueue() {
  attentions_.reset();
  products_.reset();
  found_.driver->cuMemFree(workspace_);
  found_.driver->cuStreamDestroy(stream_);
}

void LibraryQueue::prepare(const cuda::BlasProduct& product) { products_->prepare(product); }

void LibraryQueue::launch(const cuda::BlasProduct& product, const cuda::BlasOperands& operands) {
  if (const std::string failure = products_->run(product, operands, {stream_, workspace_}); !failure.empty())
    throw Error(failure);
  found_.driver->check(found_.driver->cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

void LibraryQueue::prepare(const cuda::DnnAttention& attention) { attentions_->prepare(attention); }

void LibraryQueue::launch(const cuda::DnnAttention& attention, const cuda::DnnAttentionOperands& operands) {
  if (const std::string failure = attentions_->run(attention, operands, stream_); !failure.empty())
    throw Error(failure);
  found_.driver->check(found_.driver->cuStreamSynchronize(stream_), "cuStreamSynchronize");
}

}  // namespace laptime::test
