// Explanation: what would run for a point, as a fact that reports can show.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/key.h"

namespace laptime {

// Parameters of one shape and place; the number of a layer is written '*'.
struct ParameterGroup {
  std::string name;  // "layers.*.attn.q_proj.weight"
  std::vector<int64_t> shape;
  int64_t tensors = 0;
  int64_t parameters = 0;  // of all of them

  LAPTIME_FIELDS(name, shape, tensors, parameters)
};

// A composite that the step is written in, or that another is lowered to.
struct CompositeUse {
  std::string op;
  bool whole = false;  // else lowered to simpler ops
  std::string reason;

  LAPTIME_FIELDS(op, whole, reason)
};

// A graph as one pass left it.
struct PassOutcome {
  std::string pass;
  int64_t nodes = 0;
  int64_t views = 0;                                            // of the nodes: no bytes move
  int64_t setup = 0, forward = 0, backward = 0, optimizer = 0;  // nodes by phase

  LAPTIME_FIELDS(pass, nodes, views, setup, forward, backward, optimizer)
};

// The work of a set of nodes in one step, as the cards count it, without views.
struct Work {
  std::string phase;
  std::string kind;  // "contraction"; empty in sums over kinds
  std::string op;    // empty in sums over ops
  int64_t nodes = 0;
  double flops = 0;
  int64_t bytes = 0;  // that must move

  LAPTIME_FIELDS(phase, kind, op, nodes, flops, bytes)
};

struct RefusedKernel {
  std::string kernel;
  std::string reason;

  LAPTIME_FIELDS(kernel, reason)
};

// How well a kernel, or a whole step, divides among threads.
struct ThreadBound {
  int64_t threads = 0;
  std::optional<int64_t> units;        // of the longest loop of a launch; none for a step
  std::optional<double> largest_unit;  // work of the largest unit as a share of the launch's; none for a step
  double speed_up = 1;                 // over one thread, at most

  LAPTIME_FIELDS(threads, units, largest_unit, speed_up)
};

// Nodes of one op that are treated alike.
struct KernelDecision {
  std::string op;
  int64_t nodes = 0;
  int64_t signatures = 0;
  std::string example;                  // one of the signatures
  std::string chosen;                   // empty: nothing runs it
  std::string chosen_by;                // "pinned", "alone", "measured", or "first": bench measures before it runs
  std::vector<std::string> candidates;  // that would run it too, in order
  std::vector<std::string> rivals;      // of the candidates, those that a trial would time; not in the JSON
  std::vector<RefusedKernel> refused;
  std::vector<ThreadBound> threads;  // empty: not launched in a step, or not on threads of the host

  LAPTIME_FIELDS(op, nodes, signatures, example, chosen, chosen_by, candidates, refused, threads)
};

// Made once, in set-up.
struct ConstantUse {
  std::string op;
  std::string attributes;
  int64_t bytes = 0;

  LAPTIME_FIELDS(op, attributes, bytes)
};

// Bytes, as planned.
struct MemoryNeed {
  int64_t predicted_peak_bytes = 0;
  int64_t resident_bytes = 0;   // parameters, optimizer states, inputs, constants
  int64_t arena_bytes = 0;      // what the step makes, at its places
  int64_t live_peak_bytes = 0;  // of what the step makes, alive at once
  std::string peak_op, peak_scope;
  std::optional<int64_t> saved_bytes;  // for backward
  std::map<std::string, int64_t> parts;
  std::optional<int64_t> available_bytes;
  std::string limit;  // what the step may use, and why: "the step may use 1.000 GiB (--memory-limit)"
  std::string arithmetic;
  std::string does_not_fit;  // the reason; empty: it fits
  std::string advice;        // a part of the reason: what would need less

  LAPTIME_FIELDS(predicted_peak_bytes, resident_bytes, arena_bytes, live_peak_bytes, peak_op, peak_scope, saved_bytes,
                 parts, available_bytes, limit, arithmetic, does_not_fit, advice)
};

// A field that cannot be known is empty: for an invalid point all but name and reason, for a point that the device does
// not run kernels and memory.
struct Explanation {
  std::string name;
  std::string refused;  // why the point would not run; memory aside. Empty: it would
  std::string model;    // "edition 2025, 12 layers x 768, ..."
  std::string machine;  // "cpu, avx512, 2 threads, float32"
  JsonObject config;
  int64_t parameters = 0;
  std::vector<ParameterGroup> parameter_groups;
  double model_flops_forward = 0;  // by the formula of the model, whatever the pass
  double model_flops_backward = 0;
  double model_flops_attention = 0;  // of forward, counted whole; a causal step needs half
  double model_flops_head = 0;       // of forward
  std::string recompute;             // what --recompute comes to, as a record says it
  std::vector<CompositeUse> composites;
  std::vector<PassOutcome> passes;
  std::vector<Work> phases;  // of what runs
  std::vector<Work> kinds;
  std::vector<Work> ops;
  std::vector<KernelDecision> kernels;
  std::vector<ThreadBound> threads;  // of the whole step
  std::vector<ConstantUse> constants;
  std::optional<MemoryNeed> memory;

  LAPTIME_FIELDS(name, refused, model, machine, config, parameters, parameter_groups, model_flops_forward,
                 model_flops_backward, model_flops_attention, model_flops_head, recompute, composites, passes, phases,
                 kinds, ops, kernels, threads, constants, memory)
};

}  // namespace laptime
