// Describes each record in the words of published/README.md.
#include "cluster/recorded_runs.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/words.h"

namespace laptime {
namespace {

// The text of a key; empty if it is missing or null.
std::string text_of(const Json& config, std::string_view key) {
  const Json* const found = config.find(key);
  if (found == nullptr || found->is_null()) return {};
  return found->is_string() ? found->get<std::string>() : found->dump();
}

PublishedRun described_record(const Record& record) {
  constexpr std::string_view kOurs = "laptime";
  const Json config = record.config.json();
  const Json machine = record.machine.json();
  const Json* const card = machine.find("card");
  const std::string mode = text_of(config, "mode");
  std::string system = text_of(config, "system");
  const bool is_ours = system.empty();
  if (is_ours) system = kOurs;
  PublishedRun run;
  run.id = record.name;
  run.source = fmt::format("records of {}", system);
  run.source_commit_or_date = record.created;
  run.hardware = card != nullptr && card->is_object() ? text_of(*card, "name") : text_of(machine, "cpu_model");
  run.gpus = "1";
  run.model_family = fmt::format("{}{}", kEditionFamily, text_of(config, "edition"));
  run.model_name = text_of(config, "model");
  run.layers = text_of(config, "num_layers");
  run.d_model = text_of(config, "d_model");
  run.d_ff = text_of(config, "d_ff");
  run.heads = text_of(config, "num_heads");
  run.vocab = text_of(config, "vocab_size");
  run.sequence_length = text_of(config, "context_length");
  run.micro_batch = text_of(config, "batch_size");
  run.dtype = text_of(config, "dtype");
  if (run.dtype.ends_with("16")) run.dtype += " autocast";
  run.mode = joined(std::vector<std::string>{system, text_of(config, "implementation"), mode}, " ");
  if (is_ours) run.flash_attention = mode == "compile" ? "cudnn" : "no";
  run.parallelism = "none";
  run.activation_checkpointing = "none";
  return run;
}

}  // namespace

std::vector<PublishedRun> runs_of_records(const std::vector<Record>& records) {
  std::vector<PublishedRun> runs;
  for (const Record& record : records) {
    const TimeStats* const time = record.main_time();
    const std::string model = text_of(record.config.json(), "model");
    const bool is_whole = !model.empty() && model != "attention";
    if (record.status != Status::kOk || record.verdict.rating == kPredicted || time == nullptr || !is_whole) continue;
    PublishedRun run = described_record(record);
    run.quantity = fmt::format("{}_time_s", text_of(record.config.json(), "pass"));
    run.value = fmt::format("{}", time->median);
    runs.push_back(run);
    const bool is_ours = text_of(record.config.json(), "system").empty();
    if (is_ours || !record.memory.peak_bytes) continue;
    constexpr double kGibibyte = 1 << 30;
    run.id += " peak";
    run.quantity = "peak_memory_gib";
    run.value = fmt::format("{}", static_cast<double>(*record.memory.peak_bytes) / kGibibyte);
    runs.push_back(std::move(run));
  }
  return runs;
}

}  // namespace laptime
