// Builder, which adds every node of a graph, and Replay, the base of passes that rewrite a graph.
#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"
#include "graph/op.h"

namespace laptime {

class Builder {
 public:
  // The annotations of new nodes; set directly or through Scoped, Framed and Parted.
  NodeAnnotations current;

  // Adds a value that exists before the step: a parameter, a state or an input.
  ValueId source(const std::string& name, const TensorType& type, Role role);

  // Adds a node, determines the types, layouts and storages of its outputs, and returns them. If a view op needs a
  // contiguous input, a copy is inserted. Returns the existing values of a constant that is already in the graph, and
  // the input of a view that changes nothing.
  std::vector<ValueId> emit(const OpCard& op, const Attributes& attributes, std::span<const ValueId> inputs);
  // For ops with one output.
  ValueId emit_one(const OpCard& op, const Attributes& attributes, std::initializer_list<ValueId> inputs);

  // type(), shape() and dtype() return copies, because emitting a node may reallocate the values.
  TensorType type(ValueId id) const { return graph_.value(id).type; }
  Shape shape(ValueId id) const { return graph_.value(id).type.layout.shape; }
  DType dtype(ValueId id) const { return graph_.value(id).type.dtype; }
  const Graph& graph() const { return graph_; }

  // Names a value "SCOPE.name" after the current scope, or only "SCOPE" if `name` is empty. Returns the value.
  ValueId name(ValueId value, const std::string& name);
  // Records that variable `variable` of the current frame of the eager program now refers to `value`.
  ValueId hold(ValueId value, const std::string& variable);
  void annotate(ValueId value, const ValueAnnotations& annotations);
  // Sets the role of a value and of its storage.
  void mark_role(ValueId value, Role role) {
    graph_.value(value).role = role;
    graph_.value(graph_.storage_roots[static_cast<size_t>(graph_.value(value).storage.index)]).role = role;
  }
  void output(const std::string& name, ValueId value) { graph_.outputs.push_back({name, value}); }

  // A module, layer or range that new nodes belong to. The destructor restores the previous scope and region.
  class Scoped {
   public:
    Scoped(Builder& builder, const std::string& module, Region region);
    ~Scoped();
    Scoped(const Scoped&) = delete;
    Scoped& operator=(const Scoped&) = delete;

   private:
    Builder& builder_;
    size_t length_;
    Region outer_;
  };
  // Enters a submodule of the current module. The region's part is the outermost module of the layer or, outside the
  // layers, of the model.
  [[nodiscard]] Scoped scope(const std::string& module);
  // Enters a range within the current range; the scope stays the same. Profiles and traces group by ranges.
  [[nodiscard]] Scoped range(const std::string& name);
  // Enters a layer of the model's stack.
  [[nodiscard]] Scoped layer(int64_t index);
  // Enters the place of a named value: appends the value's name to the scope, and uses the value's region.
  [[nodiscard]] Scoped scope_of(ValueId value);

  // Enters a function of the eager program. The function's variables die after its last node.
  class Framed {
   public:
    Framed(Builder& builder, const std::string& function);
    ~Framed() { builder_.current.frame = std::move(outer_); }
    Framed(const Framed&) = delete;
    Framed& operator=(const Framed&) = delete;

   private:
    Builder& builder_;
    std::string outer_;
  };
  [[nodiscard]] Framed frame(const std::string& function) { return Framed(*this, function); }

  // Enters a part of the composite that is being lowered. The place stays the same if the composite does not name its
  // parts.
  class Parted {
   public:
    Parted(Builder& builder, size_t part);
    ~Parted() { builder_.current = std::move(outer_); }
    Parted(const Parted&) = delete;
    Parted& operator=(const Parted&) = delete;

   private:
    Builder& builder_;
    NodeAnnotations outer_;
  };
  [[nodiscard]] Parted part(size_t index) { return Parted(*this, index); }

  Graph finish() { return std::move(graph_); }

 private:
  ValueId add_value(TensorType type, NodeId producer, int output, StorageId storage, Role role);

  Graph graph_;
  std::map<std::string, std::vector<ValueId>> constants_;  // "op attributes" -> the constant's outputs
};

// The base of a pass: emits the nodes of the old graph, changed or unchanged, into a new builder, and maps old values
// to new ones.
class Replay {
 public:
  explicit Replay(const Graph& from) : from(from), map_(from.values.size()) { copy_sources(); }

  const Graph& from;
  Builder to;

  // Emits the same node with the mapped inputs, or with other attributes and inputs, and binds its outputs.
  void copy(const Node& node) { copy(node, node.attributes, mapped(node.inputs)); }
  void copy(const Node& node, const Attributes& attributes, std::span<const ValueId> new_inputs);
  // Maps `old_value` to `new_value`. Copies the old annotations, and the old role unless it is kActivation.
  void bind(ValueId old_value, ValueId new_value);
  ValueId operator[](ValueId old_value) const { return map_[static_cast<size_t>(old_value.index)]; }
  std::vector<ValueId> mapped(std::span<const ValueId> old_values) const;
  // Maps the outputs and returns the new graph.
  Graph finish();

 private:
  void copy_sources();
  std::vector<ValueId> map_;
};

}  // namespace laptime
