// Operands for a trial, and its timing.
#include "exec/trial.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"

namespace laptime {
namespace {

constexpr int kRuns = 3;
constexpr double kHopeless = 2;  // times the best so far
constexpr int64_t kAlignment = 64;

int64_t bytes_of(const TensorType& type) {
  return align_up((Size(type.layout.extent()) * size_of(type.dtype)).value(), kAlignment);
}

void fill_random(const TensorView& view, uint64_t stream) {
  // A short period is as good as none here, and quick to make.
  constexpr int64_t kPeriod = 4096;
  const bool floating = is_floating(view.type.dtype);
  const int64_t elements = std::min(kPeriod, view.type.layout.extent());
  const TensorView first{view.data, contiguous_type(view.type.dtype, {elements})};
  for (int64_t i = 0; i < elements; ++i) {
    const auto bits = splitmix64(stream + static_cast<uint64_t>(i)) >> 40U;
    first.store(i, floating ? static_cast<double>(bits) * 0x1p-23 - 1 : 0);
  }
  const int64_t total = view.type.layout.extent() * size_of(view.type.dtype);
  for (int64_t filled = first.type.bytes(); filled < total;) {
    const int64_t more = std::min(filled, total - filled);
    std::memcpy(view.data + filled, view.data, static_cast<size_t>(more));
    filled += more;
  }
}

}  // namespace

Trial::Trial(Backend& backend, const Signature& signature) : backend_(backend), signature_(signature) {
  Size total = kAlignment;
  for (const auto* types : {&signature.in, &signature.out}) {
    for (const TensorType& type : *types) total += bytes_of(type);
  }
  memory_ = backend.allocate(total.value());
  int64_t offset = 0;
  for (const auto* types : {&signature.in, &signature.out}) {
    for (const TensorType& type : *types) {
      operands_.push_back({memory_->data() + offset, type});
      offset += bytes_of(type);
      fill_random(operands_.back(), operands_.size());
    }
  }
}

Seconds Trial::time(const Kernel& kernel, Seconds best) {
  const std::unique_ptr<DeviceMemory> workspace =
      backend_.allocate((Size(kernel.workspace_bytes(signature_)) + kAlignment).value());
  const std::span<const TensorView> all(operands_);
  const Launch launch{
      &kernel,           &signature_.attributes, all.first(signature_.in.size()), all.subspan(signature_.in.size()),
      workspace->data(), flops_of(signature_),   laptime::bytes_of(signature_)};
  const auto run = [&] {
    const Seconds begin = backend_.now();
    backend_.launch(launch);
    backend_.synchronize();
    return backend_.now() - begin;
  };
  const Seconds first = run();
  if (first >= kHopeless * best) return first;
  Seconds shortest = run();
  for (int i = 1; i < kRuns; ++i) shortest = std::min(shortest, run());
  return shortest;
}

}  // namespace laptime
