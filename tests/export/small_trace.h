// Handmade traced records.
#pragma once

#include <string>
#include <string_view>

#include "analysis/made_trace.h"
#include "export/formats.h"
#include "record/sample_record.h"

namespace laptime::test {

class TraceMaker : public MadeTrace {
 public:
  void launch(std::string_view phase, std::string_view scope, std::string_view range, std::string_view op,
              std::string_view kernel = "tiles_avx2") {
    MadeTrace::launch(std::string(phase), std::string(scope), std::string(op));
    TraceLaunches& l = trace.launches;
    l.range.back() = text(range);
    l.work_class.back() = text("matmul");
    l.kernel.back() = text(kernel);
    l.signature.back() = text(std::string(op) + "(float32 [4, 8])");
    l.flops.back() = 64;
    l.bytes.back() = 128;
  }

  void buffer(const std::string& role, int64_t bytes, int64_t offset, int64_t first, int64_t last) {
    MadeTrace::buffer(bytes, first, last, /*saved=*/false, role);
    trace.buffers.offset.back() = offset;
  }
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
  made.resident(256, "parameter", "weight");
  made.buffer("activation", 64, 0, 0, 1);
  made.buffer("activation", 128, 64, 1, 4);
  made.buffer("gradient", 64, 0, 2, 6);
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
    made.buffer("activation", 1 << 20U, (i % 2) << 20U, i, i);
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
