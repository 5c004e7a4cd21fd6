// Plan: which kernel runs, in which order, in which bytes. A plain value; the graph is not needed any more.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "graph/graph.h"

namespace laptime {

enum class Lifetime : uint8_t { kStep, kPersistent, kConstant, kInput };
const char* name_of(Lifetime lifetime);

// Bytes with a place. Step buffers share one arena; all others have their own bytes for the whole run.
struct Buffer {
  int64_t bytes = 0;
  Lifetime lifetime = Lifetime::kStep;
  Role role = Role::kActivation;
  int64_t offset = 0;           // within the arena (kStep) or the resident block (others)
  std::string name;             // of a source
  std::string op, scope;        // of the node that makes it
  Phase phase = Phase::kSetup;  // of that node
  TensorType type;              // as it is made; of scratch none
};

struct Operand {
  int buffer = -1;  // -1: an optional output that nobody reads
  TensorType type;
};

struct PlanStep {
  const Kernel* kernel = nullptr;
  Attributes attributes;
  std::vector<Operand> in, out;
  int workspace = -1;        // buffer
  int queue = 0;             // steps of different queues may run at the same time
  std::vector<int> waits{};  // steps of other queues that must be done before
  Phase phase = Phase::kForward;
  std::string scope;
  double flops = 0;   // model FLOPs
  int64_t bytes = 0;  // that must move
  bool recomputed = false;

  Signature signature() const;
};

// What happens, in order; the index is of a step or of a buffer.
struct Action {
  enum class Kind : uint8_t { kAlloc, kFree, kStep } kind = Kind::kStep;
  int index = 0;
};

struct PlanOutput {
  std::string name;
  Operand operand;
};

struct Plan {
  std::vector<Buffer> buffers;
  std::vector<PlanStep> setup;  // constants; run once
  std::vector<PlanStep> steps;
  std::vector<Action> actions;
  std::vector<PlanOutput> outputs;

  int64_t resident_bytes = 0;   // sources and constants
  int64_t arena_bytes = 0;      // step buffers at their offsets
  int64_t live_peak_bytes = 0;  // most bytes of step buffers alive at once: what a framework's allocator would hold
  int64_t predicted_peak_bytes() const { return (Size(resident_bytes) + arena_bytes).value(); }

  // Bytes by role: sources and constants whole, step buffers as alive at the peak.
  std::array<int64_t, kRoleCount> peak_bytes_by_role{};
  int peak_step = 0;  // the step at which live_peak_bytes is reached

  int find_source(const std::string& name) const;  // buffer, or -1
  const Operand* find_output(const std::string& name) const;
  double flops(Phase phase) const;
  // True when some step of the phase exists.
  bool has(Phase phase) const;
};

// The kernel for a node, among those that support it.
using ChooseKernel = std::function<const Kernel*(const Signature&)>;

// Places every value of the graph. `alignment` in bytes.
Plan make_plan(const Graph& graph, const ChooseKernel& choose);

// `laptime explain --dump plan`.
std::string print(const Plan& plan);

}  // namespace laptime
