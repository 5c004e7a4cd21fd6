// Binds a plan to memory, and runs the launch loop.
#include "exec/executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace laptime {

Executor::Executor(Plan plan, Backend& backend) : plan_(std::move(plan)), backend_(backend) {
  resident_ = backend_.allocate(plan_.resident_bytes);
  arena_ = backend_.allocate(plan_.arena_bytes, Contents::kNan);
  for (const PlanStep& step : plan_.setup) backend_.launch(bind(step).launch);
  backend_.synchronize();
  bound_.reserve(plan_.steps.size());
  for (const PlanStep& step : plan_.steps) {
    bound_.push_back(bind(step));
    if (phase_runs_.empty() || phase_runs_.back().phase != step.phase) phase_runs_.push_back({step.phase, 0});
    phase_runs_.back().end = bound_.size();
  }
}

TensorView Executor::view_of(const Operand& operand) const {
  if (operand.buffer < 0) return {nullptr, operand.type};
  const Buffer& buffer = plan_.buffers[static_cast<size_t>(operand.buffer)];
  DeviceMemory& memory = buffer.lifetime == Lifetime::kStep ? *arena_ : *resident_;
  return {memory.data() == nullptr ? nullptr : memory.data() + buffer.offset, operand.type};
}

Executor::BoundStep Executor::bind(const PlanStep& step) {
  if (step.kernel->prepare != nullptr) backend_.prepare(*step.kernel, step.signature());
  BoundStep bound;
  for (const Operand& operand : step.in) bound.operands.push_back(view_of(operand));
  for (const Operand& operand : step.out) bound.operands.push_back(view_of(operand));
  // The span stays valid when `bound` moves, because the vector keeps its heap buffer.
  const std::span<const TensorView> operands(bound.operands);
  bound.launch = {
      step.kernel, &step.attributes, operands.first(step.in.size()), operands.subspan(step.in.size()), nullptr,
      step.flops,  step.bytes};
  bound.pause = step.pause;
  if (step.workspace >= 0) bound.launch.workspace = view_of({step.workspace, {}}).data;
  return bound;
}

void Executor::enqueue(Marks marks) {
  const bool each = marks == Marks::kLaunches;
  backend_.mark(0);
  size_t step = 0;
  for (size_t i = 0; i < phase_runs_.size(); ++i) {
    for (; step < phase_runs_[i].end; ++step) {
      backend_.launch(bound_[step].launch);
      if (bound_[step].pause.count() > 0) backend_.pause(bound_[step].pause);
      if (each) backend_.mark(step + 1);
    }
    if (!each) backend_.mark(i + 1);
  }
}

Timeline Executor::run(Marks marks) {
  const bool each = marks == Marks::kLaunches;
  Timeline timeline;
  timeline.begin = backend_.now();
  if (each || recording_ == nullptr) {
    enqueue(marks);
  } else {
    recording_->run();
  }
  backend_.synchronize();
  timeline.end = backend_.now();
  timeline.events.reserve(phase_runs_.size());
  size_t begin = 0;
  for (size_t i = 0; i < phase_runs_.size(); ++i) {
    const size_t end = each ? phase_runs_[i].end : i + 1;
    timeline.events.push_back(
        {static_cast<int>(phase_runs_[i].phase), backend_.time_of_mark(begin), backend_.time_of_mark(end)});
    begin = end;
  }
  // After the first step, in which kernels and libraries load what a recording may not wait for.
  if (recording_ == nullptr) recording_ = backend_.record([this] { enqueue(Marks::kPhases); });
  return timeline;
}

std::vector<Seconds> Executor::launch_times() const {
  std::vector<Seconds> times;
  times.reserve(bound_.size() + 1);
  for (size_t i = 0; i <= bound_.size(); ++i) times.push_back(backend_.time_of_mark(i));
  return times;
}

Seconds Executor::cost_of_mark() {
  constexpr size_t kMarks = 1000;
  backend_.mark(kMarks);  // the vector of marks grows here, not below
  backend_.synchronize();
  const Seconds begin = backend_.now();
  for (size_t i = 0; i < kMarks; ++i) backend_.mark(i);
  backend_.synchronize();
  return (backend_.now() - begin) / static_cast<double>(kMarks);
}

Executor::Worst Executor::worst_of(const TensorView& values) {
  Worst worst = Worst::kUsual;
  for (int64_t i = 0; i < values.numel(); ++i) {
    const double value = values.load(i);
    if (std::isnan(value)) return Worst::kNan;
    if (value == HUGE_VAL) worst = Worst::kInfinity;
  }
  return worst;
}

Executor::Worst Executor::worst_in(const TensorView& view) const {
  if (view.data == nullptr || !is_floating(view.type.dtype)) return Worst::kUsual;
  if (!view.type.layout.is_contiguous()) {  // what lies in the gaps of the layout belongs to other values
    std::vector<std::byte> bytes = read(view);
    return worst_of({bytes.data(), contiguous_type(view.type.dtype, view.shape())});
  }
  // A piece at a time: the step may have left little memory.
  constexpr int64_t kPiece = int64_t{1} << 20;  // elements
  const int64_t element = size_of(view.type.dtype);
  std::vector<std::byte> bytes(static_cast<size_t>(std::min(kPiece, view.numel()) * element));
  Worst worst = Worst::kUsual;
  for (int64_t begin = 0; begin < view.numel() && worst != Worst::kNan; begin += kPiece) {
    const int64_t count = std::min(kPiece, view.numel() - begin);
    backend_.read(bytes.data(), view.data + (view.position(0) + begin) * element, count * element);
    worst = std::max(worst, worst_of({bytes.data(), contiguous_type(view.type.dtype, {count})}));
  }
  return worst;
}

std::optional<Executor::NanSite> Executor::find_nan() {
  for (size_t i = 0; i < bound_.size(); ++i) {
    backend_.launch(bound_[i].launch);
    backend_.synchronize();
    for (const TensorView& out : bound_[i].launch.out) {
      const Worst worst = worst_in(out);
      if (worst == Worst::kUsual) continue;
      return NanSite{plan_.steps[i].kernel->op->name, plan_.steps[i].scope, worst == Worst::kInfinity};
    }
  }
  return std::nullopt;
}

bool Executor::state_holds_nan() const {
  if (!backend_.computes()) return false;
  return std::any_of(plan_.buffers.begin(), plan_.buffers.end(), [&](const Buffer& buffer) {
    if (buffer.lifetime != Lifetime::kPersistent) return false;
    return worst_in({resident_->data() + buffer.offset, buffer.type}) != Worst::kUsual;
  });
}

bool Executor::write(const std::string& source, const void* bytes, int64_t size) {
  const int index = plan_.find_source(source);
  if (index < 0) return false;
  const int64_t expected = plan_.buffers[static_cast<size_t>(index)].bytes;
  LAPTIME_CHECK(expected == size, "{} takes {} bytes, not {}", source, expected, size);
  write(index, 0, {static_cast<const std::byte*>(bytes), static_cast<size_t>(size)});
  return true;
}

void Executor::write(int source, int64_t offset, std::span<const std::byte> bytes) {
  const Buffer& buffer = plan_.buffers[static_cast<size_t>(source)];
  const auto size = static_cast<int64_t>(bytes.size());
  LAPTIME_CHECK(buffer.lifetime != Lifetime::kStep && offset >= 0 && offset + size <= buffer.bytes,
                "{} bytes at {} of {}, which has {}", size, offset, buffer.name, buffer.bytes);
  if (backend_.computes()) backend_.write(resident_->data() + buffer.offset + offset, bytes.data(), size);
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
  if (!backend_.computes()) return {};
  std::vector<std::byte> bytes(static_cast<size_t>(buffer.bytes));
  backend_.read(bytes.data(), resident_->data() + buffer.offset, buffer.bytes);
  return bytes;
}

std::vector<std::byte> Executor::read_output(const std::string& name) const {
  const Operand* operand = plan_.find_output(name);
  return operand == nullptr || !backend_.computes() ? std::vector<std::byte>{} : read(view_of(*operand));
}

}  // namespace laptime
