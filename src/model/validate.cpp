// Checks a point, cheap checks first.
#include "model/validate.h"

#include <algorithm>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "model/model_card.h"
#include "model/parameters.h"

namespace laptime {
namespace {

void check_ranks(const RunConfig& config) {
  for (const auto& [option, ranks] : {std::pair("--tensor-parallel", config.tensor_parallel),
                                      std::pair("--pipeline-parallel", config.pipeline_parallel)}) {
    if (ranks == 1) continue;
    throw Error::format(
        "{} {}: a measured step divides only its batch among ranks; leave the option out, or predict the step with "
        "laptime plan --ranks N and a described machine, such as --device h100",
        option, ranks);
  }
  if (config.ranks == 1) {
    if (config.shard != Shard::kNone) {
      throw Error::format("--shard {} divides states among ranks, but there is only one; give --ranks N",
                          name_of(config.shard));
    }
    if (config.oversubscribe)
      throw Error("--oversubscribe needs --ranks N with N > 1; add --ranks or leave out --oversubscribe");
    return;
  }
  const int64_t parts = config.ranks * config.micro_batches;
  if (config.model.batch_size % parts != 0) {
    const std::string passes =
        config.micro_batches > 1 ? fmt::format(" times --micro-batches {}", config.micro_batches) : std::string();
    throw Error::format("--batch {} (of all ranks) is not divisible by --ranks {}{}; give --batch {}",
                        config.model.batch_size, config.ranks, passes,
                        ceil_div(config.model.batch_size, parts) * parts);
  }
  const auto refuse = [&](bool is_given, const char* option, const char* advice) {
    if (is_given) throw Error::format("--ranks {} excludes {}; {}", config.ranks, option, advice);
  };
  refuse(config.pass != Pass::kStep, "a --pass other than step", "leave --pass out");
  refuse(config.accumulate, "--accumulate", "use --micro-batches");
  refuse(config.optimizer_in_backward, "--optimizer-in-backward", "leave it out");
  refuse(config.recompute == "auto", "--recompute auto", "use block or every=K");
  if (config.shard != Shard::kNone && loss_scaling(config.loss_scale).is_on) {
    throw Error::format(
        "--shard {} excludes --loss-scale {}: a rank would see only the overflows in its own chunk of the gradients; "
        "use --loss-scale none, or --dtype bfloat16",
        name_of(config.shard), config.loss_scale);
  }
}

// Throws Error if an option has no effect on the pass of the point.
void check_pass(const RunConfig& config) {
  if (config.pass == Pass::kStep) return;
  for (const auto& [option, is_given] : {std::pair("--optimizer-in-backward", config.optimizer_in_backward),
                                         std::pair("--clip-norm", config.clip_norm.has_value()),
                                         std::pair("--moments", config.moments != MomentType::kFloat32)}) {
    if (is_given) throw Error::format("{} needs --pass step, in which the optimizer runs; leave it out", option);
  }
  if (config.accumulate && config.pass == Pass::kInference)
    throw Error("--accumulate has no effect on --pass inference, which has no gradients; leave it out");
}

void check_options(const RunConfig& config, const ModelCard& card) {
  if (!card.is_language_model && config.pass == Pass::kStep) {
    throw Error::format("model {} has no optimizer; use --pass forward_backward, forward, backward or inference",
                        config.model.name);
  }
  check_ranks(config);
  if (config.crop_context && *config.crop_context > config.model.context_length) {
    throw Error::format("--crop-context {} is more than the model's context {}; give a smaller one",
                        *config.crop_context, config.model.context_length);
  }
  if (config.warmup.has_value() != config.steps.has_value()) {
    throw Error("--warmup and --steps must both be numbers or both be auto");
  }
  if (config.mode != Mode::kCompile && config.lower) {
    throw Error(
        "--lower needs --mode compile; eager mode lowers the composites that a framework lowers, except those in "
        "--keep");
  }
  if (config.keep && config.lower) throw Error("--keep and --lower exclude each other; give one of them");
  check_pass(config);
  if (config.optimizer_in_backward) {
    if (config.clip_norm) {
      throw Error(
          "--optimizer-in-backward excludes --clip-norm, whose norm is known only after backward; leave one out");
    }
    if (config.accumulate)
      throw Error("--optimizer-in-backward excludes --accumulate, which needs kept gradients; leave one out");
  }
  if (config.micro_batches > 1) {
    if (config.pass == Pass::kForward || config.pass == Pass::kBackward || config.pass == Pass::kInference) {
      throw Error::format("--micro-batches {} needs --pass step or forward_backward", config.micro_batches);
    }
    if (config.micro_batches > config.model.batch_size) {
      throw Error::format("--micro-batches {} is more than the {} sequences of the batch; give at most {}",
                          config.micro_batches, config.model.batch_size, config.model.batch_size);
    }
    if (config.optimizer_in_backward) {
      throw Error("--optimizer-in-backward excludes --micro-batches, which adds up gradients; leave one out");
    }
  }
  if (loss_scaling(config.loss_scale).is_on) {
    if (config.pass == Pass::kForward || config.pass == Pass::kInference) {
      throw Error::format("--loss-scale {} needs a pass with gradients; leave it out, or use --pass step",
                          config.loss_scale);
    }
    if (config.optimizer_in_backward) {
      throw Error::format(
          "--optimizer-in-backward excludes --loss-scale {}, which looks for overflows in all gradients before the "
          "first update; use --loss-scale none",
          config.loss_scale);
    }
    if (config.accumulate) {
      throw Error::format(
          "--accumulate excludes --loss-scale {}: an overflow would stay in the gradients that are kept; use "
          "--loss-scale none",
          config.loss_scale);
    }
  }
  if (config.data.empty() && config.data_format != DataFormat::kAuto) {
    throw Error("--data-format needs --data FILE: random tokens have no format");
  }
}

// Throws Error unless the bytes of parameters and their states fit in 63 bits. summarize checks each tensor.
void check_sizes(const ModelConfig& model) {
  constexpr int64_t kBytes = 4;
  constexpr int64_t kCopies = 4;  // of each parameter: weight, gradient and the two moments of AdamW
  [[maybe_unused]] const Size must_fit = Size(summarize(model).parameter_count) * kBytes * kCopies;
}

}  // namespace

void SizeChecks::check(const ModelConfig& model) {
  auto known = std::find_if(known_.begin(), known_.end(), [&](const auto& entry) { return entry.first == model; });
  if (known == known_.end()) {
    known = known_.insert(known_.end(), {model, {}});
    try {
      check_sizes(model);
    } catch (const Error& error) {
      known->second = error.what();
    }
  }
  if (!known->second.empty()) throw Error(known->second);
}

void validate(const RunConfig& config, SizeChecks& sizes) {
  const ModelCard& card = card_of(config.model);
  RunConfig::visit_fields(config, [&](const Option& option, const auto& field) {
    if (card.takes(option.flag)) check_range(option, field, fmt::format("--{}", option.flag));
  });
  card.check(config);
  check_options(config, card);
  sizes.check(config.model);
}

void validate(const RunConfig& config) {
  SizeChecks sizes;
  validate(config, sizes);
}

}  // namespace laptime
