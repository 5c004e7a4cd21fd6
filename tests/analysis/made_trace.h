// Handmade traces for tests of findings and reports.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/finding.h"
#include "record/record.h"
#include "record/step_trace.h"

namespace laptime {

class MadeTrace {
 public:
  // Adds a launch and returns its index.
  int64_t launch(const std::string& phase, const std::string& scope, const std::string& op, int64_t layer = -1,
                 const std::string& part = "") {
    return launch({.phase = phase,
                   .scope = scope,
                   .layer = layer,
                   .part = part,
                   .range = "",
                   .op = op,
                   .work_class = "elementwise",
                   .kernel = "plain",
                   .signature = ""});
  }
  int64_t launch(const TraceLaunch& launch) {
    TraceLaunches& l = trace.launches;
    l.phase.push_back(text(launch.phase));
    l.scope.push_back(text(launch.scope));
    l.layer.push_back(launch.layer);
    l.part.push_back(text(launch.part));
    l.range.push_back(text(launch.range));
    l.op.push_back(text(launch.op));
    l.work_class.push_back(text(launch.work_class));
    l.kernel.push_back(text(launch.kernel));
    l.signature.push_back(text(launch.signature));
    l.flops.push_back(launch.flops);
    l.bytes.push_back(launch.bytes);
    l.recomputed.push_back(launch.recomputed ? 1 : 0);
    return static_cast<int64_t>(l.op.size()) - 1;
  }

  // Adds a buffer that lives from launch `first`, which writes it, to launch `last`.
  void buffer(int64_t bytes, int64_t first, int64_t last, bool saved, const std::string& role = "activation",
              const std::string& name = "", const std::string& shape = "[1]") {
    const TraceLaunch maker = trace.launch(static_cast<size_t>(first));
    add({.name = name,
         .op = maker.op,
         .scope = maker.scope,
         .phase = maker.phase,
         .role = role,
         .dtype = "float32",
         .shape = shape,
         .bytes = bytes,
         .saved = saved,
         .first = first,
         .last = last});
  }

  // Adds a buffer that lives for the whole run. Call this after all launch() calls.
  void resident(int64_t bytes, const std::string& role, const std::string& name, bool saved = false) {
    add({.name = name,
         .op = "",
         .scope = "",
         .phase = "setup",
         .role = role,
         .dtype = "float32",
         .shape = "[1]",
         .bytes = bytes,
         .resident = true,
         .saved = saved,
         .first = 0,
         .last = static_cast<int64_t>(trace.launch_count())});
  }

  // Returns the index of `word` in trace.texts, and adds the word if it is missing.
  int64_t text(std::string_view word) {
    const auto found = std::find(trace.texts.begin(), trace.texts.end(), word);
    if (found != trace.texts.end()) return found - trace.texts.begin();
    trace.texts.emplace_back(word);
    return static_cast<int64_t>(trace.texts.size()) - 1;
  }

  StepTrace trace;

 private:
  void add(TraceBuffer buffer) {
    TraceBuffers& b = trace.buffers;
    // The members of `buffer` may point into trace.texts. They are copied first, because adding a text moves the
    // elements.
    const std::vector<std::string> words{std::string(buffer.name),  std::string(buffer.op),   std::string(buffer.scope),
                                         std::string(buffer.phase), std::string(buffer.role), std::string(buffer.dtype),
                                         std::string(buffer.shape)};
    size_t next = 0;
    for (std::vector<int64_t>* column : {&b.name, &b.op, &b.scope, &b.phase, &b.role, &b.dtype, &b.shape})
      column->push_back(text(words[next++]));
    b.bytes.push_back(buffer.bytes);
    b.offset.push_back(0);
    b.resident.push_back(buffer.resident ? 1 : 0);
    b.saved.push_back(buffer.saved ? 1 : 0);
    b.first.push_back(buffer.first);
    b.last.push_back(buffer.last);
  }
};

// A training step of two layers, which save equal tensors, and a head. The peak is at launch 4: 1000 + 2000 + 8
// resident bytes, 2 x 300 saved by the layers, 50 saved by the head, and a gradient of 500.
inline StepTrace two_layers() {
  MadeTrace made;
  made.launch("forward", "layers.0.attn.scores", "matmul", 0, "attn");   // launch 0
  made.launch("forward", "layers.0.ffn", "gelu", 0, "ffn");              // 1
  made.launch("forward", "layers.1.attn.scores", "matmul", 1, "attn");   // 2
  made.launch("forward", "lm_head", "matmul", -1, "lm_head");            // 3
  made.launch("backward", "lm_head", "matmul", -1, "lm_head");           // 4
  made.launch("backward", "layers.1.attn.scores", "matmul", 1, "attn");  // 5
  made.launch("backward", "layers.0.attn.scores", "matmul", 0, "attn");  // 6
  made.launch("optimizer", "lm_head", "adamw", -1, "lm_head");           // 7
  made.buffer(300, 0, 6, true, "activation", "layers.0.attn.scores");
  made.buffer(20, 1, 2, false);
  made.buffer(300, 2, 5, true, "activation", "layers.1.attn.scores");
  made.buffer(50, 3, 4, true);
  made.buffer(400, 3, 3, false, "workspace");
  made.buffer(500, 4, 7, false, "gradient", "lm_head.weight");
  made.resident(1000, "parameter", "lm_head.weight");
  made.resident(2000, "optimizer_state", "m/lm_head.weight");
  made.resident(8, "input", "tokens", true);
  made.trace.resident_bytes = 3072;
  made.trace.arena_bytes = 1300;
  made.trace.live_peak_bytes = 1150;
  made.trace.peak_launch = 4;
  return made.trace;
}

// The record of a run that held the bytes of two_layers(), in whole pages.
inline Record held_record() {
  Record record;
  record.name = "step/model:made/dtype:float32";
  record.memory.peak_rss_bytes = 9000;
  record.memory.base_rss_bytes = 4000;
  record.memory.peak_bytes = 4372;
  return record;
}

// The first finding of a kind and subject; an empty one if there is none.
inline Finding one(const std::vector<Finding>& findings, std::string_view kind, std::string_view subject = {}) {
  const Finding* const found = find(findings, kind, subject);
  return found == nullptr ? Finding{} : *found;
}

// Fixture with a trace of two steps of six launches each, and an otherwise empty record.
class TraceTest : public testing::Test {
 protected:
  TraceTest() {
    //  phase      scope                 layer part    range     op       class      flops bytes ns
    add("forward", "layers.0.attn.scores", 0, "attn", "a/scores", "matmul", "matmul", 4e6, 1000, {100, 300});
    add("forward", "layers.0.attn.weights", 0, "attn", "a/softmax", "exp", "softmax", 10, 4000, {50, 50});
    add("forward", "layers.1.attn.scores", 1, "attn", "a/scores", "matmul", "matmul", 4e6, 1000, {200, 400});
    add("forward", "lm_head", -1, "lm_head", "", "matmul", "matmul", 8e6, 2000, {400, 400});
    add("backward", "lm_head", -1, "lm_head", "", "matmul", "matmul", 16e6, 4000, {500, 700});
    add("optimizer", "lm_head", -1, "lm_head", "", "mul", "optimizer", 0, 8000, {100, 100});
    trace_.steps[0].total = 1400e-9;
    trace_.steps[1].total = 2000e-9;
    trace_.untraced = {1300e-9, 1500e-9};
    trace_.mark = 1e-9;
    trace_.peak_flops = 40e12;
    trace_.bandwidth = 80e9;
    check(trace_);
    record_.name = "point";
  }

  void add(const std::string& phase, const std::string& scope, int64_t layer, const std::string& part,
           const std::string& range, const std::string& op, const std::string& work_class, double flops, int64_t bytes,
           std::array<int64_t, 2> nanoseconds) {
    const std::string signature = op + "(float32 [" + std::to_string(bytes) + "])";
    made_.launch({phase, scope, layer, part, range, op, work_class, "k", signature, flops, bytes});
    trace_.steps.resize(2);
    for (size_t i = 0; i < 2; ++i) trace_.steps[i].launches.push_back(nanoseconds.at(i));
  }

  // The trace with half the time of lm_head in forward: 200 instead of 400 ns.
  StepTrace faster() const {
    StepTrace faster = trace_;
    for (TracedStep& step : faster.steps) {
      step.launches[3] /= 2;
      step.total -= 200e-9;
    }
    return faster;
  }

  MadeTrace made_;
  StepTrace& trace_ = made_.trace;
  Record record_;
};

}  // namespace laptime
