// Reduces the batch of long launches, prepares the operands of a trial, and times kernels.
#include "exec/trial.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "base/random.h"

namespace laptime {
namespace {

constexpr int64_t kAlignment = 64;
// For a device with a queue: the pause before a timed launch, during which the host fills the queue, and the length
// below which several launches are timed together.
constexpr Seconds kHeadStart{200e-6}, kShortLaunch{100e-6};
constexpr int kMostLaunches = 20;

int64_t bytes_of(const TensorType& type) {
  return align_up((Size(type.layout.extent()) * size_of(type.dtype)).value(), kAlignment);
}

// Fills the whole extent of a floating-point tensor with random numbers in [-1, 1), and any other tensor with zeros.
void fill_random(Backend& backend, const TensorView& view, uint64_t stream) {
  constexpr int64_t kPeriod = 4096;     // elements after which the numbers repeat; random enough for timing
  constexpr int64_t kRepetitions = 64;  // periods per write
  const int64_t extent = view.type.layout.extent();
  const int64_t period = std::min(kPeriod, extent);
  std::vector<std::byte> bytes(static_cast<size_t>(period * kRepetitions * size_of(view.type.dtype)));
  const TensorView values{bytes.data(), contiguous_type(view.type.dtype, {period})};
  const bool floating = is_floating(view.type.dtype);
  for (int64_t i = 0; i < period; ++i) {
    const auto bits = splitmix64(stream + static_cast<uint64_t>(i)) >> 40U;
    values.store(i, floating ? static_cast<double>(bits) * 0x1p-23 - 1 : 0);
  }
  const int64_t one = values.type.bytes();
  for (int64_t i = 1; i < kRepetitions; ++i)
    std::memcpy(bytes.data() + i * one, bytes.data(), static_cast<size_t>(one));
  const int64_t total = extent * size_of(view.type.dtype);
  for (int64_t done = 0; done < total; done += static_cast<int64_t>(bytes.size()))
    backend.write(view.data + done, bytes.data(), std::min(static_cast<int64_t>(bytes.size()), total - done));
}

}  // namespace

Signature with_smaller_batch(const Signature& signature, double flops) {
  const double all = flops_of(signature);
  // In ops other than contractions, inputs with fewer than three axes may also depend on the batch size.
  if (signature.op->kind != OpKind::kContraction || all <= flops ||
      signature.op->infer(signature.attributes, signature.in) != signature.out)
    return signature;
  Signature smaller = signature;
  int64_t batch = 0;
  for (TensorType& type : smaller.in) {
    if (type.layout.rank() < 3) continue;
    const int64_t size = type.shape()[0];
    if (batch != 0 && size != batch) return signature;
    batch = size;
    const auto sequences = static_cast<int64_t>(flops / all * static_cast<double>(size));
    type.layout = sliced(type.layout, 0, 0, std::clamp<int64_t>(sequences, 1, size), 1);
  }
  smaller.out = smaller.op->infer(smaller.attributes, smaller.in);
  return smaller;
}

int64_t Trial::bytes(const Signature& signature, IndexSet absent, const Kernel& kernel) {
  Size total = kernel.workspace_bytes(signature);
  for (const TensorType& type : signature.in) total += bytes_of(type);
  for (size_t i = 0; i < signature.out.size(); ++i)
    total += absent.contains(static_cast<int>(i)) ? 0 : bytes_of(signature.out[i]);
  return total.value();
}

Trial::Trial(Backend& backend, const Signature& signature, IndexSet absent, DeviceMemory& memory)
    : backend_(backend),
      signature_(signature),
      workspace_(memory.data()),
      flops_(flops_of(signature)),
      bytes_(laptime::bytes_of(signature)) {
  const auto place = [&](const TensorType& type) {
    operands_.push_back({workspace_, type});
    workspace_ += bytes_of(type);
  };
  for (const TensorType& type : signature.in) place(type);
  for (size_t i = 0; i < signature.out.size(); ++i) {
    if (absent.contains(static_cast<int>(i))) {
      operands_.push_back({nullptr, signature.out[i]});
    } else {
      place(signature.out[i]);
    }
  }
  for (size_t i = 0; i < signature.in.size(); ++i) fill_random(backend, operands_[i], i + 1);
}

Launch Trial::launch_of(const Kernel& kernel) const {
  const std::span<const TensorView> all(operands_);
  return {.kernel = &kernel,
          .attributes = &signature_.attributes,
          .in = all.first(signature_.in.size()),
          .out = all.subspan(signature_.in.size()),
          .workspace = workspace_,
          .workspace_bytes = kernel.workspace_bytes(signature_),
          .flops = flops_,
          .bytes = bytes_};
}

void Trial::warm_up(const Kernel& kernel) {
  if (!backend_.has_own_clock() || launched_.contains(&kernel)) return;
  backend_.launch(launch_of(kernel));
  backend_.synchronize();
  launched_.insert(&kernel);
}

Seconds Trial::time(const Kernel& kernel) {
  const Launch launch = launch_of(kernel);
  if (!backend_.has_own_clock()) {
    const Seconds begin = backend_.now();
    backend_.launch(launch);
    backend_.synchronize();
    return backend_.now() - begin;
  }
  warm_up(kernel);
  const Seconds once = time_in_queue(launch, 1);
  if (once >= kShortLaunch) return once;
  const double fitting = 2 * kShortLaunch / std::max(once, kShortLaunch / kMostLaunches);
  return time_in_queue(launch, std::min(static_cast<int>(fitting) + 1, kMostLaunches));
}

Seconds Trial::time_in_queue(const Launch& launch, int launches) {
  backend_.pause(kHeadStart);
  backend_.mark(0);
  for (int i = 0; i < launches; ++i) backend_.launch(launch);
  backend_.mark(1);
  backend_.synchronize();
  return (backend_.time_of_mark(1) - backend_.time_of_mark(0)) / launches;
}

}  // namespace laptime
