// Explanation: what would run for a point, as a fact that reports can show.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "record/json_object.h"

namespace laptime {

// Parameters of one shape and place; the number of a layer is written '*'.
struct ParameterGroup {
  std::string name;  // "layers.*.attn.q_proj.weight"
  std::vector<int64_t> shape;
  int64_t tensors = 0;
  int64_t parameters = 0;  // of all of them

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("shape", self.shape);
    visit("tensors", self.tensors);
    visit("parameters", self.parameters);
  }
};

// A composite that the step is written in, or that another is lowered to.
struct CompositeUse {
  std::string op;
  bool whole = false;  // else lowered to simpler ops
  std::string reason;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("op", self.op);
    visit("whole", self.whole);
    visit("reason", self.reason);
  }
};

// A graph as one pass left it.
struct PassOutcome {
  std::string pass;
  int64_t nodes = 0;
  int64_t views = 0;                                            // of the nodes: no bytes move
  int64_t setup = 0, forward = 0, backward = 0, optimizer = 0;  // nodes by phase

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("pass", self.pass);
    visit("nodes", self.nodes);
    visit("views", self.views);
    visit("setup", self.setup);
    visit("forward", self.forward);
    visit("backward", self.backward);
    visit("optimizer", self.optimizer);
  }
};

// What a set of nodes does in one step: as the cards count it, views left out.
struct Work {
  std::string phase;
  std::string kind;  // "contraction"; empty in sums over kinds
  std::string op;    // empty in sums over ops
  int64_t nodes = 0;
  double flops = 0;
  int64_t bytes = 0;  // that must move

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("phase", self.phase);
    visit("kind", self.kind);
    visit("op", self.op);
    visit("nodes", self.nodes);
    visit("flops", self.flops);
    visit("bytes", self.bytes);
  }
};

struct RefusedKernel {
  std::string kernel;
  std::string reason;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("kernel", self.kernel);
    visit("reason", self.reason);
  }
};

// How well a kernel, or a whole step, divides among threads.
struct ThreadBound {
  int64_t threads = 0;
  std::optional<int64_t> units;        // of the longest loop of a launch; none for a step
  std::optional<double> largest_unit;  // work of the largest unit as a share of the launch's; none for a step
  double speed_up = 1;                 // over one thread, at most

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("threads", self.threads);
    visit("units", self.units);
    visit("largest_unit", self.largest_unit);
    visit("speed_up", self.speed_up);
  }
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

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("op", self.op);
    visit("nodes", self.nodes);
    visit("signatures", self.signatures);
    visit("example", self.example);
    visit("chosen", self.chosen);
    visit("chosen_by", self.chosen_by);
    visit("candidates", self.candidates);
    visit("refused", self.refused);
    visit("threads", self.threads);
  }
};

// Made once, in set-up.
struct ConstantUse {
  std::string op;
  std::string attributes;
  int64_t bytes = 0;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("op", self.op);
    visit("attributes", self.attributes);
    visit("bytes", self.bytes);
  }
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

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("predicted_peak_bytes", self.predicted_peak_bytes);
    visit("resident_bytes", self.resident_bytes);
    visit("arena_bytes", self.arena_bytes);
    visit("live_peak_bytes", self.live_peak_bytes);
    visit("peak_op", self.peak_op);
    visit("peak_scope", self.peak_scope);
    visit("saved_bytes", self.saved_bytes);
    visit("parts", self.parts);
    visit("available_bytes", self.available_bytes);
    visit("limit", self.limit);
    visit("arithmetic", self.arithmetic);
    visit("does_not_fit", self.does_not_fit);
    visit("advice", self.advice);
  }
};

// What cannot be known is empty: everything but name and reason for an invalid point, kernels and memory for a point
// that the device does not run.
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
  std::string recompute;  // what --recompute comes to, as a record says it
  std::vector<CompositeUse> composites;
  std::vector<PassOutcome> passes;
  std::vector<Work> phases;  // of what runs
  std::vector<Work> kinds;
  std::vector<Work> ops;
  std::vector<KernelDecision> kernels;
  std::vector<ThreadBound> threads;  // of the whole step
  std::vector<ConstantUse> constants;
  std::optional<MemoryNeed> memory;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("name", self.name);
    visit("refused", self.refused);
    visit("model", self.model);
    visit("machine", self.machine);
    visit("config", self.config);
    visit("parameters", self.parameters);
    visit("parameter_groups", self.parameter_groups);
    visit("model_flops_forward", self.model_flops_forward);
    visit("model_flops_backward", self.model_flops_backward);
    visit("recompute", self.recompute);
    visit("composites", self.composites);
    visit("passes", self.passes);
    visit("phases", self.phases);
    visit("kinds", self.kinds);
    visit("ops", self.ops);
    visit("kernels", self.kernels);
    visit("threads", self.threads);
    visit("constants", self.constants);
    visit("memory", self.memory);
  }
};

}  // namespace laptime
