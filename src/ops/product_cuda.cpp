// Launches our own CUDA kernel for matrix products.
#include "ops/product_cuda.h"

#include "backend/cuda/gemm.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {

void launch_product(const KernelCall& call, const Product& product) {
  GemmArgs args;
  const Dims& strides = product.b.strides();
  const bool batched = product.b.shape().rank() == 3;
  args.k = product.b.shape()[-2];
  args.n = product.b.shape()[-1];
  args.batches = batched ? product.b.shape()[0] : 1;
  args.m = product.c.numel() / (args.n * args.batches);
  const DeviceRows rows = rows_of(product.a);
  args.a = rows;
  args.a_rows = rows.walk;
  args.a_column = rows.column_stride;
  args.b = device_data(product.b);
  args.b_batch = batched ? strides[0] : 0;
  args.b_row = strides[-2];
  args.b_column = strides[-1];
  args.compute = product.compute;
  if (product.bias != nullptr) {
    args.bias = device_data(*product.bias);
    args.bias_stride = product.bias->strides()[0];
  }
  if (product.addend != nullptr) args.addend = rows_of(*product.addend);
  args.c = device_data(product.c);
  args.c_row = product.c.strides()[-2];
  const auto tiles = [](int64_t size) { return (size + Gemm::kTile - 1) / Gemm::kTile; };
  launch<Gemm>(call, args.batches * tiles(args.m) * tiles(args.n), Gemm::kThreads, args);
}

}  // namespace laptime::cuda
