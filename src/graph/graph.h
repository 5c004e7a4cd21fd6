// Graph: one training step as values and the nodes that compute them, in execution order.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/attributes.h"
#include "tensor/layout.h"

namespace laptime {

struct OpCard;

enum class Phase : uint8_t { kSetup, kForward, kBackward, kOptimizer };
enum class Role : uint8_t {
  kActivation,
  kParameter,
  kGradient,
  kOptimizerState,
  kAutocastCopy,
  kConstant,
  kWorkspace,
  kInput,
};
inline constexpr int kPhaseCount = 4;
inline constexpr int kRoleCount = 8;

const char* name_of(Phase phase);  // "forward"
const char* name_of(Role role);    // "optimizer_state"

// The kind of work that a kernel does. Profiles sum up time by kind of work.
enum class WorkClass : uint8_t {
  kMatmul,
  kAttention,  // scores, softmax and values in one kernel
  kSoftmax,
  kElementwise,
  kReduction,
  kCast,
  kCopy,
  kLoss,
  kOptimizer,
  kCommunication,  // transfers between ranks, and waits for transfers
};
inline constexpr int kWorkClassCount = 10;
const char* name_of(WorkClass work);  // "matmul"

// Index of a value in a graph; by default, no value.
struct ValueId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  friend auto operator<=>(ValueId, ValueId) = default;
};
struct NodeId {
  int32_t index = -1;
  bool valid() const { return index >= 0; }
  friend auto operator<=>(NodeId, NodeId) = default;
};
// Values that share bytes (a tensor and its views, or a state and its next value) share a storage.
struct StorageId {
  int32_t index = -1;
  friend auto operator<=>(StorageId, StorageId) = default;
};

// Part of the model that a node belongs to, so that nodes can be grouped without parsing scope names.
struct Region {
  int64_t layer = -1;   // index in the stack of layers, counted from 0; -1 outside the stack
  std::string part;     // outermost module of the layer or else of the model: "attn", "lm_head"; empty: none
  std::string range{};  // path of the named ranges, "scaled dot product attention/computing softmax"; empty: none
  friend bool operator==(const Region&, const Region&) = default;
};

inline constexpr char kRangeSeparator = '/';

// The scope of a layer, such as "layers.3".
std::string layer_scope(int64_t layer);
inline constexpr const char* kAnyLayerScope = "layers.*";

// Annotations of a value. A pass that replaces the value copies all of them to the replacement.
struct ValueAnnotations {
  std::string name;     // "layers.0.attn.scores" or, for a parameter, "layers.0.ln1.weight"
  std::string held_by;  // a variable of the eager program that keeps the value alive, "frame:variable"
  Region region{};      // place where the value is named
  void merge(const ValueAnnotations& other) {
    if (!other.name.empty()) {
      name = other.name;
      region = other.region;
    }
    if (!other.held_by.empty()) held_by = other.held_by;
  }
};

struct Value {
  TensorType type;
  StorageId storage;
  NodeId producer;  // invalid for a source (parameter, state, input)
  int output = 0;   // index among the outputs of the producer
  Role role = Role::kActivation;
  ValueAnnotations annotations;
};

// A module of the model, and the function of the eager program that runs it.
struct Place {
  std::string scope;  // path of modules, "layers.3.attn.scores"
  std::string frame;  // function whose variables die when it ends; empty: none
  Region region{};    // region of the scope
};

// Annotations of a node. Passes copy all of them. Backward nodes inherit those of their forward node, except phase,
// frame and parts.
struct NodeAnnotations {
  Phase phase = Phase::kForward;
  std::string scope;           // as in Place
  std::string frame;           // as in Place
  bool recomputed = false;     // repeats work of forward: counts for hfu, not mfu
  bool deferred = false;       // a forward node of a row group, which runs when backward first needs the group
  std::vector<Place> parts{};  // for a composite that spans modules: the places of its lowered parts, in order
  Region region{};             // region of the scope
  // Inherited from the composite that the node was lowered from, if the composite's card sets it.
  std::optional<WorkClass> work_class{};
};

struct Node {
  const OpCard* op = nullptr;
  Attributes attributes;
  std::vector<ValueId> inputs;
  std::vector<ValueId> outputs;
  NodeAnnotations annotations;
};

// A value that outlives the step.
struct GraphOutput {
  std::string name;
  ValueId value;
};

struct Graph {
  std::vector<Node> nodes;  // in execution order
  std::vector<Value> values;
  std::vector<ValueId> storage_roots;  // StorageId -> the first value in those bytes
  std::vector<GraphOutput> outputs;

  const Node& node(NodeId id) const { return nodes[static_cast<size_t>(id.index)]; }
  const Value& value(ValueId id) const { return values[static_cast<size_t>(id.index)]; }
  Value& value(ValueId id) { return values[static_cast<size_t>(id.index)]; }
  const Value& root(StorageId id) const { return value(storage_roots[static_cast<size_t>(id.index)]); }
  // The node that computes a value, or null for a source.
  const Node* producer(ValueId id) const;
  // A source or an output by name; invalid if there is none.
  ValueId find_source(const std::string& name) const;
  ValueId find_output(const std::string& name) const;
  // True if a step computes the value in these bytes. Sources and results of set-up exist before the step.
  bool is_of_step(StorageId id) const;
  int64_t storage_bytes(StorageId id) const { return root(id).type.storage_bytes(); }
};

// The graph as text, one line per node (`laptime explain --dump graph`).
std::string print(const Graph& graph);

// Checks the rules that every pass must keep: a value is computed before it is read, types are those that the cards
// infer, and no node or output uses a state after its update. Aborts with the name of the pass `after` if a rule is
// broken.
void verify(const Graph& graph, const std::string& after);

}  // namespace laptime
