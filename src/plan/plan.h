// Plan: the kernels of a step in order, and the location of every buffer. A plan does not refer to its graph.
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

// Step buffers share one arena; all others have memory for the whole run.
struct Buffer {
  int64_t bytes = 0;
  Lifetime lifetime = Lifetime::kStep;
  Role role = Role::kActivation;
  int64_t offset = 0;           // within the arena (kStep) or the resident block (others)
  std::string name;             // name of the source or value; empty: none
  std::string op, scope;        // op and scope of the node that first writes it; empty for a source
  Phase phase = Phase::kSetup;  // phase of that node
  TensorType type;              // type of the value first written to it; default for a workspace
};

struct Operand {
  int buffer = -1;  // -1: an optional output that nothing reads
  TensorType type;
};

// The queues of a step. Communication overlaps with computation.
inline constexpr int kComputeQueue = 0;
inline constexpr int kCommunicationQueue = 1;

struct PlanStep {
  const Kernel* kernel = nullptr;
  Attributes attributes;
  std::vector<Operand> in, out;
  int workspace = -1;         // index of the buffer; -1: none
  int queue = kComputeQueue;  // steps of different queues may run at the same time
  std::vector<int> waits{};   // steps of other queues that must finish first
  Phase phase = Phase::kForward;
  std::string scope;
  Region region{};  // region of the scope
  WorkClass work_class = WorkClass::kElementwise;
  double flops = 0;   // model FLOPs
  int64_t bytes = 0;  // bytes that must be read and written
  bool recomputed = false;
  Seconds pause{};  // pause after the launch, from --delay

  Signature signature() const;
};

// One entry of the schedule. `index` is a buffer for kAlloc and kFree, and a step for kStep.
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
  std::vector<PlanStep> setup;  // compute constants and copies of sources; run before the first step
  std::vector<PlanStep> steps;
  std::vector<Action> actions;
  std::vector<PlanOutput> outputs;

  int64_t resident_bytes = 0;   // bytes of sources and of results of set-up
  int64_t arena_bytes = 0;      // bytes of the arena that step buffers share
  int64_t live_peak_bytes = 0;  // peak bytes of live step buffers, without gaps
  int64_t predicted_peak_bytes() const { return (Size(resident_bytes) + arena_bytes).value(); }

  // Bytes by role at the peak: all sources and results of set-up, and the live step buffers.
  std::array<int64_t, kRoleCount> peak_bytes_by_role{};
  int peak_step = 0;  // the step at which live_peak_bytes is reached

  int find_source(const std::string& name) const;             // buffer, or -1
  const Operand* find_output(const std::string& name) const;  // null if there is none
  // Model FLOPs of a phase: those of recomputed steps do not count.
  double flops(Phase phase) const;
  // True if the plan has a step in this phase.
  bool has(Phase phase) const;
};

// Chooses the kernel for a node; nullptr if no kernel supports it.
using ChooseKernel = std::function<const Kernel*(const Signature&)>;

// Chooses kernels and places every value of the graph. Throws Error if no kernel supports a node.
Plan make_plan(const Graph& graph, const ChooseKernel& choose);

// The plan as text, for `laptime explain --dump plan`.
std::string print(const Plan& plan);

}  // namespace laptime
