// Repeats the training run of a golden file and compares all values with the file.
#include "verify/verify.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "base/host_clock.h"
#include "base/words.h"
#include "config/option_table.h"
#include "data/golden_compare.h"
#include "graph/op.h"
#include "measure/fill_sources.h"
#include "measure/kernel_trial.h"
#include "model/library_layout.h"
#include "model/model_card.h"
#include "model/parameters.h"
#include "model/train_step.h"
#include "model/validate.h"
#include "passes/saved.h"
#include "prepare/kernel_choice.h"
#include "prepare/knowledge.h"
#include "prepare/prepare.h"

namespace laptime {
namespace {

// Values of a floating-point tensor, converted to float32.
std::vector<float> floats_of(const std::vector<std::byte>& bytes, DType dtype) {
  const auto count = static_cast<int64_t>(bytes.size()) / size_of(dtype);
  std::vector<float> values(static_cast<size_t>(count));
  if (dtype == DType::kFloat32) {
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  std::vector<std::byte> copy = bytes;
  const TensorView view{copy.data(), contiguous_type(dtype, {count})};
  for (int64_t i = 0; i < count; ++i) values[static_cast<size_t>(i)] = static_cast<float>(view.load(i));
  return values;
}

// The run of a golden case with the engine options of `machine`.
RunConfig verified_config(const GoldenCase& golden, Precision precision, const RunConfig& machine) {
  RunConfig config = run_config_of(golden, precision);
  RunConfig::visit_fields(machine, [&](const Option& option, const auto& field) {
    if (option.configures_engine) assign(config, option.flag, option.flag, text_of(option, field));
  });
  return config;
}

// Why bench would reject the configuration; empty if it would not.
std::string refusal_of(const RunConfig& config) {
  try {
    validate(config);
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

// For example ", --keep linear, --reproducible true": the engine options given, except those that
// VerifiedFile::machine already states.
std::string given_options(const RunConfig& config) {
  constexpr std::array kStated{"mode", "recompute", "device", "threads", "kernels"};
  const RunConfig fresh;
  std::string text;
  RunConfig::visit_fields(config, [&](const Option& option, const auto& field) {
    const bool is_stated = std::find(kStated.begin(), kStated.end(), option.flag) != kStated.end();
    if (!option.configures_engine || is_stated) return;
    const std::string value = text_of(option, field);
    if (value != option_text(fresh, option.flag)) text += fmt::format(", --{} {}", option.flag, value);
  });
  return text;
}

using ReportStage = std::function<void(const std::string& stage)>;

// Runs a golden case in one precision and compares the results.
class PrecisionRun {
 public:
  PrecisionRun(const GoldenCase& golden, Precision precision, const RunConfig& machine, const FindDevice& find,
               const VerifyKernels& kernels, const ReportStage& report, VerifiedFile& file)
      : golden_(golden),
        precision_(precision),
        config_(verified_config(golden, precision, machine)),
        kernels_(kernels),
        report_(report),
        file_(file) {
    if (!golden_.folder.empty()) parameters_ = parameter_list(golden_.model);
    device_ = find(config_);
    if (!device_.computes)
      throw Error::format("laptime verify: {} does not compute values to compare; use --device cpu", device_.name);
    const std::string recompute = config_.recompute == "none" ? "" : fmt::format(", recompute {}", config_.recompute);
    file_.machine = fmt::format("{}{}, {}", name_of(config_.mode), recompute, device_.name);
    if (!device_.isa.empty()) file_.machine += fmt::format(", {}", device_.isa);
    if (device_.threads) file_.machine += ", " + counted(*device_.threads, "thread");
    file_.machine += given_options(config_);
    file_.machine += kernels_.known ? ", fastest measured kernels" : ", first kernels";
    if (config_.kernels) file_.machine += fmt::format(", kernels from {}", kernels_file_text(*config_.kernels));
  }

  // Runs the case, and returns true if --kernels chose at least one kernel.
  bool run() {
    const PassObserver observer = [&](const std::string& pass, const Graph& after) {
      if (pass == "autocast" && mirrors_framework()) compare_dtypes(after);
    };
    const std::unique_ptr<Backend> backend = device_.open(0);
    MachineKnowledge known = kernels_.known ? kernels_.known(device_key(device_)) : MachineKnowledge{};
    PrepareOptions options{.outputs = {.logits = true, .gradients = true}, .observer = observer, .pins_may_miss = true};
    Prepared prepared = prepare(config_, device_, known, options);
    options.observer = {};
    if (mirrors_framework()) compare_memory(prepared.graph);
    prepared.require_fit();
    while (kernels_.known) {
      report("kernel trial");
      const TriedKernels tried = try_kernels(prepared, *backend);
      if (tried.empty()) break;
      tried.add_to(known.kernel_choices);
      prepared = prepare(config_, device_, known, options);
      prepared.require_fit();
    }
    train(prepared, *backend);
    return std::any_of(prepared.plan.steps.begin(), prepared.plan.steps.end(),
                       [&](const PlanStep& step) { return prepared.choices.pinned.contains(step.signature().text()); });
  }

 private:
  // True if dtypes and saved bytes must match those of a framework. Compiled steps, recomputation and model folders are
  // exempt.
  bool mirrors_framework() const {
    return config_.mode == Mode::kEager && config_.recompute == "none" && golden_.folder.empty();
  }

  void add(const std::string& kind, Comparison comparison) {
    const std::string name = fmt::format("{} {}", name_of(precision_), kind);
    if (file_.groups.empty() || file_.groups.back().name != name) file_.groups.push_back({name, {}});
    file_.groups.back().comparisons.push_back(std::move(comparison));
  }

  void report(const std::string& stage) const { report_(fmt::format("{}: {}", name_of(precision_), stage)); }

  void compare_dtypes(const Graph& graph) {
    for (const auto& [name, expected] : golden_.dtypes(precision_)) {
      std::string found;
      for (const Value& value : graph.values) {
        if (value.annotations.name == name) found = name_of(value.type.dtype);
      }
      add("dtypes", compare_dtype(golden_, precision_, name, found.empty() ? "not in the graph" : found));
    }
  }

  void compare_memory(const Graph& graph) {
    add("memory", compare_saved_bytes(golden_, precision_, saved_bytes(graph)));
    if (is_mixed(precision_)) return;
    add("memory", compare_inference_peak(golden_, peak_of(Pass::kInference)));
    add("memory", compare_forward_backward_peak(golden_, peak_of(Pass::kForwardBackward)));
  }

  // Peak bytes of our plan for `pass`, counted like the peaks of PyTorch in golden files: live tensors and the step's
  // constants, without parameters, batch and module buffers.
  int64_t peak_of(Pass pass) const {
    RunConfig config = config_;
    config.pass = pass;
    config.delay.reset();  // a delay takes no memory, and this pass may lack the op that it delays
    const Prepared prepared = prepare(config, device_, {}, {.pins_may_miss = true});
    return (Size(prepared.plan.live_peak_bytes) + constant_bytes_of_step(prepared.graph)).value();
  }

  void train(const Prepared& prepared, Backend& backend) {
    report("set-up");
    Executor executor(prepared.plan, backend);
    StepInputs inputs(config_);
    fill_weights(executor, config_, StartingWeights(config_), threads_of_rank(config_));
    for (int64_t step = 0; step < golden_.steps; ++step) {
      report(fmt::format("step {} of {}", step + 1, golden_.steps));
      note_loss_scale(executor);
      inputs.write(executor, step);
      if (step == 0 && !golden_.folder.empty()) write_tokens(executor);
      executor.run();
      losses_.push_back(output_of(executor, output::kLoss).at(0));
      if (step == 0) compare_first_step(executor);
      if (step == 0) compare_weights(executor, 1);
      if (step == 0 && golden_.folder.empty()) undo_rounding(executor);
      if (step + 1 == golden_.steps && step > 0) compare_weights(executor, golden_.steps);
    }
    for (int64_t step = 0; step < golden_.steps; ++step) {
      add("losses", compare_loss(golden_, precision_, step, losses_[static_cast<size_t>(step)]));
    }
    for (size_t step = 0; step < scales_.size(); ++step)
      add("loss scale", compare_loss_scale(golden_, static_cast<int64_t>(step), scales_[step]));
  }

  // Records the loss scale for the next step, in eager mode only: a compiled step rounds less, so its gradients may
  // stay finite where PyTorch's overflow.
  void note_loss_scale(const Executor& executor) {
    const std::vector<std::byte> scale = executor.read_source(source::kLossScale);
    if (!scale.empty() && config_.mode == Mode::kEager) scales_.push_back(floats_of(scale, DType::kFloat32).at(0));
  }

  // Writes the model folder's batch, which the executor keeps for later steps.
  void write_tokens(Executor& executor) const {
    for (const char* name : {source::kTokens, source::kTargets}) {
      const std::vector<int64_t> ids = golden_.file->read<int64_t>(golden_.file->tensor(name));
      executor.write(name, ids.data(), static_cast<int64_t>(ids.size() * sizeof(int64_t)));
    }
  }

  // Builds a tensor in the layout of the reference's library from our parameters. read(name) returns the values of one
  // parameter.
  template <class Read>
  std::vector<float> library_tensor(std::string_view tensor, const Read& read) const {
    std::vector<float> values;
    for (const ParameterSpec& parameter : parameters_) {
      const LibraryPlace place = library_place(golden_.model, parameter).value();
      if (place.tensor != tensor) continue;
      values.resize(static_cast<size_t>(Shape(std::span(place.shape)).product()));
      const std::vector<float> part = read(parameter.name);
      const int64_t columns = std::ssize(part) / parameter.shape.front();
      for (int64_t i = 0; i < std::ssize(part); ++i) {
        const int64_t row = place.row_of(i / columns);
        const int64_t column = i % columns;
        const int64_t at = place.is_transposed ? column * place.shape.back() + row : row * columns + column;
        values[static_cast<size_t>(at)] = part[static_cast<size_t>(i)];
      }
    }
    return values;
  }

  static std::vector<float> output_of(const Executor& executor, const std::string& name) {
    const Operand* operand = executor.plan().find_output(name);
    LAPTIME_CHECK(operand != nullptr, "no output {}", name);
    return floats_of(executor.read_output(name), operand->type.dtype);
  }

  void compare_first_step(const Executor& executor) {
    const auto compare = [&](const std::string& kind, const std::string& key) {
      add(kind, compare_tensor<float>(golden_, precision_, key, output_of(executor, key)));
    };
    compare("logits", output::kLogits);
    for (const std::string& key : golden_.keys) {
      if (split_key(key).group != "grad") continue;
      if (golden_.folder.empty()) {
        compare("gradients", key);
        continue;
      }
      const auto read = [&](const std::string& name) { return output_of(executor, output::kGradient + name); };
      add("gradients", compare_tensor<float>(golden_, precision_, key, library_tensor(split_key(key).name, read)));
    }
    if (!config_.clip_norm) return;
    add("gradients", compare_grad_norm(golden_, precision_, output_of(executor, output::kGradNorm).at(0)));
  }

  void compare_weights(const Executor& executor, int64_t steps) {
    const std::string group = fmt::format("after{}", steps);
    for (const std::string& key : golden_.keys) {
      const GoldenKey parts = split_key(key);
      if (parts.group != group) continue;
      const auto read = [&](const std::string& name) { return floats_of(executor.read_source(name), DType::kFloat32); };
      const std::vector<float> values =
          golden_.folder.empty() ? read(std::string(parts.name)) : library_tensor(parts.name, read);
      add("weights after " + counted(steps, "step"), compare_tensor<float>(golden_, precision_, key, values));
    }
  }

  // Replaces weights that differ only by rounding with the reference values, so that later steps remain comparable.
  void undo_rounding(Executor& executor) {
    for (const std::string& key : golden_.keys) {
      const GoldenKey parts = split_key(key);
      if (parts.group != "after1") continue;
      const int source = executor.plan().find_source(std::string(parts.name));
      for (const MovedByRounding& moved : moved_by_rounding(golden_, key)) {
        const auto truth = static_cast<float>(moved.truth);
        executor.write(source, moved.position * static_cast<int64_t>(sizeof(truth)),
                       std::as_bytes(std::span(&truth, 1)));
      }
    }
  }

  const GoldenCase& golden_;
  Precision precision_;
  RunConfig config_;
  Device device_;
  const VerifyKernels& kernels_;
  const ReportStage& report_;
  VerifiedFile& file_;
  std::vector<ParameterSpec> parameters_;  // parameters of the model; empty unless the case is a model folder
  std::vector<double> losses_;
  std::vector<double> scales_;  // one per step, if the loss is scaled and the mode is eager
};

std::string case_text(const GoldenCase& golden) {
  const std::string clip = golden.clip_norm ? fmt::format("clipped at {}, ", *golden.clip_norm) : "";
  return fmt::format("{}: {}, {}AdamW of {}, {}, reference in {}",
                     golden.folder.empty() ? golden.file->text() : fmt::format("folder {}", quote(golden.folder)),
                     card_of(golden.model).describe(golden.model), clip, name_of(golden.optimizer),
                     counted(golden.steps, "step"), golden.exact ? "float64" : "float32");
}

Comparison skipped(std::string what, std::string why) {
  return {.what = std::move(what), .distance = 0, .allowed = 0, .pass = true, .skipped = true, .note = std::move(why)};
}

std::vector<Precision> precisions_of(const GoldenCase& golden, bool tf32) {
  return tf32 ? std::vector{Precision::kTf32} : golden.precisions();
}

}  // namespace

void require_possible(const GoldenCase& golden, const RunConfig& machine, bool tf32) {
  std::string refusal;
  for (const Precision precision : precisions_of(golden, tf32)) {
    refusal = refusal_of(verified_config(golden, precision, machine));
    if (refusal.empty()) return;
  }
  throw Error::format("laptime verify: {}: {}", golden.file->text(), refusal);
}

int64_t constant_bytes_of_step(const Graph& graph) {
  Size bytes = 0;
  for (const Node& node : graph.nodes) {
    if (node.op->kind != OpKind::kConstant || node.op->is_module_buffer) continue;
    for (const ValueId output : node.outputs) bytes += graph.value(output).type.bytes();
  }
  return bytes.value();
}

VerifiedFile verify_golden(const GoldenCase& golden, const RunConfig& machine, const VerifyProgress& progress,
                           const FindDevice& find, const VerifyKernels& kernels) {
  VerifiedFile file{case_text(golden), {}, {}, {}};
  require_possible(golden, machine, kernels.tf32);
  file.groups.push_back({"file", check_golden_file(golden)});
  const Seconds start = host_now();
  const ReportStage report = [&](const std::string& stage) {
    if (progress) progress(stage, host_now() - start);
  };
  try {
    bool is_pinned = !machine.kernels;
    for (const Precision precision : precisions_of(golden, kernels.tf32)) {
      if (const std::string refusal = refusal_of(verified_config(golden, precision, machine)); !refusal.empty()) {
        file.groups.push_back({fmt::format("{} run", name_of(precision)), {skipped("everything", refusal)}});
        continue;
      }
      is_pinned = PrecisionRun(golden, precision, machine, find, kernels, report, file).run() || is_pinned;
    }
    if (!is_pinned) {
      throw Error::format(
          "laptime verify: {} contains no kernel choice for {}: none of its signatures occurs in the step; give "
          "records of the same model, shapes, types and mode",
          kernels_file_text(*machine.kernels), golden.file->text());
    }
  } catch (const OutOfMemory& error) {
    file.refused = error.what();
  }
  return file;
}

}  // namespace laptime
