// Emits nodes, and replays graphs for passes.
#include "graph/builder.h"

#include <fmt/format.h>

#include "graph/structural_ops.h"

namespace laptime {

ValueId Builder::add_value(TensorType type, NodeId producer, int output, StorageId storage, Role role) {
  const ValueId id{static_cast<int32_t>(graph_.values.size())};
  if (storage.index < 0) {
    storage = {static_cast<int32_t>(graph_.storage_roots.size())};
    graph_.storage_roots.push_back(id);
  }
  graph_.values.push_back({type, storage, producer, output, role, {}});
  return id;
}

ValueId Builder::source(const std::string& name, const TensorType& type, Role role) {
  const ValueId id = add_value(type, {}, 0, {}, role);
  graph_.value(id).annotations = {name, {}, current.region};
  return id;
}

std::vector<ValueId> Builder::emit(const OpCard& op, const Attributes& attributes, std::span<const ValueId> inputs) {
  for (const ValueId id : inputs) LAPTIME_CHECK(id.valid(), "{} reads no value", op.name);
  std::string constant_key;
  if (op.kind == OpKind::kConstant) {
    constant_key = std::string(op.name) + ' ' + attributes.text();
    if (const auto known = constants_.find(constant_key); known != constants_.end()) return known->second;
  }

  Node node{&op, attributes, {inputs.begin(), inputs.end()}, {}, current};
  std::vector<TensorType> in;
  for (const ValueId id : inputs) in.push_back(type(id));

  if (op.kind == OpKind::kView) {
    auto layout = op.view(attributes, in[0].layout);
    if (!layout) {
      node.inputs[0] = contiguous(*this, inputs[0]);
      layout = op.view(attributes, type(node.inputs[0]).layout);
      LAPTIME_CHECK(layout.has_value(), "{} of a contiguous {}", op.name, in[0].text());
    }
    if (*layout == type(node.inputs[0]).layout) return {node.inputs[0]};  // the view has no effect
    const NodeId node_id{static_cast<int32_t>(graph_.nodes.size())};
    const Value& base = graph_.value(node.inputs[0]);
    node.outputs = {add_value({base.type.dtype, *layout}, node_id, 0, base.storage, base.role)};
    graph_.nodes.push_back(std::move(node));
    return graph_.nodes.back().outputs;
  }

  const NodeId node_id{static_cast<int32_t>(graph_.nodes.size())};
  const std::vector<TensorType> out = op.infer(attributes, in);
  for (size_t i = 0; i < out.size(); ++i) {
    const int state = op.updated_input(static_cast<int>(i));
    StorageId storage;
    Role role = op.kind == OpKind::kConstant ? Role::kConstant : Role::kActivation;
    if (state >= 0) {
      const Value& base = graph_.value(node.inputs[static_cast<size_t>(state)]);
      const bool fits = op.updates_each ? base.type.dtype == out[i].dtype : base.type == out[i];
      LAPTIME_CHECK(fits, "{} updates {} with {}", op.name, base.type.text(), out[i].text());
      storage = base.storage;
      role = base.role;
    }
    node.outputs.push_back(add_value(out[i], node_id, static_cast<int>(i), storage, role));
  }
  if (op.kind == OpKind::kConstant) {
    node.annotations = {Phase::kSetup, {}, {}, false};
    constants_[constant_key] = node.outputs;
  }
  graph_.nodes.push_back(std::move(node));
  return graph_.nodes.back().outputs;
}

ValueId Builder::emit_one(const OpCard& op, const Attributes& attributes, std::initializer_list<ValueId> inputs) {
  return emit(op, attributes, std::span(inputs.begin(), inputs.size()))[0];
}

ValueId Builder::name(ValueId value, const std::string& name) {
  std::string full = current.scope;
  if (!name.empty()) full += (full.empty() ? "" : ".") + name;
  graph_.value(value).annotations.name = full;
  graph_.value(value).annotations.region = current.region;
  return value;
}

ValueId Builder::hold(ValueId value, const std::string& variable) {
  graph_.value(value).annotations.held_by = current.frame + ":" + variable;
  return value;
}

void Builder::annotate(ValueId value, const ValueAnnotations& annotations) {
  graph_.value(value).annotations.merge(annotations);
}

Builder::Scoped::Scoped(Builder& builder, const std::string& module, Region region)
    : builder_(builder), length_(builder.current.scope.size()), outer_(std::move(builder.current.region)) {
  if (!builder_.current.scope.empty() && !module.empty()) builder_.current.scope += '.';
  builder_.current.scope += module;
  builder_.current.region = std::move(region);
}

Builder::Scoped::~Scoped() {
  builder_.current.scope.resize(length_);
  builder_.current.region = std::move(outer_);
}

Builder::Scoped Builder::scope(const std::string& module) {
  Region region = current.region;
  if (region.part.empty()) region.part = module;
  return {*this, module, std::move(region)};
}

Builder::Scoped Builder::range(const std::string& name) {
  Region region = current.region;
  if (!region.range.empty()) region.range += kRangeSeparator;
  region.range += name;
  return {*this, {}, std::move(region)};
}

Builder::Scoped Builder::layer(int64_t index) { return {*this, layer_scope(index), {.layer = index, .part = {}}}; }

Builder::Scoped Builder::scope_of(ValueId value) {
  const ValueAnnotations& annotations = graph_.value(value).annotations;
  return {*this, annotations.name, annotations.region};
}

Builder::Framed::Framed(Builder& builder, const std::string& function)
    : builder_(builder), outer_(builder.current.frame) {
  // Identifies a single call: another micro-batch calls the function in the same scope, but from another frame.
  builder_.current.frame = fmt::format("{}@{} in {}", function, builder_.current.scope, outer_);
}

Builder::Parted::Parted(Builder& builder, size_t part) : builder_(builder), outer_(builder.current) {
  builder_.current.parts.clear();
  if (part >= outer_.parts.size()) return;
  builder_.current.scope = outer_.parts[part].scope;
  builder_.current.frame = outer_.parts[part].frame;
  builder_.current.region = outer_.parts[part].region;
}

void Replay::copy_sources() {
  for (size_t i = 0; i < from.values.size(); ++i) {
    const Value& value = from.values[i];
    if (value.producer.valid()) continue;
    map_[i] = to.source(value.annotations.name, value.type, value.role);
    to.annotate(map_[i], value.annotations);
  }
}

std::vector<ValueId> Replay::mapped(std::span<const ValueId> old_values) const {
  std::vector<ValueId> values;
  for (const ValueId id : old_values) values.push_back((*this)[id]);
  return values;
}

void Replay::copy(const Node& node, const Attributes& attributes, std::span<const ValueId> new_inputs) {
  to.current = node.annotations;
  const std::vector<ValueId> outputs = to.emit(*node.op, attributes, new_inputs);
  for (size_t i = 0; i < outputs.size(); ++i) bind(node.outputs[i], outputs[i]);
}

void Replay::bind(ValueId old_value, ValueId new_value) {
  const Value& old = from.value(old_value);
  map_[static_cast<size_t>(old_value.index)] = new_value;
  to.annotate(new_value, old.annotations);
  // kActivation is the default, so it must not replace a role that a pass has set or that a view or update has
  // inherited.
  if (old.role != Role::kActivation) to.mark_role(new_value, old.role);
}

Graph Replay::finish() {
  for (const GraphOutput& output : from.outputs) to.output(output.name, (*this)[output.value]);
  return to.finish();
}

}  // namespace laptime
