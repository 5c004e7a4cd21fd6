// Binding of a plan to memory, and the launch loop.
#include "exec/executor.h"

#include <cmath>
#include <cstring>

namespace laptime {

Executor::Executor(Plan plan, Backend& backend) : plan_(std::move(plan)), backend_(backend) {
  resident_ = backend_.allocate(plan_.resident_bytes);
  arena_ = backend_.allocate(plan_.arena_bytes, Contents::kNan);
  for (const PlanStep& step : plan_.setup) backend_.launch(bind(step).launch);
  backend_.synchronize();
  bound_.reserve(plan_.steps.size());
  for (const PlanStep& step : plan_.steps) bound_.push_back(bind(step));
}

TensorView Executor::view_of(const Operand& operand) const {
  if (operand.buffer < 0) return {nullptr, operand.type};
  const Buffer& buffer = plan_.buffers[static_cast<size_t>(operand.buffer)];
  DeviceMemory& memory = buffer.lifetime == Lifetime::kStep ? *arena_ : *resident_;
  return {memory.data() == nullptr ? nullptr : memory.data() + buffer.offset, operand.type};
}

Executor::BoundStep Executor::bind(const PlanStep& step) const {
  BoundStep bound;
  for (const Operand& operand : step.in) bound.operands.push_back(view_of(operand));
  for (const Operand& operand : step.out) bound.operands.push_back(view_of(operand));
  const std::span<const TensorView> operands(bound.operands);  // its bytes stay where they are when `bound` moves
  bound.launch = {
      step.kernel, &step.attributes, operands.first(step.in.size()), operands.subspan(step.in.size()), nullptr,
      step.flops,  step.bytes};
  if (step.workspace >= 0) bound.launch.workspace = view_of({step.workspace, {}}).data;
  return bound;
}

Timeline Executor::run() {
  Timeline timeline;
  timeline.begin = backend_.now();
  Seconds begin = timeline.begin;
  for (size_t i = 0; i < bound_.size(); ++i) {
    backend_.launch(bound_[i].launch);
    const Phase phase = plan_.steps[i].phase;
    if (i + 1 < bound_.size() && plan_.steps[i + 1].phase == phase) continue;
    backend_.synchronize();
    const Seconds end = backend_.now();
    timeline.events.push_back({static_cast<int>(phase), begin, end});
    begin = end;
  }
  timeline.end = backend_.now();
  return timeline;
}

bool Executor::holds_nan(const TensorView& view) const {
  if (view.data == nullptr || !is_floating(view.type.dtype)) return false;
  for (int64_t i = 0; i < view.numel(); ++i) {
    if (std::isnan(view.at(i))) return true;
  }
  return false;
}

std::optional<Executor::NanSite> Executor::find_nan() {
  for (size_t i = 0; i < bound_.size(); ++i) {
    backend_.launch(bound_[i].launch);
    backend_.synchronize();
    for (const TensorView& out : bound_[i].launch.out) {
      if (holds_nan(out)) return NanSite{plan_.steps[i].kernel->op->name, plan_.steps[i].scope};
    }
  }
  return std::nullopt;
}

bool Executor::write(const std::string& source, const void* bytes, int64_t size) {
  const std::span<std::byte> target = source_bytes(source);
  if (target.empty()) return false;
  LAPTIME_CHECK(static_cast<int64_t>(target.size()) == size, "{} takes {} bytes, not {}", source, target.size(), size);
  backend_.write(target.data(), static_cast<const std::byte*>(bytes), size);
  return true;
}

std::span<std::byte> Executor::source_bytes(const std::string& name) {
  const int index = plan_.find_source(name);
  if (index < 0) return {};
  const Buffer& buffer = plan_.buffers[static_cast<size_t>(index)];
  if (resident_->data() == nullptr) return {};  // a device that computes nothing
  return {resident_->data() + buffer.offset, static_cast<size_t>(buffer.bytes)};
}

std::vector<std::byte> Executor::read(const TensorView& view) const {
  const int64_t element = size_of(view.type.dtype);
  const int64_t extent = view.type.layout.extent() * element;
  std::vector<std::byte> stored(static_cast<size_t>(extent));
  backend_.read(stored.data(), view.data, extent);
  std::vector<std::byte> ordered(static_cast<size_t>(view.type.bytes()));
  for (int64_t i = 0; i < view.numel(); ++i) {
    std::memcpy(ordered.data() + i * element, stored.data() + view.position(i) * element, static_cast<size_t>(element));
  }
  return ordered;
}

std::vector<std::byte> Executor::read_source(const std::string& name) const {
  const int index = plan_.find_source(name);
  if (index < 0) return {};
  const Buffer& buffer = plan_.buffers[static_cast<size_t>(index)];
  std::vector<std::byte> bytes(static_cast<size_t>(buffer.bytes));
  if (resident_->data() == nullptr) return {};
  backend_.read(bytes.data(), resident_->data() + buffer.offset, buffer.bytes);
  return bytes;
}

std::vector<std::byte> Executor::read_output(const std::string& name) const {
  const Operand* operand = plan_.find_output(name);
  return operand == nullptr || !backend_.computes() ? std::vector<std::byte>{} : read(view_of(*operand));
}

}  // namespace laptime
