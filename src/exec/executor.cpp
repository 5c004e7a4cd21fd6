// Binds a plan to memory, and runs the launch loop.
#include "exec/executor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/host_clock.h"

namespace laptime {

Executor::Executor(Plan plan, Backend& backend) : plan_(std::move(plan)), backend_(backend) {
  resident_ = backend_.allocate(plan_.resident_bytes);
  pool_ = backend_.step_pool();
  if (pool_ == nullptr) arena_ = backend_.allocate(plan_.arena_bytes, Contents::kNan);
  pooled_.resize(plan_.buffers.size());
  is_output_.resize(plan_.buffers.size());
  for (const PlanOutput& output : plan_.outputs) is_output_[static_cast<size_t>(output.operand.buffer)] = true;
  feeds_setup_.resize(plan_.buffers.size());
  for (const PlanStep& step : plan_.setup) {
    setup_.push_back(bind(step));
    for (const Operand& operand : step.in) feeds_setup_[static_cast<size_t>(operand.buffer)] = true;
  }
  bound_.reserve(plan_.steps.size());
  for (const PlanStep& step : plan_.steps) {
    bound_.push_back(bind(step));
    if (phase_runs_.empty() || phase_runs_.back().phase != step.phase) phase_runs_.push_back({step.phase, 0});
    phase_runs_.back().end = bound_.size();
    if (backend_.names_ranges()) ranges_.push_back(ranges_of(step));
  }
}

TensorView Executor::view_of(const Operand& operand) const {
  if (operand.buffer < 0) return {nullptr, operand.type};
  const auto index = static_cast<size_t>(operand.buffer);
  const Buffer& buffer = plan_.buffers[index];
  if (pool_ != nullptr && buffer.lifetime == Lifetime::kStep) return {pooled_[index], operand.type};
  DeviceMemory& memory = buffer.lifetime == Lifetime::kStep ? *arena_ : *resident_;
  return {memory.data() == nullptr ? nullptr : memory.data() + buffer.offset, operand.type};
}

Executor::BoundStep Executor::bind(const PlanStep& step) {
  if (step.kernel->prepare != nullptr) backend_.prepare(*step.kernel, step.signature());
  BoundStep bound;
  for (const std::vector<Operand>* const operands : {&step.in, &step.out}) {
    for (const Operand& operand : *operands) {
      bound.operands.push_back(view_of(operand));
      bound.buffers.push_back(operand.buffer);
    }
  }
  // The span remains valid when `bound` is moved, because the vector keeps its heap buffer.
  const std::span<const TensorView> operands(bound.operands);
  bound.launch = {.kernel = step.kernel,
                  .attributes = &step.attributes,
                  .in = operands.first(step.in.size()),
                  .out = operands.subspan(step.in.size()),
                  .flops = step.flops,
                  .bytes = step.bytes,
                  .communicates = step.queue == kCommunicationQueue};
  bound.awaited = awaited_by(step);
  bound.pause = step.pause;
  if (step.workspace >= 0) {
    bound.launch.workspace = view_of({step.workspace, {}}).data;
    bound.launch.workspace_bytes = plan_.buffers[static_cast<size_t>(step.workspace)].bytes;
  }
  return bound;
}

// Returns how many communication launches must be done before the step. The communication queue itself waits for
// earlier computation, so the result for a communication step is 0.
size_t Executor::awaited_by(const PlanStep& step) const {
  if (step.queue == kCommunicationQueue || step.waits.empty()) return 0;
  const int last = *std::max_element(step.waits.begin(), step.waits.end());
  return static_cast<size_t>(std::count_if(plan_.steps.begin(), plan_.steps.begin() + last + 1,
                                           [](const PlanStep& one) { return one.queue == kCommunicationQueue; }));
}

void Executor::await(size_t number) {
  if (number < bound_.size() && bound_[number].awaited > 0) backend_.wait_for_communication(bound_[number].awaited);
}

void Executor::enqueue_step(size_t number) {
  BoundStep& step = bound_[number];
  if (pool_ != nullptr) {
    const auto address = [&](int buffer) { return pooled_[static_cast<size_t>(buffer)]; };
    const auto is_pooled = [&](int buffer) {
      return buffer >= 0 && plan_.buffers[static_cast<size_t>(buffer)].lifetime == Lifetime::kStep;
    };
    for (size_t i = 0; i < step.buffers.size(); ++i) {
      if (is_pooled(step.buffers[i])) step.operands[i].data = address(step.buffers[i]);
    }
    if (const int workspace = plan_.steps[number].workspace; is_pooled(workspace))
      step.launch.workspace = address(workspace);
  }
  if (!ranges_.empty()) move_to_ranges(&ranges_[number]);
  backend_.launch(step.launch);
  if (step.pause.count() > 0) backend_.pause(step.pause);
}

std::vector<std::string> Executor::ranges_of(const PlanStep& step) {
  std::vector<std::string> ranges{name_of(step.phase)};
  std::string_view rest = step.region.range;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find(kRangeSeparator), rest.size());
    ranges.emplace_back(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return ranges;
}

void Executor::move_to_ranges(const std::vector<std::string>* ranges) {
  size_t common = 0;
  while (ranges != nullptr && common < std::min(ranges->size(), open_ranges_.size()) &&
         (*ranges)[common] == open_ranges_[common]) {
    ++common;
  }
  for (; open_ranges_.size() > common; open_ranges_.pop_back()) backend_.end_range();
  for (size_t i = common; ranges != nullptr && i < ranges->size(); ++i) {
    open_ranges_.push_back((*ranges)[i]);
    backend_.begin_range(open_ranges_.back().c_str());
  }
}

void Executor::free_outputs() {
  for (std::byte*& address : pooled_) {
    if (address != nullptr) pool_->free(address);
    address = nullptr;
  }
}

template <class After>
void Executor::enqueue_steps(const After& after) {
  if (pool_ == nullptr) {
    for (size_t step = 0; step < bound_.size(); ++step) {
      enqueue_step(step);
      if (!after(step)) return;
      await(step + 1);
    }
    return;
  }
  free_outputs();
  for (const Action& action : plan_.actions) {
    const auto index = static_cast<size_t>(action.index);
    switch (action.kind) {
      case Action::Kind::kAlloc: pooled_[index] = pool_->allocate(plan_.buffers[index].bytes); break;
      case Action::Kind::kStep:
        enqueue_step(index);
        if (!after(index)) return;
        await(index + 1);  // before freeing buffers that communication uses
        break;
      case Action::Kind::kFree:
        if (is_output_[index] || pooled_[index] == nullptr) break;
        pool_->free(pooled_[index]);
        pooled_[index] = nullptr;
    }
  }
}

void Executor::set_up() {
  if (!needs_setup_.exchange(false)) return;
  for (const BoundStep& step : setup_) backend_.launch(step.launch);
  backend_.synchronize();
}

void Executor::enqueue(Marks marks) {
  const bool each = marks == Marks::kLaunches;
  backend_.mark(0);
  size_t phase_run = 0;
  enqueue_steps([&](size_t step) {
    const bool ends_phase = step + 1 == phase_runs_[phase_run].end;
    if (ends_phase) ++phase_run;
    if (each) backend_.mark(step + 1);
    if (!each && ends_phase) backend_.mark(phase_run);
    return true;
  });
  move_to_ranges(nullptr);
}

Timeline Executor::run(Marks marks) {
  Timeline timeline = run_step(marks == Marks::kLaunches ? nullptr : recording_.get(), marks);
  // The step is recorded only after its first run: in that run, kernels and libraries load code, which a recording must
  // not include.
  if (recording_ == nullptr && backend_.records_steps()) {
    recording_ = backend_.record([this] { enqueue(Marks::kPhases); });
    LAPTIME_CHECK(recording_ != nullptr, "{} cannot record steps", backend_.name());
  }
  return timeline;
}

std::vector<Timeline> Executor::run_recorded(int64_t count, const std::function<void()>& before) {
  std::unique_ptr<StepPool> pool;
  const auto bind_again = [this] {
    for (size_t i = 0; i < bound_.size(); ++i) {
      BoundStep& step = bound_[i];
      for (size_t k = 0; k < step.buffers.size(); ++k)
        step.operands[k].data = view_of({step.buffers[k], step.operands[k].type}).data;
      if (const int workspace = plan_.steps[i].workspace; workspace >= 0)
        step.launch.workspace = view_of({workspace, {}}).data;
    }
  };
  if (pool_ != nullptr) {
    free_outputs();
    try {
      arena_ = backend_.allocate(plan_.arena_bytes);
    } catch (const OutOfMemory&) {
      return {};
    }
    pool = std::move(pool_);
    bind_again();
  }
  std::unique_ptr<Recording> recording;
  try {
    recording = backend_.record([this] { enqueue(Marks::kPhases); });
  } catch (const OutOfMemory&) {
    // Without a recording, no steps are returned.
  }
  std::vector<Timeline> steps;
  for (int64_t i = 0; i < count && recording != nullptr; ++i) {
    before();
    steps.push_back(run_step(recording.get(), Marks::kPhases));
  }
  if (pool != nullptr) {
    pool_ = std::move(pool);
    arena_.reset();
  }
  return steps;
}

Timeline Executor::run_step(Recording* recording, Marks marks) {
  set_up();
  const bool each = marks == Marks::kLaunches;
  Timeline timeline;
  timeline.begin = backend_.now();
  const Seconds host_begin = host_now();
  if (recording == nullptr) {
    enqueue(marks);
  } else {
    recording->run();
  }
  backend_.synchronize();
  if (backend_.has_own_clock()) timeline.host = host_now() - host_begin;
  timeline.end = backend_.now();
  const CommunicationTimes communication = backend_.communication_times();
  for (const CommunicationTime& launch : communication.launches) timeline.communication += launch.end - launch.begin;
  timeline.exposed = communication.waited;
  timeline.events.reserve(phase_runs_.size());
  size_t begin = 0;
  for (size_t i = 0; i < phase_runs_.size(); ++i) {
    const size_t end = each ? phase_runs_[i].end : i + 1;
    timeline.events.push_back(
        {static_cast<int>(phase_runs_[i].phase), backend_.time_of_mark(begin), backend_.time_of_mark(end)});
    begin = end;
  }
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
  backend_.mark(kMarks);  // the vector of marks grows here and not in the loop below
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
  if (!view.type.layout.is_contiguous()) {  // bytes in the gaps of the layout belong to other values
    std::vector<std::byte> bytes = read(view);
    return worst_of({bytes.data(), contiguous_type(view.type.dtype, view.shape())});
  }
  // Copies in pieces, because the step may have left little memory.
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
  set_up();
  std::optional<NanSite> site;
  enqueue_steps([&](size_t step) {
    backend_.synchronize();
    for (const TensorView& out : bound_[step].launch.out) {
      const Worst worst = worst_in(out);
      if (worst == Worst::kUsual) continue;
      site = NanSite{plan_.steps[step].kernel->op->name, plan_.steps[step].scope, worst == Worst::kInfinity};
      return false;
    }
    return true;
  });
  return site;
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
                "cannot write {} bytes at offset {} of {}, which has {} bytes", size, offset, buffer.name,
                buffer.bytes);
  if (feeds_setup_[static_cast<size_t>(source)]) needs_setup_ = true;
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
  if (index < 0 || !backend_.computes()) return {};
  const Buffer& buffer = plan_.buffers[static_cast<size_t>(index)];
  std::vector<std::byte> bytes(static_cast<size_t>(buffer.bytes));
  backend_.read(bytes.data(), resident_->data() + buffer.offset, buffer.bytes);
  return bytes;
}

std::vector<std::byte> Executor::read_output(const std::string& name) const {
  const Operand* operand = plan_.find_output(name);
  return operand == nullptr || !backend_.computes() ? std::vector<std::byte>{} : read(view_of(*operand));
}

}  // namespace laptime
