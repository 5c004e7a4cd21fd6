// Operands for a trial, and its timing.
#include "exec/trial.h"

#include <memory>
#include <vector>

#include "base/random.h"

namespace laptime {
namespace {

constexpr int kRuns = 3;
constexpr int64_t kAlignment = 64;

void fill_random(const TensorView& view, uint64_t stream) {
  const int64_t elements = view.type.layout.extent();
  TensorView flat{view.data, contiguous_type(view.type.dtype, {elements})};
  const bool floating = is_floating(view.type.dtype);
  // A short period is as good as none here, and quick to make.
  constexpr int64_t kPeriod = 4096;
  std::vector<double> values;
  for (int64_t i = 0; i < kPeriod; ++i) {
    values.push_back(floating ? static_cast<double>(splitmix64(stream + static_cast<uint64_t>(i)) >> 40U) * 0x1p-23 - 1
                              : 0);
  }
  for (int64_t i = 0; i < elements; ++i) flat.store(i, values[static_cast<size_t>(i % kPeriod)]);
}

}  // namespace

Seconds time_kernel(Backend& backend, const Kernel& kernel, const Signature& signature) {
  std::vector<TensorView> operands;
  Size total = 0;
  const auto place = [&](const TensorType& type) {
    operands.push_back({nullptr, type});
    total += align_up((Size(type.layout.extent()) * size_of(type.dtype)).value(), kAlignment);
  };
  for (const TensorType& type : signature.in) place(type);
  for (const TensorType& type : signature.out) place(type);
  const int64_t workspace = kernel.workspace_bytes(signature);
  const std::unique_ptr<DeviceMemory> memory = backend.allocate((total + workspace + kAlignment).value());
  int64_t offset = 0;
  for (size_t i = 0; i < operands.size(); ++i) {
    operands[i].data = memory->data() + offset;
    offset += align_up(operands[i].type.layout.extent() * size_of(operands[i].type.dtype), kAlignment);
    fill_random(operands[i], i + 1);
  }
  const std::span<const TensorView> all(operands);
  const Launch launch{&kernel,
                      &signature.attributes,
                      all.first(signature.in.size()),
                      all.subspan(signature.in.size()),
                      memory->data() + offset,
                      flops_of(signature),
                      bytes_of(signature)};
  backend.launch(launch);
  backend.synchronize();
  Seconds best{1e30};
  for (int run = 0; run < kRuns; ++run) {
    const Seconds begin = backend.now();
    backend.launch(launch);
    backend.synchronize();
    best = std::min(best, backend.now() - begin);
  }
  return best;
}

}  // namespace laptime
