// Plans steps of several ranks, and searches for the fastest plan.
#include "cluster/parallel_plan.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/available_memory.h"
#include "base/error.h"
#include "base/words.h"
#include "config/option_table.h"
#include "model/parameters.h"

namespace laptime {
namespace {

// Throws Error unless `parts` divides `whole`.
void require_division(int64_t whole, int64_t parts, std::string_view what, std::string_view by) {
  if (parts < 1 || whole % parts != 0)
    throw Error(fmt::format("{} ({}) must be divisible by {} ({})", what, whole, by, parts));
}

DescribedRun describe(const RunConfig& config, Program program, const ParallelChoice& choice) {
  ParallelLayout layout = choice.layout;
  const ModelConfig& model = config.model;
  require_division(layout.ranks, layout.tensor * layout.pipeline, "ranks", "tensor x pipeline ranks");
  layout.shard = layout.effective_shard();
  require_division(model.batch_size, layout.data() * choice.micro_batches, "batch", "data ranks x micro-batches");
  require_division(model.num_heads, layout.tensor, "num_heads", "tensor ranks");
  require_division(model.num_layers, layout.pipeline, "num_layers", "pipeline ranks");
  DescribedRun run;
  run.program = program;
  run.config = config;
  run.config.model.batch_size = model.batch_size / (layout.data() * choice.micro_batches);
  run.config.model.context_length = config.step_context();
  run.config.crop_context.reset();
  run.config.memory_limit.reset();
  run.config.micro_batches = 1;
  run.config.recompute = "none";
  // Other programs, too, fuse attention if --keep names it. laptime's own plan already follows --keep.
  const bool is_ours = program == Program::kLaptime;
  const bool keeps = config.keep && config.keep->find("attention") != std::string::npos;
  run.attention = keeps ? AttentionKernel::kThird : usual_attention(program, config.dtype);
  if (run.attention != AttentionKernel::kUnfused && !is_ours) run.config.keep = "scaled_dot_product_attention";
  run.repeats_heads = !is_ours && program != Program::kMegatron;
  run.tokens = static_cast<double>(model.batch_size * config.step_context());
  ParallelStep& step = run.step;
  step.layout = layout;
  run.stores_16_bits = stores_16_bits(run, true);
  step.checkpointing = choice.checkpointing;
  step.layers = model.num_layers;
  step.micro_batches = choice.micro_batches;
  step.tokens = static_cast<double>(run.config.model.batch_size * config.step_context());
  step.d_model = static_cast<double>(model.d_model);
  step.kv_width = static_cast<double>(model.kv_heads() * model.d_head());
  step.parameters = static_cast<double>(summarize(model).parameter_count);
  step.value_bytes = activation_bytes(config.dtype);
  return run;
}

// The divisors of `whole` up to `most`, ascending.
std::vector<int64_t> divisors(int64_t whole, int64_t most) {
  std::vector<int64_t> found;
  for (int64_t part = 1; part <= std::min(whole, most); ++part) {
    if (whole % part == 0) found.push_back(part);
  }
  return found;
}

// The numbers of tensor-parallel ranks, ascending, that divide the heads and `ranks` and whose groups fit in nodes.
std::vector<int64_t> tensor_rank_counts(const RunConfig& config, int64_t ranks) {
  const DataSheet machine = find_machine(std::string_view(config.device).substr(kMachinePrefix.size()));
  const int64_t in_node = machine.devices_of_node();
  std::vector<int64_t> counts = divisors(std::gcd(ranks, config.model.num_heads), in_node);
  std::erase_if(counts, [&](int64_t tensor) { return in_node % tensor != 0 && ranks > in_node; });
  return counts;
}

// The numbers of micro-batches into which a rank can divide its sequences, ascending.
std::vector<int64_t> micro_batch_counts(const RunConfig& config, const ParallelLayout& layout) {
  const auto most = static_cast<int64_t>(find_option<RunConfig>("micro-batches")->max);
  return divisors(config.model.batch_size / std::max<int64_t>(1, layout.data()), most);
}

bool is_smaller(const ParallelPlan& a, const ParallelPlan& b) { return a.bytes.total() < b.bytes.total(); }

// Plans that fit come first, from fastest to slowest, then the others, from smallest to largest.
bool is_before(const ParallelPlan& a, const ParallelPlan& b) {
  if (a.fits() != b.fits()) return a.fits();
  if (!a.refusal.empty() || !b.refusal.empty()) return a.refusal.empty() && !b.refusal.empty();
  return a.fits() ? a.time.step < b.time.step : is_smaller(a, b);
}

// Sorts plans. Of those that take as long as the fastest (kSameTime), the smallest comes first.
void sort_plans(std::vector<ParallelPlan>& plans) {
  std::ranges::stable_sort(plans, is_before);
  const auto slower = std::ranges::find_if(plans, [&](const ParallelPlan& plan) {
    return !plan.fits() || plan.time.step > (1 + kSameTime) * plans.front().time.step;
  });
  const auto smallest = std::min_element(plans.begin(), slower, is_smaller);
  if (smallest != slower) std::rotate(plans.begin(), smallest, std::next(smallest));
}

// The best plan over all numbers of micro-batches.
ParallelPlan with_best_micro_batches(const RunConfig& config, Program program, ParallelChoice choice,
                                     SharePlans& plans) {
  const auto plan_with = [&](int64_t count) {
    choice.micro_batches = count;
    return plan_parallel(config, program, choice, plans);
  };
  std::vector<int64_t> counts = micro_batch_counts(config, choice.layout);
  std::ranges::reverse(counts);
  std::vector<ParallelPlan> all;
  bool fits = true;
  for (const int64_t count : counts) {
    // Fewer micro-batches need more memory, except for a single one, whose gradients need not outlive the step.
    if (!fits && count > 1) continue;
    all.push_back(plan_with(count));
    fits = all.back().fits();
  }
  sort_plans(all);
  return std::move(all.front());
}

}  // namespace

std::string ParallelChoice::brief() const {
  std::vector<std::string> words{fmt::format("shard {}", name_of(layout.effective_shard()))};
  if (layout.tensor > 1) words.push_back(fmt::format("tensor {}", layout.tensor));
  if (layout.pipeline > 1) words.push_back(fmt::format("pipeline {}", layout.pipeline));
  if (micro_batches > 1) words.push_back(fmt::format("{} micro", micro_batches));
  if (checkpointing == Checkpointing::kFull) words.emplace_back("recompute");
  return joined(words, ", ");
}

std::string ParallelChoice::words() const {
  std::vector<std::string> words;
  const Shard shard = layout.effective_shard();
  if (shard != Shard::kNone) words.push_back(fmt::format("--shard {}", name_of(shard)));
  if (layout.tensor > 1) words.push_back(fmt::format("--tensor-parallel {}", layout.tensor));
  if (layout.pipeline > 1) words.push_back(fmt::format("--pipeline-parallel {}", layout.pipeline));
  if (micro_batches > 1) words.push_back(fmt::format("--micro-batches {}", micro_batches));
  if (checkpointing == Checkpointing::kFull) words.emplace_back("--recompute block");
  return words.empty() ? "--shard none" : joined(words, " ");
}

ParallelChoice choice_of(const ParallelPlan& plan) {
  return {plan.run.step.layout, plan.run.step.checkpointing, plan.run.step.micro_batches};
}

ParallelPlan plan_parallel(const RunConfig& config, Program program, const ParallelChoice& choice, SharePlans& plans) {
  ParallelPlan plan;
  plan.run.program = program;
  plan.run.config = config;
  plan.run.step.layout = choice.layout;
  plan.run.step.checkpointing = choice.checkpointing;
  plan.run.step.micro_batches = choice.micro_batches;
  try {
    plan.run = describe(config, program, choice);
    plan.available = kUsableFraction * static_cast<double>(machine_of(plan.run).memory);
    if (config.memory_limit)
      plan.available =
          std::min(plan.available, static_cast<double>(parse_bytes("--memory-limit", *config.memory_limit)));
    plan.bytes = bytes_of(plan.run, plans);
    // A compiled step that would not fit also recomputes cheap ops (prepare/fit_recompute.h).
    const bool may_recompute =
        program == Program::kLaptime && config.mode == Mode::kCompile && choice.checkpointing == Checkpointing::kNone;
    if (may_recompute && plan.bytes.total() > plan.available) {
      plan.run.recomputes_cheap_ops = true;
      plan.bytes = bytes_of(plan.run, plans);
    }
    plan.time = time_of(plan.run, plans);
    if (const KnownRuns errors = known_errors(plan.run); errors.has_interval()) {
      plan.low = plan.time.step * errors.low;
      plan.high = plan.time.step * errors.high;
    }
  } catch (const Error& error) {
    plan.refusal = error.what();
  }
  return plan;
}

std::string remedy_of(const RunConfig& config, Program program, const ParallelChoice& choice, SharePlans& plans) {
  const ParallelLayout& given = choice.layout;
  std::vector<int64_t> more_tensor_ranks = tensor_rank_counts(config, given.ranks);
  std::erase_if(more_tensor_ranks,
                [&](int64_t tensor) { return tensor <= given.tensor || given.ranks % (tensor * given.pipeline) != 0; });
  // The choice that fits with the fewest allowed micro-batches. Tries the most first: they need the least memory.
  const auto fitting = [&](ParallelChoice one, bool splits_batch) -> std::optional<ParallelChoice> {
    std::vector<int64_t> counts{one.micro_batches};
    if (splits_batch) {
      counts = micro_batch_counts(config, one.layout);
      std::erase_if(counts, [&](int64_t count) { return count <= choice.micro_batches; });
    }
    const auto fits = [&](int64_t count) {
      one.micro_batches = count;
      return plan_parallel(config, program, one, plans).fits();
    };
    if (counts.empty() || !fits(counts.back())) return std::nullopt;
    one.micro_batches = *std::ranges::find_if(counts, fits);
    return one;
  };
  for (const bool splits_model : {false, true}) {
    for (const bool splits_batch : {false, true}) {
      for (const bool shards : {false, true}) {
        for (const bool recomputes : {false, true}) {
          ParallelChoice one = choice;
          if (recomputes) one.checkpointing = Checkpointing::kFull;
          if (shards) one.layout.shard = Shard::kParameters;
          for (const int64_t tensor : splits_model ? more_tensor_ranks : std::vector{given.tensor}) {
            one.layout.tensor = tensor;
            if (const auto found = fitting(one, splits_batch)) return found->words();
          }
        }
      }
    }
  }
  return {};
}

std::vector<ParallelPlan> best_plans(const RunConfig& config, Program program, int64_t ranks, SharePlans& plans) {
  std::vector<ParallelPlan> all;
  for (const int64_t tensor : tensor_rank_counts(config, ranks)) {
    for (const int64_t pipeline : divisors(std::gcd(ranks / tensor, config.model.num_layers), ranks)) {
      ParallelChoice choice;
      choice.layout.ranks = ranks;
      choice.layout.tensor = tensor;
      choice.layout.pipeline = pipeline;
      const int64_t data = choice.layout.data();
      if (config.model.batch_size % data != 0) continue;
      for (const Choice<Shard>& shard : choices_of(Shard{})) {
        choice.layout.shard = shard.value;
        if (choice.layout.effective_shard() != shard.value) continue;
        for (const Checkpointing checkpointing : {Checkpointing::kNone, Checkpointing::kFull}) {
          choice.checkpointing = checkpointing;
          all.push_back(with_best_micro_batches(config, program, choice, plans));
        }
      }
    }
  }
  const auto is_refused = [](const ParallelPlan& plan) { return !plan.refusal.empty(); };
  if (std::ranges::all_of(all, is_refused)) {
    all.resize(std::min<size_t>(1, all.size()));
    return all;
  }
  std::erase_if(all, is_refused);
  sort_plans(all);
  return all;
}

}  // namespace laptime
