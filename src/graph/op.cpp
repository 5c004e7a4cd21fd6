// Names of op kinds, signatures of nodes, and the class of work, bytes and FLOPs of a node.
#include "graph/op.h"

#include <fmt/format.h>

#include <algorithm>

namespace laptime {

const char* name_of(OpKind kind) {
  switch (kind) {
    case OpKind::kConstant: return "constant";
    case OpKind::kView: return "view";
    case OpKind::kPointwise: return "pointwise";
    case OpKind::kReduction: return "reduction";
    case OpKind::kContraction: return "contraction";
    case OpKind::kCopy: return "copy";
    case OpKind::kSymbolic: return "symbolic";
    case OpKind::kCommunication: return "communication";
    case OpKind::kWait: return "wait";
  }
  return "?";
}

namespace {

WorkClass class_of_kind(OpKind kind) {
  switch (kind) {
    case OpKind::kContraction: return WorkClass::kMatmul;
    case OpKind::kReduction: return WorkClass::kReduction;
    case OpKind::kPointwise: return WorkClass::kElementwise;
    case OpKind::kConstant:
    case OpKind::kView:
    case OpKind::kCopy:
    case OpKind::kSymbolic: return WorkClass::kCopy;
    case OpKind::kCommunication:
    case OpKind::kWait: return WorkClass::kCommunication;
  }
  return WorkClass::kCopy;
}

}  // namespace

WorkClass work_class_of(const Node& node) {
  if (node.op->kind == OpKind::kCommunication || node.op->kind == OpKind::kWait) return WorkClass::kCommunication;
  if (node.annotations.phase == Phase::kOptimizer) return WorkClass::kOptimizer;
  if (node.op->is_cast) return WorkClass::kCast;
  if (node.annotations.work_class) return *node.annotations.work_class;
  return node.op->work_class.value_or(class_of_kind(node.op->kind));
}

std::string Signature::text() const {
  std::string text = fmt::format("{}(", op->name);
  for (size_t i = 0; i < in.size(); ++i) {
    if (i > 0) text += ", ";
    TensorType type = in[i];
    type.layout.offset %= kMemoryLineBytes / size_of(type.dtype);
    text += type.text();
  }
  text += ')';
  if (const std::string attributes_text = attributes.text(); !attributes_text.empty())
    text += fmt::format(" {{{}}}", attributes_text);
  return text;
}

Signature signature_of(const Graph& graph, const Node& node) {
  Signature signature{node.op, node.attributes, {}, {}};
  for (const ValueId id : node.inputs) signature.in.push_back(graph.value(id).type);
  for (const ValueId id : node.outputs) signature.out.push_back(graph.value(id).type);
  return signature;
}

int OpCard::updated_input(int output) const {
  if (updates_each) return output;
  const auto found =
      std::find_if(updates.begin(), updates.end(), [&](const Update& update) { return update.output == output; });
  return found == updates.end() ? -1 : found->input;
}

double flops_of(const Signature& signature) {
  return signature.op->flops == nullptr ? 0 : signature.op->flops(signature);
}

double product_flops_of(const Signature& signature) {
  if (signature.op->product_flops != nullptr) return signature.op->product_flops(signature);
  return signature.op->kind == OpKind::kContraction ? flops_of(signature) : 0;
}

int64_t bytes_of(const Signature& signature) {
  if (signature.op->kind == OpKind::kView) return 0;
  if (signature.op->bytes != nullptr) return signature.op->bytes(signature);
  Size bytes = 0;
  for (const TensorType& type : signature.in) {
    // A broadcast operand is read once, so elements along axes of stride 0 are counted once.
    Size elements = 1;
    for (int axis = 0; axis < type.layout.rank(); ++axis) {
      if (type.layout.strides[axis] != 0) elements *= type.layout.shape[axis];
    }
    bytes += elements * size_of(type.dtype);
  }
  for (const TensorType& type : signature.out) bytes += type.bytes();
  return bytes.value();
}

}  // namespace laptime
