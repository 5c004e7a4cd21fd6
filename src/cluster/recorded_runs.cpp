// Describes each record as a published run, in the terms of published/README.md.
#include "cluster/recorded_runs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/plan_findings.h"
#include "base/json_path.h"
#include "base/words.h"
#include "config/option_table.h"
#include "config/parallel.h"
#include "config/run_config.h"
#include "report/names.h"

namespace laptime {
namespace {

// The term in published/README.md for a --shard value with several ranks.
std::string_view parallelism_of(std::string_view shard) {
  if (shard == name_of(Shard::kOptimizer)) return "zero1";
  if (shard == name_of(Shard::kGradients)) return "zero2";
  return shard == name_of(Shard::kParameters) ? "zero3" : "ddp";
}

// Options that change the launches of a step and have no column in published/README.md.
constexpr std::array<std::string_view, 20> kFurtherOptions{
    "head-dim",          "weight-tie",  "bias",         "embd-pdrop",     "attn-pdrop",
    "resid-pdrop",       "max-context", "rotary-share", "attention-bias", "mlp-bias",
    "parallel-residual", "pad-token",   "keep",         "lower",          "optimizer",
    "moments",           "clip-norm",   "loss-scale",   "accumulate",     "optimizer-in-backward"};

PublishedRun described_record(const Record& record) {
  constexpr std::string_view kOurs = "laptime";
  const JsonObject& config = record.config;
  const std::string card = device_card_name(record);
  const std::string mode = config.text("mode");
  std::string system = config.text("system");
  const bool is_ours = system.empty();
  if (is_ours) system = kOurs;
  PublishedRun run;
  run.id = record.name;
  run.source = fmt::format("records of {}", system);
  run.source_commit_or_date = record.created;
  run.hardware = card.empty() ? processor_name(record) : card;
  const double ranks = number_at(config, "ranks").value_or(1);
  run.gpus = fmt::format("{:.0f}", ranks);
  run.model_family = fmt::format("{}{}", kEditionFamily, config.text("edition"));
  run.model_name = config.text("model");
  run.layers = config.text("num_layers");
  run.d_model = config.text("d_model");
  run.d_ff = config.text("d_ff");
  run.heads = config.text("num_heads");
  run.kv_heads = config.text("num_kv_heads");
  run.vocab = config.text("vocab_size");
  const double context = step_context(record).value_or(0);
  run.sequence_length = fmt::format("{:.0f}", context);
  const double batch = number_at(config, "batch_size").value_or(0);
  const double of_rank = batch / ranks;
  const double micro_batches = std::min(of_rank, number_at(config, "micro_batches").value_or(1));
  if (std::fmod(of_rank, micro_batches) != 0) run.refusal = "micro-batches of different sizes are not predicted";
  run.micro_batch = fmt::format("{:.0f}", of_rank / micro_batches);
  run.global_batch_tokens = fmt::format("{:.0f}", batch * context);
  run.dtype = config.text("dtype");
  if (run.dtype.ends_with("16") || run.dtype == "mixed") run.dtype += " autocast";
  run.mode = joined(std::vector<std::string>{system, config.text("implementation"), mode}, " ");
  run.flash_attention = !is_ours ? kUsualAttention : mode == "compile" ? "cudnn" : "no";
  run.parallelism = ranks > 1 ? parallelism_of(config.text("shard")) : "none";
  run.activation_checkpointing = config.text("recompute");
  if (is_ours && !mode.empty()) run.options.emplace_back("mode", mode);
  for (const std::string_view flag : kFurtherOptions) {
    const std::string text = config.text(find_option<RunConfig>(flag)->key);
    if (!text.empty()) run.options.emplace_back(flag, text);
  }
  return run;
}

}  // namespace

std::vector<PublishedRun> runs_of_records(const std::vector<Record>& records) {
  std::vector<PublishedRun> runs;
  for (const Record& record : records) {
    const TimeStats* const time = record.main_time();
    const std::string model = record.config.text("model");
    const bool is_whole = !model.empty() && model != "attention";
    const bool is_delayed = !record.config.text("delay").empty();  // on purpose, to test compare
    if (record.status != Status::kOk || record.verdict.rating == kPredicted || time == nullptr || !is_whole ||
        is_delayed)
      continue;
    PublishedRun run = described_record(record);
    const std::string pass = record.config.text("pass");
    run.quantity = fmt::format("{}_time_s", pass);
    run.value = fmt::format("{}", time->median);
    runs.push_back(run);
    const bool is_ours = record.config.text("system").empty();
    if (is_ours || pass != name_of(Pass::kStep) || !record.memory.peak_bytes) continue;
    constexpr double kGibibyte = 1 << 30;
    run.id += " peak";
    run.quantity = "peak_memory_gib";
    run.value = fmt::format("{}", static_cast<double>(*record.memory.peak_bytes) / kGibibyte);
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace laptime
