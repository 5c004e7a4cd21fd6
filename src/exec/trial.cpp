// Operands for a trial, and its timing.
#include "exec/trial.h"

#include <algorithm>
#include <cstring>

#include "base/random.h"

namespace laptime {
namespace {

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

int64_t Trial::bytes(const Signature& signature, std::span<const Kernel* const> kernels) {
  Size total = 0;
  for (const auto* types : {&signature.in, &signature.out}) {
    for (const TensorType& type : *types) total += bytes_of(type);
  }
  int64_t workspace = 0;
  for (const Kernel* kernel : kernels) workspace = std::max(workspace, kernel->workspace_bytes(signature));
  return (total + workspace).value();
}

Trial::Trial(Backend& backend, const Signature& signature, std::byte* memory)
    : backend_(backend),
      signature_(signature),
      workspace_(memory),
      flops_(flops_of(signature)),
      bytes_(laptime::bytes_of(signature)) {
  for (const auto* types : {&signature.in, &signature.out}) {
    for (const TensorType& type : *types) {
      operands_.push_back({workspace_, type});
      workspace_ += bytes_of(type);
    }
  }
  for (size_t i = 0; i < signature.in.size(); ++i) fill_random(operands_[i], i + 1);
}

Seconds Trial::time(const Kernel& kernel) {
  const std::span<const TensorView> all(operands_);
  const Launch launch{&kernel,
                      &signature_.attributes,
                      all.first(signature_.in.size()),
                      all.subspan(signature_.in.size()),
                      workspace_,
                      flops_,
                      bytes_};
  const Seconds begin = backend_.now();
  backend_.launch(launch);
  backend_.synchronize();
  return backend_.now() - begin;
}

}  // namespace laptime
