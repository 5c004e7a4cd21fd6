// Explanation: what would run for a point, as data that reports can show.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/key.h"

namespace laptime {

// Parameters that have the same shape and, once layer numbers are replaced by '*', the same name.
struct ParameterGroup {
  std::string name;  // "layers.*.attn.q_proj.weight"
  std::vector<int64_t> shape;
  int64_t tensors = 0;
  int64_t parameters = 0;  // total over the group

  LAPTIME_FIELDS(name, shape, tensors, parameters)
};

// A composite op of the model, which the step runs as a whole or lowered to simpler ops.
struct CompositeUse {
  std::string op;
  bool whole = false;  // false: lowered to simpler ops
  std::string reason;

  LAPTIME_FIELDS(op, whole, reason)
};

// Node counts of the graph after one compiler pass.
struct PassOutcome {
  std::string pass;
  int64_t nodes = 0;
  int64_t views = 0;                                            // nodes that are views and move no bytes
  int64_t setup = 0, forward = 0, backward = 0, optimizer = 0;  // nodes by phase

  LAPTIME_FIELDS(pass, nodes, views, setup, forward, backward, optimizer)
};

// The work of a set of nodes in one step, as counted by the op cards; views are not counted.
struct Work {
  std::string phase;
  std::string kind;  // "contraction"; empty in totals over kinds
  std::string op;    // empty in totals over ops
  int64_t nodes = 0;
  double flops = 0;
  int64_t bytes = 0;  // bytes that must be moved

  LAPTIME_FIELDS(phase, kind, op, nodes, flops, bytes)
};

struct RefusedKernel {
  std::string kernel, reason;

  LAPTIME_FIELDS(kernel, reason)
};

// How well a kernel, or a whole step, can be divided among threads.
struct ThreadBound {
  int64_t threads = 0;
  std::optional<int64_t> units;        // iterations of a launch's most expensive loop; none for a step
  std::optional<double> largest_unit;  // work of the largest iteration, as a share of the launch; none for a step
  double speed_up = 1;                 // upper bound on the speed-up over one thread

  LAPTIME_FIELDS(threads, units, largest_unit, speed_up)
};

// Nodes of one op for which the same kernel is chosen.
struct KernelDecision {
  std::string op;
  int64_t nodes = 0, signatures = 0;
  std::string example;  // the signature of one of the nodes
  std::string chosen;
  std::string chosen_by;                // "pinned", "alone", "measured", or "first" (until bench measures the choices)
  std::vector<std::string> candidates;  // other kernels that could run the op, in the order of the kernel table
  std::vector<std::string> rivals;      // candidates that a trial would time; not in the JSON
  std::vector<RefusedKernel> refused;
  // Empty if a step does not launch the op on host threads, or if its operands do not fit into the address space.
  std::vector<ThreadBound> threads;

  LAPTIME_FIELDS(op, nodes, signatures, example, chosen, chosen_by, candidates, refused, threads)
};

// A constant, computed once during set-up.
struct ConstantUse {
  std::string op, attributes;
  int64_t bytes = 0;

  LAPTIME_FIELDS(op, attributes, bytes)
};

// Planned memory in bytes.
struct MemoryNeed {
  int64_t predicted_peak_bytes = 0;
  int64_t resident_bytes = 0;   // parameters, optimizer states, inputs, constants
  int64_t arena_bytes = 0;      // the step's tensors, as placed
  int64_t live_peak_bytes = 0;  // peak of live tensors of the step
  std::string peak_op, peak_scope;
  std::optional<int64_t> saved_bytes;  // bytes that forward saves for backward
  std::map<std::string, int64_t> parts;
  std::optional<int64_t> available_bytes;
  std::string limit;  // the memory available to the step, and why: "the step may use 1.000 GiB (--memory-limit)"
  std::string arithmetic;
  std::string does_not_fit;  // why the step does not fit; empty if it fits
  std::string advice;        // the part of `does_not_fit` that says how to use less memory

  LAPTIME_FIELDS(predicted_peak_bytes, resident_bytes, arena_bytes, live_peak_bytes, peak_op, peak_scope, saved_bytes,
                 parts, available_bytes, limit, arithmetic, does_not_fit, advice)
};

// The part of a step that one of several ranks computes, and the bytes that it sends.
struct StepOfRank {
  int64_t ranks = 0;
  std::string shard;  // what the ranks divide besides the batch; "none"
  int64_t batch_size = 0;
  int64_t context_length = 0;
  int64_t sent_bytes = 0;

  LAPTIME_FIELDS(ranks, shard, batch_size, context_length, sent_bytes)
};

// Fields that cannot be determined are empty. For an invalid point, only `name` and `refused` are set. For a point that
// the device cannot run, `machine`, `kernels`, `threads` and `memory` are empty.
struct Explanation {
  std::string name;
  std::string refused;  // why the point cannot run, apart from a lack of memory; otherwise empty
  std::string model;    // "edition 2025, 12 layers x 768, ..."
  std::string machine;  // "cpu, avx512 kernels, 2 threads, float32"
  JsonObject config;
  int64_t parameters = 0;
  std::vector<ParameterGroup> parameter_groups;
  std::optional<StepOfRank> rank;  // none for a single rank; otherwise, nodes, memory and kernels are those of one rank
  double model_flops_forward = 0;  // from the model's formula, for the batch of all ranks; the same for every pass
  std::optional<double> model_flops_backward;  // none for a pass without backward
  double model_flops_attention = 0;            // part of forward; causal attention needs only half of it
  double model_flops_head = 0;                 // part of forward
  std::string recompute;                       // the resolved value of --recompute, as in a record
  std::vector<CompositeUse> composites;
  std::vector<PassOutcome> passes;
  std::vector<Work> phases;  // work of the nodes that run
  std::vector<Work> kinds;
  std::vector<Work> ops;
  std::vector<KernelDecision> kernels;
  std::vector<ThreadBound> threads;  // bounds for the whole step; empty if the bounds of a kernel are unknown
  std::vector<ConstantUse> constants;
  std::optional<MemoryNeed> memory;

  LAPTIME_FIELDS(name, refused, model, machine, config, parameters, parameter_groups, rank, model_flops_forward,
                 model_flops_backward, model_flops_attention, model_flops_head, recompute, composites, passes, phases,
                 kinds, ops, kernels, threads, constants, memory)
};

}  // namespace laptime
