// Measures the peak rates of a GPU: matrix products in each number format, and copies within its memory.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "base/error.h"
#include "base/random.h"

namespace laptime::cuda {
namespace {

constexpr int64_t kSmallestProduct = 128, kLargestProduct = 8192;
constexpr Seconds kLongEnough{1e-3};                  // a product that takes this long keeps the whole card busy
constexpr Seconds kTimeOfEach{0.05};                  // time spent repeating each measured product or copy
constexpr int64_t kCopiedBytes = int64_t{256} << 20;  // more than the caches of any card

// Fills memory with elements between -1 and 1. With zeros a card would draw less power and run at a higher clock than
// in a step.
void fill(CudaBackend& backend, DeviceMemory& memory, DType dtype, int64_t count) {
  constexpr int64_t kPattern = int64_t{1} << 16;
  const int64_t element = size_of(dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(kPattern * element));
  const TensorView pattern{bytes.data(), contiguous_type(dtype, {kPattern})};
  for (int64_t i = 0; i < kPattern; ++i) {
    const auto bits = static_cast<double>(splitmix64(static_cast<uint64_t>(i)) >> 11U);
    pattern.store(i, bits * 0x1p-52 - 1);
  }
  for (int64_t begin = 0; begin < count; begin += kPattern) {
    const int64_t part = std::min(kPattern, count - begin) * element;
    backend.write(memory.data() + begin * element, bytes.data(), part);
  }
}

}  // namespace

Seconds CudaBackend::shortest_run(const std::function<void()>& enqueue) {
  enqueue();  // the first run may load kernels
  synchronize();
  const Seconds stop = now() + kTimeOfEach;
  Seconds shortest{1e9};
  do {
    mark(0);
    enqueue();
    mark(1);
    synchronize();
    shortest = std::min(shortest, time_of_mark(1) - time_of_mark(0));
  } while (now() < stop);
  return shortest;
}

double CudaBackend::measure_products(DType factors) {
  double best = 0;
  for (int64_t size = kSmallestProduct; size <= kLargestProduct; size *= 2) {
    const int64_t count = size * size;
    const std::unique_ptr<DeviceMemory> a = allocate(count * size_of(factors));
    const std::unique_ptr<DeviceMemory> b = allocate(count * size_of(factors));
    const std::unique_ptr<DeviceMemory> d = allocate(count * size_of(factors));
    fill(*this, *a, factors, count);
    fill(*this, *b, factors, count);
    const BlasMatrix matrix{.dtype = factors, .leading = size, .batch_stride = count};
    const BlasOperands operands{.a = a->data(), .b = b->data(), .d = d->data()};
    std::optional<Seconds> shortest;
    std::exception_ptr refused;  // cuBLASLt may propose an algorithm and then refuse to run it
    for (int algorithm = 0; algorithm < kBlasAlgorithms; ++algorithm) {
      const BlasProduct product{.m = size,
                                .n = size,
                                .k = size,
                                .a = matrix,
                                .b = matrix,
                                .c = matrix,
                                .d = matrix,
                                .tf32 = options_.tf32 && factors == DType::kFloat32,
                                .algorithm = algorithm};
      try {
        stream_->prepare(product);
        const Seconds run = shortest_run([&] { stream_->launch(product, operands); });
        shortest = std::min(shortest.value_or(run), run);
      } catch (const MissingProposal&) {
        if (algorithm == 0) throw;
        break;
      } catch (const OutOfMemory&) {
        throw;
      } catch (const Error&) {
        refused = std::current_exception();
      }
    }
    if (!shortest) std::rethrow_exception(refused);
    const auto edge = static_cast<double>(size);
    best = std::max(best, 2 * edge * edge * edge / shortest->count());
    if (*shortest > kLongEnough) break;
  }
  return best;
}

double CudaBackend::measure_copies() {
  const std::unique_ptr<DeviceMemory> from = allocate(kCopiedBytes);
  const std::unique_ptr<DeviceMemory> to = allocate(kCopiedBytes);
  const Seconds shortest = shortest_run([&] {
    note_failure(
        driver_->cuMemcpyDtoDAsync(std::bit_cast<DeviceAddress>(to->data()), std::bit_cast<DeviceAddress>(from->data()),
                                   size_t{kCopiedBytes}, stream_->handle),
        "cuMemcpyDtoDAsync");
  });
  return 2 * static_cast<double>(kCopiedBytes) / shortest.count();
}

std::vector<DeviceLimit> CudaBackend::limits(DType factors) {
  std::vector<DeviceLimit> limits{
      {DeviceLimit::Kind::kBandwidth, "copied_bytes_per_second", "bytes/s", [this] { return measure_copies(); }}};
  if (!stream_->has_products()) return limits;
  const bool is_tf32 = options_.tf32 && factors == DType::kFloat32;
  limits.push_back({DeviceLimit::Kind::kProductFlops,
                    fmt::format("{}_product_flops_per_second/cublaslt", is_tf32 ? "tf32" : laptime::name_of(factors)),
                    "FLOP/s", [this, factors] { return measure_products(factors); }});
  return limits;
}

}  // namespace laptime::cuda
