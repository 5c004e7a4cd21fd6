// Reverse-mode differentiation of the nodes before a symbolic gradients node.
#include "passes/differentiate.h"

#include <algorithm>
#include <vector>

#include "graph/builder.h"
#include "graph/structural_ops.h"
#include "ops/pointwise/pointwise.h"
#include "ops/reduce/reduce.h"

namespace laptime {
namespace {

class Differentiator {
 public:
  Differentiator(Builder& build, ValueId loss, std::span<const ValueId> parameters, std::span<const ValueId> earlier,
                 GradientOrder order)
      : build_(build), order_(order), values_(build.graph().values.size()) {
    for (const ValueId parameter : parameters) at(parameter).depends = at(parameter).parameter = true;
    for (size_t i = 0; i < earlier.size(); ++i) at(parameters[i]).grad = earlier[i];
    for (const Node& node : nodes()) {
      const bool flows = node.op->gradient != nullptr || node.op->kind == OpKind::kSymbolic;
      for (const ValueId input : node.inputs) {
        if (!flows || !at(input).depends) continue;
        for (const ValueId output : node.outputs) at(output).depends = is_floating(build_.dtype(output));
      }
    }
    LAPTIME_CHECK(at(loss).depends, "the loss depends on no parameter");
    count_contributions(loss);
    const Node* producer = build_.graph().producer(loss);
    enter(producer->annotations);
    count_ = nodes().size();
    at(loss).grad = fill(build_, build_.shape(loss), 1, build_.dtype(loss));
  }

  void run() {
    for (size_t i = count_; i-- > 0;) {
      if (std::ranges::none_of(nodes()[i].outputs, [&](ValueId output) { return at(output).grad.valid(); })) continue;
      const Node node = nodes()[i];  // a copy, because emitting may reallocate the nodes
      backward(node);
    }
  }

  ValueId grad(ValueId value) {
    if (!at(value).grad.valid()) at(value).grad = fill(build_, build_.shape(value), 0, build_.dtype(value));
    return at(value).grad;
  }

 private:
  struct ValueState {
    bool depends = false;  // whether the value depends on a parameter
    bool parameter = false;
    int pending = 0;  // contributions to the gradient still to come
    ValueId grad;     // sum of the contributions so far
  };
  ValueState& at(ValueId value) { return values_[static_cast<size_t>(value.index)]; }
  const std::vector<Node>& nodes() const { return build_.graph().nodes; }

  void enter(const NodeAnnotations& forward) {
    build_.current = forward;
    build_.current.phase = Phase::kBackward;
    build_.current.frame.clear();
    build_.current.parts.clear();
  }

  // Counts the contributions to the gradient of each value: one for each use on a path to the loss.
  void count_contributions(ValueId loss) {
    std::vector<bool> reaches(values_.size(), false);
    reaches[static_cast<size_t>(loss.index)] = true;
    for (auto node = nodes().rbegin(); node != nodes().rend(); ++node) {
      bool on_path = false;
      for (const ValueId output : node->outputs)
        on_path |= reaches[static_cast<size_t>(output.index)] && at(output).depends;
      if (!on_path) continue;
      for (const ValueId input : node->inputs) {
        if (!at(input).depends) continue;
        reaches[static_cast<size_t>(input.index)] = true;
        ++at(input).pending;
      }
    }
  }

  void backward(const Node& node) {
    std::vector<ValueId> grad_out;
    for (const ValueId output : node.outputs) grad_out.push_back(at(output).grad);
    enter(node.annotations);
    GradientContext context{build_, node.attributes, node.inputs, node.outputs, grad_out, {}, {}};
    context.weights_first = order_ == GradientOrder::kWeightsFirst;
    for (const ValueId input : node.inputs) context.wanted.push_back(at(input).depends);
    // Nodes that only compute a parameter, such as the node that gathers it, need no gradient.
    if (std::ranges::find(context.wanted, true) == context.wanted.end()) return;
    context.grad_in.resize(node.inputs.size());
    LAPTIME_CHECK(node.op->gradient != nullptr, "{} has no gradient", node.op->name);
    node.op->gradient(context);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (context.wanted[i]) receive(node.inputs[i], context.grad_in[i], node.op->name);
    }
  }

  void receive(ValueId value, ValueId grad, const char* op) {
    LAPTIME_CHECK(grad.valid(), "{} gives no gradient", op);
    ValueState& state = at(value);
    grad = cast(build_, summed_to(grad, build_.shape(value)), build_.dtype(value));
    state.grad = state.grad.valid() ? add(build_, state.grad, grad) : grad;
    --state.pending;
    if (!state.parameter) return;
    if (state.pending == 0 && build_.type(state.grad).layout != build_.type(value).layout)
      state.grad = contiguous(build_, state.grad);
    build_.mark_role(state.grad, Role::kGradient);
  }

  // The gradient of a broadcast input: `grad` summed over the axes along which a tensor of `shape` was repeated.
  ValueId summed_to(ValueId grad, const Shape& shape) {
    const Shape wide = build_.shape(grad);
    if (wide == shape) return grad;
    Dims axes;
    const int lead = wide.rank() - shape.rank();
    for (int i = 0; i < wide.rank(); ++i) {
      if (i < lead || (shape[i - lead] == 1 && wide[i] != 1)) axes.push_back(i);
    }
    return reshape(build_, axes.empty() ? grad : sum(build_, grad, axes), shape);
  }

  Builder& build_;
  const GradientOrder order_;
  size_t count_ = 0;  // number of nodes before backward
  std::vector<ValueState> values_;
};

}  // namespace

Graph differentiate(const Graph& graph, GradientOrder order) {
  Replay replay(graph);
  for (const Node& node : graph.nodes) {
    if (node.op->kind != OpKind::kSymbolic) {
      replay.copy(node);
      continue;
    }
    const std::vector<ValueId> inputs = replay.mapped(node.inputs);
    const std::span<const ValueId> others = std::span(inputs).subspan(1);
    const size_t count = node.outputs.size();
    const std::span<const ValueId> parameters = others.first(count);
    Differentiator differentiator(replay.to, inputs[0], parameters, others.subspan(count), order);
    differentiator.run();
    for (size_t i = 0; i < parameters.size(); ++i) replay.bind(node.outputs[i], differentiator.grad(parameters[i]));
  }
  return replay.finish();
}

}  // namespace laptime
