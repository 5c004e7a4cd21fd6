// A record in which most keys are filled, for tests of reading and writing, and functions that read all records of a
// store.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "record/record.h"
#include "record/store.h"

namespace laptime {

inline Record sample_record(const std::string& name = "step/model:small/ctx:256/dtype:float32/mode:eager") {
  Record record;
  record.name = name;
  record.label = "small_step";
  record.status = Status::kOk;
  record.reason = "none";
  record.bytes_requested = 3'000'000'000;
  record.bytes_available = 24'000'000'000;
  record.op = "linear";
  record.scope = "layers.3.attn.q_proj";
  record.config = Json{{"model", "small"}, {"edition", "2025"}, {"d_model", 768},     {"context_length", 256},
                       {"batch_size", 4},  {"pass", "step"},    {"dtype", "float32"}, {"mode", "eager"}};
  record.math_mode = "float32";
  record.time["step"] = make_time_stats(std::vector{0.50, 0.52, 0.51, 0.50, 0.51, 0.90});
  record.time["forward"] = make_time_stats(std::vector{0.15, 0.16, 0.15, 0.15, 0.15, 0.30});
  record.host = {{0.5, 0.53, 0.51, 0.52, 0.53, 0.5}, 0.515, 0.0098};
  record.phases = {{"forward", 0.182, 0.31}, {"residue", 0.001, 0.002}};
  record.tokens_per_second = 2007.84;
  record.flops = {.forward = 2.57e11,
                  .backward = 5.14e11,
                  .optimizer = 1.0e9,
                  .attention = 1.2e10,
                  .head = 1.6e10,
                  .parameters = 128'625'408,
                  .model_flops_per_second = 1.5e12,
                  .peak_measured = 2.0e12,
                  .peak_measured_at = "2026-11-20T08:00:00Z",
                  .peak_datasheet = 4.0e12,
                  .mfu_measured = 0.75,
                  .mfu_datasheet = 0.375,
                  .above_peak = "a reason",
                  .products_per_second = 1.7e12};
  record.memory.predicted_peak_bytes = 2'900'000'000;
  record.memory.peak_bytes = 2'910'000'000;
  record.memory.peak_rss_bytes = 3'100'000'000;
  record.memory.base_rss_bytes = 150'000'000;
  record.memory.requested_bytes = 2'870'000'000;
  record.memory.reserved_bytes = 2'910'000'000;
  record.memory.parts = {{"parameter", 514'501'632}};
  record.memory.resident_bytes = 2'058'006'528;
  record.memory.after_forward_bytes = 2'587'000'000;
  record.memory.after_backward_bytes = 2'600'000'000;
  record.memory.largest = {
      {"logits", "linear", "lm_head", "forward", "activation", "float32", {4, 256, 10'000}, 40'960'000}};
  record.communication = {.bytes = 1'000'000, .launches = 12, .seconds = 0.02, .exposed = 0.005};
  record.loss = {{9.21, 9.19, 9.15}};
  record.setup = {0.01, 0.8, 0.1, 1.2, 0.02, 2.13, 0.4};
  record.transient = {{0.9, 0.6}, 2, 0.48, 0.3, 0.18, {}};
  record.stopping = {"fixed", "5 samples, as asked for", 2, 5, 1};
  record.prediction.from = "measured launches";
  record.prediction.newest = "2025-11-20T09:00:00Z";
  record.prediction.launches = 555;
  record.prediction.measured_share = 0.75;
  record.prediction.time = {{"forward", 0.2}, {"step", 0.51}};
  record.prediction.classes = {{"forward", "matmul", 0.2, 0.39}};
  record.verdict = {"noisy", {"the 95 % interval of the median is 2 % wide"}, {}, {}};
  record.kernels = {{"linear", "linear f32 [1024,768] [768,768]", "onednn"}};
  record.machine = Json{{"cpu", {{"model", "Example CPU"}, {"cores", 2}}}, {"load", {0.1, 0.2, 0.3}}};
  record.fingerprint = "0123456789abcdef";
  record.binary = {"0.1.0", "3c201d2", "Release", "fedcba9876543210"};
  record.sweep = "end_to_end";
  record.run = "20251121T101500-42";
  record.config_hash = config_hash("model=small edition=2025");
  record.asked_hash = config_hash("model=small");
  record.created = "2025-11-21T10:15:00Z";
  return record;
}

// All records of a store, oldest first. Throws Error if one cannot be read.
inline std::vector<Record> records_of(const Store& store, Extent extent) {
  std::vector<Record> records;
  const auto keep = [&](int64_t, const Record& record) {
    records.push_back(record);
    return true;
  };
  store.each(extent, keep, [](const std::string& problem) { throw Error(problem); });
  return records;
}
inline std::vector<Record> whole_records(const Store& store) { return records_of(store, Extent::kWhole); }

}  // namespace laptime
