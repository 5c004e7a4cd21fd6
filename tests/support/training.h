// Training: a minimal training run on the CPU. Also configurations, pass options and kernels for such runs.
#pragma once

#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "data/init.h"
#include "exec/executor.h"
#include "model/model_card.h"
#include "model/train_step.h"
#include "ops/kernels_cpu.h"
#include "ops/registry.h"
#include "passes/pipeline.h"

namespace laptime::test {

inline constexpr Edition kEditions[] = {Edition::k2024, Edition::k2025, Edition::k2026, Edition::kGpt2};

// The model of the tiny golden files.
inline RunConfig tiny_config(Edition edition, Precision dtype = Precision::kFloat32) {
  RunConfig config;
  config.model = {.name = "custom",
                  .edition = edition,
                  .d_model = 40,
                  .d_ff = 104,
                  .num_layers = 2,
                  .num_heads = 5,
                  .vocab_size = 97,
                  .context_length = 18,
                  .batch_size = 3};
  config.model.weight_tie = config.model.bias = edition == Edition::kGpt2;
  config.dtype = dtype;
  config.init = WeightInit::kStream;
  config.seed = 11;
  return config;
}

// Sizes that are not multiples of any kernel's block size.
inline RunConfig odd_config(Precision dtype = Precision::kFloat32) {
  RunConfig config = tiny_config(Edition::k2025, dtype);
  config.model.d_model = 100;
  config.model.d_ff = 261;
  config.model.vocab_size = 1007;
  config.model.context_length = 33;
  config.model.batch_size = 1;
  return config;
}

// A vocabulary so large that the loss runs over several groups of rows.
inline RunConfig row_groups_config(Precision dtype = Precision::kFloat32) {
  RunConfig config = tiny_config(Edition::k2025, dtype);
  config.model.vocab_size = 50 * config.model.d_model;
  config.model.batch_size = 8;
  return config;
}

inline PipelineOptions eager_options(const RunConfig& config) {
  return {.keep = card_of(config.model).kept_by_eager(config.model),
          .lower = autocast_dtype(config.dtype),
          .forward_only = config.pass == Pass::kForward};
}

// The options of compile mode. They keep all composites or, without `splits`, only the composites that cannot be split
// into groups of rows.
inline PipelineOptions compile_options(const RunConfig& config, bool splits = false) {
  PipelineOptions options = eager_options(config);
  options.keep.clear();
  for (const OpCard* op : all_ops()) {
    if (op->decompose != nullptr && (splits || op->split_rows == nullptr)) options.keep.emplace_back(op->name);
  }
  options.compile = true;
  options.recompute = {.local = true, .group = 0, .layers = config.model.num_layers};
  return options;
}

// The reference implementations, which support every type.
inline std::vector<Kernel> reference_kernels() {
  std::vector<Kernel> kernels;
  for (const OpCard* op : all_ops()) {
    if (op->reference != nullptr) kernels.push_back(reference_kernel(*op));
  }
  return kernels;
}

// Chooses the first kernel of the backend that supports the node; null if none does.
inline ChooseKernel first_kernel(const Backend& backend) {
  return [&backend](const Signature& signature) -> const Kernel* {
    for (const Kernel& kernel : backend.kernels(*signature.op)) {
      if (kernel.refusal(signature).empty()) return &kernel;
    }
    return nullptr;
  };
}

struct TrainingOptions {
  int threads = 1;
  bool references = false;                     // use only reference implementations
  DType real = DType::kFloat32;                // type of parameters; float64 needs `references`
  std::optional<PipelineOptions> passes = {};  // if absent, the options of eager mode
  std::vector<std::string> shown = {};         // named values that become outputs
  std::vector<Kernel> kernels = {};            // in order of preference; if empty, `references` decides
};

// Weights, tokens and targets come from the streams of config.seed; set_batch() replaces tokens and targets. Logits and
// gradients are outputs.
class Training {
 public:
  explicit Training(const RunConfig& config, const TrainingOptions& options = {})
      : config_(config),
        real_(options.real),
        backend_(kernels(options), options.threads),
        executor_(plan(options), backend_) {
    for (const ParameterSpec& parameter : parameter_list(config_.step_model())) {
      int64_t numel = 1;
      for (const int64_t size : parameter.shape) numel *= size;
      std::vector<float> values(static_cast<size_t>(numel));
      fill_parameter(parameter, WeightInit::kStream, config_.seed, 0, values);
      set_source(parameter.name, {values.begin(), values.end()});
      for (const char* prefix : {source::kFirstMoment, source::kSecondMoment, source::kGradient}) {
        const std::vector<std::byte> zeros(executor_.read_source(prefix + parameter.name).size());
        executor_.write(prefix + parameter.name, zeros.data(), static_cast<int64_t>(zeros.size()));
      }
    }
    const ModelConfig model = config_.step_model();
    tokens_.resize(static_cast<size_t>(model.batch_size * model.context_length));
    targets_.resize(tokens_.size());
    fill_integers(Stream(static_cast<uint64_t>(config_.seed), "tokens"), 0, tokens_, model.vocab_size);
    fill_integers(Stream(static_cast<uint64_t>(config_.seed), "targets"), 0, targets_, model.vocab_size);
    set_batch(tokens_, targets_);
  }

  const std::vector<int64_t>& tokens() const { return tokens_; }
  const std::vector<int64_t>& targets() const { return targets_; }
  void set_batch(const std::vector<int64_t>& tokens, const std::vector<int64_t>& targets) {
    tokens_ = tokens;
    targets_ = targets;
    executor_.write(source::kTokens, tokens_.data(), static_cast<int64_t>(tokens_.size() * sizeof(int64_t)));
    executor_.write(source::kTargets, targets_.data(), static_cast<int64_t>(targets_.size() * sizeof(int64_t)));
  }

  // Sets all elements of a floating-point source.
  void set_source(const std::string& name, const std::vector<double>& values) {
    std::vector<std::byte> bytes(values.size() * static_cast<size_t>(size_of(real_)));
    const TensorView view{bytes.data(), contiguous_type(real_, {static_cast<int64_t>(values.size())})};
    for (size_t i = 0; i < values.size(); ++i) view.store(static_cast<int64_t>(i), values[i]);
    LAPTIME_CHECK(executor_.write(name, bytes.data(), static_cast<int64_t>(bytes.size())), "no source {}", name);
  }
  std::vector<double> source(const std::string& name) { return numbers(executor_.read_source(name), real_); }

  void step() {
    ++step_;
    executor_.write(source::kStep, &step_, sizeof(step_));
    if (executor_.plan().find_source(source::kLr) >= 0) set_source(source::kLr, {config_.lr});
    executor_.run();
  }

  Executor& executor() { return executor_; }
  std::vector<std::byte> bytes(const std::string& output) const { return executor_.read_output(output); }
  std::vector<double> output(const std::string& name) const {
    const laptime::Operand* operand = executor_.plan().find_output(name);
    LAPTIME_CHECK(operand != nullptr, "no output {}", name);
    return numbers(bytes(name), operand->type.dtype);
  }
  double loss() const { return output(output::kLoss).at(0); }

  // The bytes of the loss, logits, gradients and weights.
  std::vector<std::byte> everything() const {
    std::vector<std::byte> all;
    const auto append = [&](const std::vector<std::byte>& more) { all.insert(all.end(), more.begin(), more.end()); };
    for (const PlanOutput& output : executor_.plan().outputs) append(bytes(output.name));
    for (const ParameterSpec& parameter : parameter_list(config_.step_model()))
      append(executor_.read_source(parameter.name));
    return all;
  }

 private:
  static std::vector<Kernel> kernels(const TrainingOptions& options) {
    if (!options.kernels.empty()) return options.kernels;
    return options.references ? reference_kernels() : cpu_kernels(cpu::widest_isa());
  }

  Plan plan(const TrainingOptions& options) const {
    const PipelineOptions passes = options.passes.value_or(eager_options(config_));
    const StepOutputs outputs{.logits = true, .gradients = config_.pass != Pass::kInference};
    Graph graph = run_passes(build_train_step(config_, outputs, real_), passes);
    for (const std::string& name : options.shown) {
      for (size_t i = 0; i < graph.values.size(); ++i) {
        if (graph.values[i].annotations.name == name) graph.outputs.push_back({name, {static_cast<int32_t>(i)}});
      }
    }
    return make_plan(graph, first_kernel(backend_));
  }

  static std::vector<double> numbers(std::vector<std::byte> bytes, DType dtype) {
    const auto count = static_cast<int64_t>(bytes.size()) / size_of(dtype);
    const TensorView view{bytes.data(), contiguous_type(dtype, {count})};
    std::vector<double> values(static_cast<size_t>(count));
    for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = view.load(i);
    return values;
  }

  RunConfig config_;
  DType real_;
  cpu::CpuBackend backend_;
  Executor executor_;
  std::vector<int64_t> tokens_;
  std::vector<int64_t> targets_;
  int64_t step_ = 0;
};

}  // namespace laptime::test
