// Builds a plan from a graph: kernels, buffers, live ranges, offsets and actions.
#include "plan/plan.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "graph/op.h"
#include "plan/elide.h"
#include "plan/memory_plan.h"
#include "plan/step_order.h"

namespace laptime {
namespace {

constexpr int kNever = -1;

class Planner {
 public:
  Planner(const Graph& graph, const ChooseKernel& choose)
      : graph_(graph),
        choose_(choose),
        elided_(elide_assignments(graph)),
        buffer_of_(graph.storage_roots.size(), kNever) {}

  Plan run() {
    make_resident_buffers();
    for (const Node& node : graph_.nodes) {
      if (node.op->kind == OpKind::kView) continue;
      if (node.annotations.phase == Phase::kSetup) plan_.setup.push_back(step_of(node));
    }
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (node.annotations.phase == Phase::kSetup || node.op->kind == OpKind::kView || elided_.dropped[i]) continue;
      now_ = static_cast<int>(plan_.steps.size());
      node_step_[static_cast<int>(i)] = now_;
      plan_.steps.push_back(step_of(node));
      use_operands(plan_.steps.back());
    }
    extend_held_variables();
    for (const GraphOutput& output : graph_.outputs) {
      const Operand operand = operand_of(output.value);
      plan_.outputs.push_back({output.name, operand});
      extend(operand.buffer, static_cast<int>(plan_.steps.size()));
    }
    extend_across_queues();
    place_buffers();
    list_actions();
    return std::move(plan_);
  }

 private:
  struct LiveRange {
    int first = kNever;
    int last = kNever;
  };
  struct Use {  // the last steps of one queue that read and wrote a buffer
    int read = kNever;
    int written = kNever;
  };

  StorageId storage_of(ValueId value) const {
    return elided_.storage[static_cast<size_t>(graph_.value(value).storage.index)];
  }

  static Lifetime lifetime_of(Role role) {
    if (role == Role::kInput) return Lifetime::kInput;
    if (role == Role::kConstant) return Lifetime::kConstant;
    return Lifetime::kPersistent;
  }

  int add_buffer(Buffer buffer) {
    plan_.buffers.push_back(std::move(buffer));
    live_ranges_.push_back({});
    return static_cast<int>(plan_.buffers.size()) - 1;
  }

  // Adds a buffer for each source. Buffers of constants are added by their set-up steps.
  void make_resident_buffers() {
    for (const Value& value : graph_.values) {
      if (value.producer.valid()) continue;
      Buffer buffer{
          value.type.bytes(), lifetime_of(value.role), value.role, 0, value.annotations.name, {}, {}, Phase::kSetup,
          value.type};
      buffer_of_[static_cast<size_t>(value.storage.index)] = add_buffer(std::move(buffer));
    }
  }

  Operand operand_of(ValueId value) {
    int& buffer = buffer_of_[static_cast<size_t>(storage_of(value).index)];
    if (buffer == kNever) {
      const Value& root = graph_.root(storage_of(value));
      const Node& producer = graph_.node(root.producer);
      const Lifetime after_set_up =
          producer.op->kind == OpKind::kConstant ? Lifetime::kConstant : Lifetime::kPersistent;
      const Lifetime lifetime = producer.annotations.phase == Phase::kSetup ? after_set_up : Lifetime::kStep;
      buffer = add_buffer({root.type.storage_bytes(), lifetime, root.role, 0, root.annotations.name, producer.op->name,
                           producer.annotations.scope, producer.annotations.phase, root.type});
    }
    return {buffer, graph_.value(value).type};
  }

  bool is_read(ValueId value) {
    if (is_read_.empty()) {
      is_read_.resize(graph_.storage_roots.size(), false);
      for (const Node& node : graph_.nodes) {
        if (node.op->kind == OpKind::kView) continue;
        for (const ValueId input : node.inputs) is_read_[static_cast<size_t>(graph_.value(input).storage.index)] = true;
      }
      for (const GraphOutput& output : graph_.outputs)
        is_read_[static_cast<size_t>(graph_.value(output.value).storage.index)] = true;
    }
    return is_read_[static_cast<size_t>(graph_.value(value).storage.index)];
  }

  PlanStep step_of(const Node& node) {
    const Signature signature = signature_of(graph_, node);
    PlanStep step;
    step.kernel = choose_(signature);
    if (step.kernel == nullptr) throw Error::format("this device has no kernel for {}", signature.text());
    step.attributes = node.attributes;
    for (const ValueId input : node.inputs) step.in.push_back(operand_of(input));
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      const bool is_absent = node.op->optional_outputs.contains(static_cast<int>(i)) && !is_read(node.outputs[i]);
      step.out.push_back(is_absent ? Operand{kNever, graph_.value(node.outputs[i]).type} : operand_of(node.outputs[i]));
    }
    if (const int64_t bytes = step.kernel->workspace_bytes(signature); bytes > 0) {
      step.workspace = add_buffer({bytes,
                                   node.annotations.phase == Phase::kSetup ? Lifetime::kConstant : Lifetime::kStep,
                                   Role::kWorkspace,
                                   0,
                                   {},
                                   node.op->name,
                                   node.annotations.scope,
                                   node.annotations.phase,
                                   {}});
    }
    step.queue = node.op->kind == OpKind::kCommunication ? kCommunicationQueue : kComputeQueue;
    step.phase = node.annotations.phase;
    step.scope = node.annotations.scope;
    step.region = node.annotations.region;
    step.work_class = work_class_of(node);
    step.flops = flops_of(signature);
    step.bytes = bytes_of(signature);
    step.recomputed = node.annotations.recomputed;
    return step;
  }

  void extend(int buffer, int until) {
    if (buffer == kNever) return;
    LiveRange& range = live_ranges_[static_cast<size_t>(buffer)];
    if (range.first == kNever) range.first = until;
    range.last = std::max(range.last, until);
  }

  void use_operands(PlanStep& step) {
    // Communication waits for all computation before it in the order of steps.
    if (step.queue == kCommunicationQueue && last_computation_ != kNever) step.waits.push_back(last_computation_);
    if (step.queue == kComputeQueue) last_computation_ = now_;
    for (const Operand& operand : step.in) use(step, operand.buffer, false);
    for (const Operand& operand : step.out) use(step, operand.buffer, true);
    use(step, step.workspace, true);
  }

  // Makes the step wait for conflicting steps in other queues: a reader for the last write of the buffer, and a writer
  // for the last read or write.
  void use(PlanStep& step, int buffer, bool writes) {
    if (buffer == kNever) return;
    extend(buffer, now_);
    uses_.resize(plan_.buffers.size());
    std::map<int, Use>& uses = uses_[static_cast<size_t>(buffer)];
    for (const auto& [queue, use] : uses) {
      const int before = writes ? std::max(use.read, use.written) : use.written;
      const bool is_listed = std::find(step.waits.begin(), step.waits.end(), before) != step.waits.end();
      if (queue != step.queue && before != kNever && !is_listed) step.waits.push_back(before);
    }
    (writes ? uses[step.queue].written : uses[step.queue].read) = now_;
  }

  // Extends the live range of each buffer until the buffer's uses are guaranteed to be done in every queue.
  void extend_across_queues() {
    const StepOrder order(plan_.steps);
    if (order.queues() == 1) return;
    for (size_t buffer = 0; buffer < uses_.size(); ++buffer) {
      std::vector<int> last;
      for (const auto& [queue, use] : uses_[buffer]) last.push_back(std::max(use.read, use.written));
      if (last.empty()) continue;
      auto end = static_cast<size_t>(order.last_concurrent(last));
      // A pool frees buffers in the order of the computation queue, which waits for communication only before its next
      // computation.
      while (uses_[buffer].contains(kCommunicationQueue) && end + 1 < plan_.steps.size() &&
             plan_.steps[end + 1].queue == kCommunicationQueue) {
        ++end;
      }
      extend(static_cast<int>(buffer), static_cast<int>(end));
    }
  }

  // Extends the live range of each value that a variable of the eager program holds until the variable is reassigned or
  // its function ends.
  void extend_held_variables() {
    std::map<std::string, int> frame_end;  // last step of each frame
    for (const auto& [node, step] : node_step_) {
      const NodeAnnotations& annotations = graph_.nodes[static_cast<size_t>(node)].annotations;
      if (!annotations.frame.empty() && annotations.phase != Phase::kOptimizer) frame_end[annotations.frame] = step;
    }
    std::map<std::string, ValueId> variables;
    for (size_t i = 0; i < graph_.values.size(); ++i) {
      const Value& value = graph_.values[i];
      const std::string& variable = value.annotations.held_by;
      if (variable.empty() || !value.producer.valid()) continue;
      const ValueId id{static_cast<int32_t>(i)};
      if (variable.starts_with(':')) {  // the variable belongs to no function
        extend(operand_of(id).buffer, end_of_forward(producing_step(id)));
        continue;
      }
      if (const auto previous = variables.find(variable); previous != variables.end()) {
        extend(operand_of(previous->second).buffer, producing_step(id));
      }
      variables[variable] = id;
    }
    for (const auto& [variable, value] : variables) {
      const auto end = frame_end.find(variable.substr(0, variable.find(':')));
      if (end != frame_end.end()) extend(operand_of(value).buffer, end->second);
    }
  }

  // The last step of forward in the micro-batch of `step`.
  int end_of_forward(int step) const {
    const auto is_forward = [](const PlanStep& next) { return next.phase == Phase::kForward; };
    while (static_cast<size_t>(step) + 1 < plan_.steps.size() && is_forward(plan_.steps[static_cast<size_t>(step) + 1]))
      ++step;
    return step;
  }

  // The step that produces a value or, for a view, the underlying value.
  int producing_step(ValueId value) const {
    const auto found = node_step_.find(graph_.value(value).producer.index);
    if (found != node_step_.end()) return found->second;
    const auto root = node_step_.find(graph_.root(graph_.value(value).storage).producer.index);
    return root == node_step_.end() ? 0 : root->second;
  }

  void place_buffers() {
    std::vector<LiveBytes> intervals;
    std::vector<int> members;
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      Buffer& buffer = plan_.buffers[i];
      if (buffer.lifetime == Lifetime::kStep) {
        if (live_ranges_[i].first == kNever) continue;  // never written, because its assignment was elided
        intervals.push_back({buffer.bytes, live_ranges_[i].first, live_ranges_[i].last});
        members.push_back(static_cast<int>(i));
      } else {
        buffer.offset = plan_.resident_bytes;
        plan_.resident_bytes = (Size(plan_.resident_bytes) + align_up(buffer.bytes, kBufferAlignment)).value();
      }
    }
    const MemoryPlan memory = place(intervals);
    for (size_t i = 0; i < members.size(); ++i)
      plan_.buffers[static_cast<size_t>(members[i])].offset = memory.offsets[i];
    plan_.arena_bytes = memory.arena_bytes;
    plan_.live_peak_bytes = memory.live_peak_bytes;
    plan_.peak_step = memory.peak_at;
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      const Buffer& buffer = plan_.buffers[i];
      const bool alive = live_ranges_[i].first <= memory.peak_at && memory.peak_at <= live_ranges_[i].last &&
                         live_ranges_[i].first != kNever;
      if (buffer.lifetime != Lifetime::kStep || alive)
        plan_.peak_bytes_by_role[static_cast<size_t>(buffer.role)] += buffer.bytes;
    }
  }

  void list_actions() {
    const size_t steps = plan_.steps.size();
    std::vector<std::vector<int>> first_use(steps + 1);
    std::vector<std::vector<int>> last_use(steps + 1);
    for (size_t i = 0; i < plan_.buffers.size(); ++i) {
      if (plan_.buffers[i].lifetime != Lifetime::kStep || live_ranges_[i].first == kNever) continue;
      first_use[static_cast<size_t>(live_ranges_[i].first)].push_back(static_cast<int>(i));
      last_use[static_cast<size_t>(live_ranges_[i].last)].push_back(static_cast<int>(i));
    }
    for (size_t step = 0; step <= steps; ++step) {
      for (const int buffer : first_use[step]) plan_.actions.push_back({Action::Kind::kAlloc, buffer});
      if (step < steps) plan_.actions.push_back({Action::Kind::kStep, static_cast<int>(step)});
      for (const int buffer : last_use[step]) plan_.actions.push_back({Action::Kind::kFree, buffer});
    }
  }

  const Graph& graph_;
  const ChooseKernel& choose_;
  const Elision elided_;
  std::vector<int> buffer_of_;            // storage -> buffer
  std::vector<LiveRange> live_ranges_;    // buffer -> first and last step
  std::vector<std::map<int, Use>> uses_;  // buffer -> queue -> steps
  std::map<int, int> node_step_;          // node -> step
  std::vector<bool> is_read_;             // storage -> whether a node or an output reads it
  int now_ = 0;
  int last_computation_ = kNever;  // the last step of the compute queue
  Plan plan_;
};

}  // namespace

const char* name_of(Lifetime lifetime) {
  switch (lifetime) {
    case Lifetime::kStep: return "step";
    case Lifetime::kPersistent: return "persistent";
    case Lifetime::kConstant: return "constant";
    case Lifetime::kInput: return "input";
  }
  return "?";
}

Signature PlanStep::signature() const {
  Signature signature{kernel->op, attributes, {}, {}};
  for (const Operand& operand : in) signature.in.push_back(operand.type);
  for (const Operand& operand : out) signature.out.push_back(operand.type);
  return signature;
}

int Plan::find_source(const std::string& name) const {
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].name == name && buffers[i].op.empty() && buffers[i].lifetime != Lifetime::kStep)
      return static_cast<int>(i);
  }
  return kNever;
}

const Operand* Plan::find_output(const std::string& name) const {
  const auto found =
      std::find_if(outputs.begin(), outputs.end(), [&](const PlanOutput& output) { return output.name == name; });
  return found == outputs.end() ? nullptr : &found->operand;
}

double Plan::flops(Phase phase) const {
  double total = 0;
  for (const PlanStep& step : steps) total += step.phase == phase && !step.recomputed ? step.flops : 0;
  return total;
}

bool Plan::has(Phase phase) const {
  return std::any_of(steps.begin(), steps.end(), [&](const PlanStep& step) { return step.phase == phase; });
}

Plan make_plan(const Graph& graph, const ChooseKernel& choose) { return Planner(graph, choose).run(); }

}  // namespace laptime
