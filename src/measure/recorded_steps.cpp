// Turns options into a point, and lines with steps into timelines, a sample series and a record.
#include "measure/recorded_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "base/ranges.h"
#include "base/words.h"
#include "config/fields_json.h"
#include "config/option_table.h"
#include "distribution/median.h"
#include "measure/describe.h"
#include "measure/figures.h"
#include "measure/limits.h"
#include "measure/reported_time.h"
#include "model/parameters.h"

namespace laptime {
namespace {

constexpr std::string_view kElsewhere = "cuda";  // a device that `laptime record` does not open

bool is_of_model(std::string_view flag) { return find_option<ModelConfig>(flag).has_value(); }

bool is_in(const std::vector<GivenOption>& given, std::string_view flag) {
  return find_in(given, flag, &GivenOption::flag) != nullptr;
}

void check_model_options(const std::vector<GivenOption>& given, const SystemConfig& system) {
  if (is_in(given, "model")) {
    for (const std::string_view flag : {"batch", "context"}) {
      if (!is_in(given, flag))
        throw Error::format("--model: also needs --{}, which determines the tokens per step", flag);
    }
    if (system.tokens)
      throw Error("--tokens: leave it out, because --batch and --context determine the tokens of a step");
    return;
  }
  for (const GivenOption& option : given) {
    if (is_of_model(option.flag)) {
      throw Error::format(
          "--{} describes a model; name the model with --model (custom, or a name from laptime list models), or give "
          "only --tokens",
          option.flag);
    }
  }
}

// The options with which the point is checked. Without a given batch, uses the number of micro-batches as batch, so
// that the default batch does not limit this number.
std::vector<GivenOption> with_batch(std::vector<GivenOption> given) {
  const GivenOption* const passes = find_in(given, "micro-batches", &GivenOption::flag);
  if (passes == nullptr || is_in(given, "batch")) return given;
  given.push_back({"batch", passes->text});
  return given;
}

// True if a record's config states the option: the user gave it, a known model determines it, or it is --pass or
// --budget, whose defaults also apply.
bool is_stated(const Option& option, const std::vector<GivenOption>& given, bool knows_model) {
  if (!describes_recorded_steps(option.flag)) return false;
  if (is_in(given, option.flag)) return true;
  if (is_of_model(option.flag) || option.flag == "dtype") return knows_model;
  return option.flag == "pass" || option.flag == "budget";
}

JsonObject stated_config(const RecordedPoint& point, const std::vector<GivenOption>& given,
                         const SystemConfig& system) {
  Json stated = to_json(point.config);
  RunConfig::visit_fields(point.config, [&](const Option& option, const auto&) {
    if (!is_stated(option, given, point.knows_model)) stated[std::string(option.key)] = nullptr;
  });
  stated["device"] = point.device ? point.device->name : point.config.device;
  SystemConfig::visit_fields(system, [&](const Option& option, const auto& field) {
    stated[std::string(option.key)] = fields_json::value_of(field);
  });
  return stated;
}

std::string recorded_name(const RecordedPoint& point, const std::vector<GivenOption>& given,
                          const SystemConfig& system) {
  std::string first;
  std::string always;
  std::string others;
  RunConfig::visit_fields(point.config, [&](const Option& option, const auto& field) {
    const bool names_device = option.flag == "device" && !point.device;
    if (option.in_name == InName::kWhereSwept && !names_device) return;
    if (option.in_name == InName::kFirst) {
      first = text_of(option, field);
    } else if (is_stated(option, given, point.knows_model)) {
      const bool is_where_given = option.in_name != InName::kAlways;
      if (is_where_given && !is_in(given, option.flag)) return;
      (is_where_given ? others : always) += fmt::format("/{}:{}", option.tag, text_of(option, field));
    }
  });
  std::string name = first + always + others;
  SystemConfig::visit_fields(system, [&](const Option& option, const auto& field) {
    if (!option.tag.empty() && field != std::decay_t<decltype(field)>())
      name += fmt::format("/{}:{}", option.tag, text_of(option, field));
  });
  return name;
}

constexpr Seconds kNanosecondOfLine{1e-9};

// System-wide counters only: another program ran the steps, so counters of this process do not apply.
MachineState machine_alone(MachineState state) {
  state.user_seconds.reset();
  state.system_seconds.reset();
  state.waiting_seconds.reset();
  state.involuntary_switches.reset();
  state.minor_faults.reset();
  state.major_faults.reset();
  return state;
}

void keep_largest(const std::optional<int64_t>& stated, std::optional<int64_t>& largest) {
  if (stated) largest = std::max(largest.value_or(0), *stated);
}

MeasuredWork recorded_work(const RecordedPoint& point, const RecordedSteps& steps) {
  const ModelConfig model = point.config.step_model();
  MeasuredWork work{
      .pass = point.config.pass, .phases = steps.phases(), .own_phases = steps.own_phases(), .in_this_process = false};
  if (point.device) work.threads = point.device->threads;
  const Json& tokens = point.stated.json().at("tokens");
  if (tokens.is_number_integer()) work.tokens = tokens.get<int64_t>();
  if (!point.knows_model) return work;
  work.model = summarize(model);
  work.tokens = model.batch_size * model.context_length;
  return work;
}

}  // namespace

bool describes_recorded_steps(std::string_view flag) {
  constexpr std::array<std::string_view, 9> kFlags{"dtype",   "mode",   "pass",  "device", "micro-batches",
                                                   "threads", "warmup", "steps", "budget"};
  return is_of_model(flag) || is_among(flag, kFlags);
}

RecordedPoint recorded_point(const std::vector<GivenOption>& given, const SystemConfig& system) {
  if (system.system.empty())
    throw Error("--system is missing; name the program that runs the steps, for example --system pytorch");
  check_model_options(given, system);
  ResolvedConfig resolved = resolve(with_batch(given));
  if (!resolved.invalid.empty()) throw Error(resolved.invalid);
  RecordedPoint point;
  point.config = std::move(resolved.config);
  point.knows_model = is_in(given, "model");
  if (point.config.device != kElsewhere) {
    point.device = find_device(point.config);
    if (!point.device->computes) {
      throw Error::format("--device: {} only predicts, but these steps really run; give cpu or {}", point.config.device,
                          kElsewhere);
    }
  }
  point.version = system.system + (system.version.empty() ? "" : " " + system.version);
  point.name = recorded_name(point, given, system);
  point.stated = stated_config(point, given, system);
  return point;
}

RecordedSteps::RecordedSteps(const RecordedPoint& point, MachineCounters counters)
    : pass_(point.config.pass), fixed_(has_fixed_steps(point.config)), counters_(std::move(counters)) {
  run_.rule = stopping_rule(point.config);
  run_.cores = counters_.cores();
}

void RecordedSteps::begin_series(const StepLine& first) {
  keys_ = first.keys;
  for (const auto& [phase, seconds] : first.phases) phases_.push_back(phase);
  for (const auto& [name, seconds] : first.own_phases) own_phases_.push_back(name);
  begins_ = first.begin.has_value();
  first_begin_ = first.begin.value_or(0);
  series_.emplace(run_.rule, fixed_, reported_time(phases_, pass_));
}

// Start of the step on the timeline, which begins with the first step.
Seconds RecordedSteps::begin_of(const StepLine& line) const {
  if (!line.begin) return ends_.empty() ? Seconds{} : ends_.back();
  return kNanosecondOfLine * static_cast<double>(*line.begin - first_begin_);
}

void RecordedSteps::check_fits(const StepLine& line) const {
  if (line.keys != keys_) {
    throw Error::format("has the keys {}, but the first step has {}; every step must have the same keys",
                        joined(line.keys, ", "), joined(keys_, ", "));
  }
  const bool has_phases =
      std::equal(line.phases.begin(), line.phases.end(), phases_.begin(), phases_.end(),
                 [](const std::pair<Phase, Seconds>& timed, Phase phase) { return timed.first == phase; });
  if (!has_phases || line.begin.has_value() != begins_)
    throw Error(
        "does not have the same phases as the first step, or only one of these two steps has 'begin'; give the same "
        "phases in every step, and 'begin' in all steps or in none");
  if (begin_of(line) < ends_.back() - kNanosecondOfLine / 2) {
    throw Error::format("'begin' is {} before the end of the previous step; take all times from one clock",
                        format_seconds((ends_.back() - begin_of(line)).count()));
  }
}

void RecordedSteps::add(const StepLine& line) {
  if (!series_) begin_series(line);
  if (!ends_.empty()) check_fits(line);
  Timeline step;
  step.begin = begin_of(line);
  step.end = step.begin + line.step;
  Seconds at = step.begin;
  for (const auto& [phase, seconds] : line.phases) {
    step.events.push_back({static_cast<int>(phase), at, at + seconds});
    at += seconds;
  }
  for (const auto& [name, seconds] : line.own_phases) {
    const auto number = std::find(own_phases_.begin(), own_phases_.end(), name) - own_phases_.begin();
    step.events.push_back({own_phase_number(static_cast<size_t>(number)), at, at + seconds});
    at += seconds;
  }
  ends_.push_back(step.end);
  if (line.begin) {
    run_.states.push_back(machine_alone(counters_.read()));
    // The counters were not read when the first step began, and imports or compilation may have come before it.
    // Counting therefore starts when the first step ends.
    if (run_.states.size() == 1) run_.before = run_.states.front();
  }
  if (keys_.contains("loss")) run_.losses.push_back(line.loss.value_or(std::numeric_limits<double>::quiet_NaN()));
  if (line.loss) run_.finite = run_.finite && std::isfinite(*line.loss);
  keep_largest(line.peak_bytes, memory_.peak_bytes);
  keep_largest(line.peak_rss_bytes, memory_.peak_rss_bytes);
  series_->add(std::move(step));
}

bool RecordedSteps::is_done() const { return !run_.finite || (series_ && series_->is_done()); }

std::string RecordedSteps::progress() const {
  if (!series_) return "no step yet";
  const Sampling& sampling = series_->so_far();
  if (!run_.finite) return fmt::format("the loss of step {} is not finite", count());
  if (series_->is_done()) return run_.rule.describe(sampling.reason);
  if (sampling.warmup >= count()) return fmt::format("warm-up, step {}", count());
  return fmt::format("sample {}, step {}", std::max<int64_t>(sampling.sample_count(), 1), count());
}

Measurement RecordedSteps::finish(std::string_view interrupted_by) && {
  const bool interrupted = !is_done();
  if (interrupted) run_.interrupted_by = interrupted_by;
  run_.sampling = std::move(*series_).finish(interrupted);
  return std::move(run_);
}

Record describe_recorded(const RecordedPoint& point) {
  Record record;
  record.name = point.name;
  record.config = point.stated;
  record.fingerprint = machine_fingerprint();
  record.binary.version = record.binary.id = point.version;
  describe_machine_alone(record);
  return record;
}

PointResult recorded_result(const RecordedPoint& point, Record described, RecordedSteps steps,
                            std::string_view interrupted_by, const MachineKnowledge& known) {
  PointResult result{std::move(described), {}, {}};
  const MeasuredWork work = recorded_work(point, steps);
  result.record.memory = steps.memory();
  Measurement run = std::move(steps).finish(interrupted_by);
  if (point.device && work.model && run.finite && !run.interrupted()) {
    const std::vector<double> samples = per_sample(run.sampling, reported_time(work.phases, work.pass));
    const LimitsRequest request{.reached = model_flops(work.pass, work.model->forward_flops) / median(samples)};
    run.limits = measure_limits(*point.device->open(0), point.device->product_factors, request, known.peaks,
                                result.learned.peaks);
    for (MeasuredPeak& peak : result.learned.peaks) {
      peak.device = device_key(*point.device);
      peak.created = result.record.created;
    }
  }
  fill_result(work, run, result.record);
  return result;
}

}  // namespace laptime
