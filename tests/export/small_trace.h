// Handmade traced records.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "export/formats.h"
#include "record/sample_record.h"

namespace laptime::test {

class TraceMaker {
 public:
  int64_t text(std::string_view text) {
    const auto [known, is_new] = indices_.emplace(text, static_cast<int64_t>(trace.texts.size()));
    if (is_new) trace.texts.emplace_back(text);
    return known->second;
  }

  void launch(std::string_view phase, std::string_view scope, std::string_view range, std::string_view op,
              std::string_view kernel = "tiles_avx2") {
    TraceLaunches& l = trace.launches;
    l.phase.push_back(text(phase));
    l.scope.push_back(text(scope));
    l.layer.push_back(-1);
    l.part.push_back(text(""));
    l.range.push_back(text(range));
    l.op.push_back(text(op));
    l.work_class.push_back(text("matmul"));
    l.kernel.push_back(text(kernel));
    l.signature.push_back(text(std::string(op) + "(float32 [4, 8])"));
    l.flops.push_back(64);
    l.bytes.push_back(128);
    l.recomputed.push_back(0);
  }

  void buffer(std::string_view role, int64_t bytes, int64_t offset, bool resident, int64_t first, int64_t last) {
    TraceBuffers& b = trace.buffers;
    b.name.push_back(text(resident ? "weight" : ""));
    b.op.push_back(text(resident ? "" : "matmul"));
    b.scope.push_back(text(resident ? "" : "layers.0.attn"));
    b.phase.push_back(text(resident ? "setup" : "forward"));
    b.role.push_back(text(role));
    b.dtype.push_back(text("float32"));
    b.shape.push_back(text("[4, 8]"));
    b.bytes.push_back(bytes);
    b.offset.push_back(offset);
    b.resident.push_back(resident ? 1 : 0);
    b.saved.push_back(0);
    b.first.push_back(first);
    b.last.push_back(last);
  }

  StepTrace trace;

 private:
  std::map<std::string, int64_t> indices_;
};

// Six launches and three traced steps. The last step has the median time of 10 us: 1 us before its first launch, the
// launches, and 0.5 us after them. Two buffers of 192 bytes in total are alive at the peak, in addition to 256 resident
// bytes.
inline TracedRecord small_trace() {
  TraceMaker made;
  made.launch("forward", "layers.0.attn", "scaled dot product attention/computing attention scores", "matmul");
  made.launch("forward", "layers.0.attn", "scaled dot product attention/computing softmax", "softmax", "rows_avx2");
  made.launch("forward", "layers.0.ffn.w1", "", "matmul");
  made.launch("forward", "layers.1.ffn.w1", "", "matmul");
  made.launch("backward", "layers.1.ffn.w1", "", "matmul", "onednn");
  made.launch("optimizer", "", "", "adamw", "fused");
  made.buffer("parameter", 256, 0, true, 0, 6);
  made.buffer("activation", 64, 0, false, 0, 1);
  made.buffer("activation", 128, 64, false, 1, 4);
  made.buffer("gradient", 64, 0, false, 2, 6);
  made.trace.resident_bytes = 256;
  made.trace.arena_bytes = 192;
  made.trace.live_peak_bytes = 192;
  made.trace.peak_launch = 1;
  made.trace.steps = {{2e-6, 20e-6, {1000, 2000, 3000, 4000, 5000, 1500}},
                      {1e-6, 9e-6, {1000, 1000, 1000, 2000, 2000, 500}},
                      {1e-6, 10e-6, {1500, 1500, 1000, 2000, 2000, 500}}};
  check(made.trace);
  TracedRecord traced{sample_record(), std::move(made.trace)};
  traced.record.transient.warmup = {30e-6, 20e-6};
  return traced;
}

// Repeats every module `layers` times to make the trace long.
inline TracedRecord long_trace(int64_t layers) {
  TraceMaker made;
  for (const char* const phase : {"forward", "backward"}) {
    for (int64_t layer = 0; layer < layers; ++layer) {
      const std::string scope = "layers." + std::to_string(layer);
      for (const char* const part : {".attn.q_proj", ".attn.scores", ".attn.weights", ".ffn.w1", ".ffn.w2"}) {
        made.launch(phase, scope + part, "scaled dot product attention/computing softmax", "matmul");
        made.launch(phase, scope + part, "", "mul");
      }
    }
  }
  const auto launches = static_cast<int64_t>(made.trace.launch_count());
  TracedStep step{.begin = 1e-6, .total = 0, .launches = {}};
  int64_t total = 1000;
  for (int64_t i = 0; i < launches; ++i) {
    made.buffer("activation", 1 << 20U, (i % 2) << 20U, false, i, i);
    step.launches.push_back(500 + i % 7 * 1000);
    total += step.launches.back();
  }
  step.total = static_cast<double>(total) * 1e-9;
  made.trace.steps = {step};
  made.trace.arena_bytes = made.trace.live_peak_bytes = 1 << 20U;
  check(made.trace);
  return {sample_record(), std::move(made.trace)};
}

}  // namespace laptime::test
