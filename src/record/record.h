// Record: one run as a fact that can be stored. Keys, types and units: docs/record_schema.md.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key.h"
#include "config/option.h"
#include "distribution/summary.h"
#include "record/json_object.h"
#include "record/memory_use.h"

namespace laptime {

// Each struct states its fields once, with their units, in the order of the JSON keys; writing and reading
// (record/fields_json.h) follow from that statement. Unknown numbers are empty optionals, which JSON has as null.

enum class Status : uint8_t { kOk, kOutOfMemory, kUnsupported, kTimeout, kFailed, kInterrupted };

constexpr auto choices_of(Status) {
  return std::array{Choice<Status>{Status::kOk, "ok"},
                    Choice<Status>{Status::kOutOfMemory, "out_of_memory"},
                    Choice<Status>{Status::kUnsupported, "unsupported"},
                    Choice<Status>{Status::kTimeout, "timeout"},
                    Choice<Status>{Status::kFailed, "failed"},
                    Choice<Status>{Status::kInterrupted, "interrupted"}};
}

// Every sample of one pass or phase, in seconds, and their statistics.
struct TimeStats : Summary {
  std::string unit = "s";
  std::vector<double> samples;

  friend bool operator==(const TimeStats&, const TimeStats&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("unit", self.unit);
    visit(Key{"samples", Unit::kSeconds}, self.samples);
    Summary::visit_fields(self, visit);
  }
};

// Samples on the host's clock, from before the first launch until the device is done, where the device has a clock of
// its own; `time` is by the device's. Nothing where the host's clock is the only one.
struct HostClock {
  std::vector<double> samples;       // seconds of whole steps
  std::optional<double> median;      // seconds
  std::optional<double> difference;  // that median over the device's for whole steps, minus 1

  friend bool operator==(const HostClock&, const HostClock&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(Key{"samples", Unit::kSeconds}, self.samples);
    visit(Key{"median", Unit::kSeconds}, self.median);
    visit(Key{"difference", Unit::kFraction}, self.difference);
  }
};

// Mean seconds of one phase inside a sample, and its share of the sample; the last one is named "residue".
struct PhaseShare {
  std::string phase;
  double seconds = 0;
  double share = 0;

  friend bool operator==(const PhaseShare&, const PhaseShare&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("phase", self.phase);
    visit(Key{"seconds", Unit::kSeconds}, self.seconds);
    visit(Key{"share", Unit::kFraction}, self.share);
  }
};

// Seconds of one class of work ("matmul", "softmax", ...) in one phase, and their share of a whole: the mean of a
// sample, or the excess of the first steps.
struct ClassShare {
  std::string phase;
  std::string work_class;
  double seconds = 0;
  double share = 0;

  friend bool operator==(const ClassShare&, const ClassShare&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("phase", self.phase);
    visit("class", self.work_class);
    visit(Key{"seconds", Unit::kSeconds}, self.seconds);
    visit(Key{"share", Unit::kFraction}, self.share);
  }
};

// Model FLOPs of one step by phase, the rate they ran at, and that rate over the machine's peak (0 ... 1).
struct FlopsUse {
  std::optional<double> forward;
  std::optional<double> backward;
  std::optional<double> optimizer;
  std::optional<double> model_flops_per_second;
  std::optional<double> peak_measured;   // FLOP/s
  std::string peak_measured_at;          // date of that measurement; ISO 8601, UTC
  std::optional<double> peak_datasheet;  // FLOP/s
  std::optional<double> mfu_measured;
  std::optional<double> mfu_datasheet;
  std::string above_peak;                     // why mfu_measured exceeds 1; empty where it does not
  std::optional<double> products_per_second;  // FLOP/s of the fastest matrix product among the launches that were timed

  friend bool operator==(const FlopsUse&, const FlopsUse&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(Key{"forward", Unit::kFlops}, self.forward);
    visit(Key{"backward", Unit::kFlops}, self.backward);
    visit(Key{"optimizer", Unit::kFlops}, self.optimizer);
    visit(Key{"model_flops_per_second", Unit::kFlopsPerSecond}, self.model_flops_per_second);
    visit(Key{"peak_measured", Unit::kFlopsPerSecond}, self.peak_measured);
    visit("peak_measured_at", self.peak_measured_at);
    visit(Key{"peak_datasheet", Unit::kFlopsPerSecond}, self.peak_datasheet);
    visit(Key{"mfu_measured", Unit::kFraction}, self.mfu_measured);
    visit(Key{"mfu_datasheet", Unit::kFraction}, self.mfu_datasheet);
    visit("above_peak", self.above_peak);
    visit(Key{"products_per_second", Unit::kFlopsPerSecond}, self.products_per_second);
  }
};

// The loss of every step in order, warm-up included; NaN where it was not finite (null in JSON).
struct LossValues {
  std::vector<double> values;

  friend bool operator==(const LossValues&, const LossValues&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(Key{"values", Unit::kNats}, self.values);
  }
};

// How the loss scale changed, and the steps that were skipped because a gradient overflowed; nothing where the loss was
// not scaled.
struct LossScalingUse {
  std::optional<double> first;  // scale of the first step
  std::optional<double> last;   // scale after the last step
  std::optional<int64_t> growths;
  std::optional<int64_t> backoffs;
  std::optional<int64_t> skipped_steps;
  std::vector<int64_t> skipped;  // their numbers, the first step being 1, warm-up included

  friend bool operator==(const LossScalingUse&, const LossScalingUse&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("first", self.first);
    visit("last", self.last);
    visit("growths", self.growths);
    visit("backoffs", self.backoffs);
    visit("skipped_steps", self.skipped_steps);
    visit("skipped", self.skipped);
  }
};

// The tokens of --data; nothing where tokens are random.
struct DataUse {
  std::string format;  // "llmc", "uint16", "npy", ...: a choice of --data-format other than auto
  std::string type;    // of a stored token: "uint32"
  std::optional<int64_t> files, tokens;
  std::optional<int64_t> smallest, largest;
  std::optional<double> zero_share;  // of the tokens
  std::vector<std::string> remarks;  // why they may not be the data that was meant

  friend bool operator==(const DataUse&, const DataUse&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("format", self.format);
    visit("type", self.type);
    visit("files", self.files);
    visit("tokens", self.tokens);
    visit("smallest", self.smallest);
    visit("largest", self.largest);
    visit(Key{"zero_share", Unit::kFraction}, self.zero_share);
    visit("remarks", self.remarks);
  }
};

// Seconds spent before the first sample, none of them inside one.
struct SetupTimes {
  std::optional<double> plan;
  std::optional<double> kernel_trial;
  std::optional<double> memory;
  std::optional<double> weights;
  std::optional<double> data;
  std::optional<double> total;

  friend bool operator==(const SetupTimes&, const SetupTimes&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(Key{"plan", Unit::kSeconds}, self.plan);
    visit(Key{"kernel_trial", Unit::kSeconds}, self.kernel_trial);
    visit(Key{"memory", Unit::kSeconds}, self.memory);
    visit(Key{"weights", Unit::kSeconds}, self.weights);
    visit(Key{"data", Unit::kSeconds}, self.data);
    visit(Key{"total", Unit::kSeconds}, self.total);
  }
};

// What the first steps cost beyond steady ones. `excess` is their time above that of as many steady steps. Page faults
// and the rest add up to it; `parts` say where it was, by phase and, where launches were marked, by class of work.
struct Transient {
  std::vector<double> warmup;    // seconds of each warm-up step
  std::optional<int64_t> steps;  // how many first steps were slower than the steady ones
  std::optional<double> excess;
  std::optional<double> page_faults;
  std::optional<double> rest;
  std::vector<ClassShare> parts;  // seconds and share of the excess; no class where launches were not marked

  friend bool operator==(const Transient&, const Transient&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(Key{"warmup", Unit::kSeconds}, self.warmup);
    visit("steps", self.steps);
    visit(Key{"excess", Unit::kSeconds}, self.excess);
    visit(Key{"page_faults", Unit::kSeconds}, self.page_faults);
    visit(Key{"rest", Unit::kSeconds}, self.rest);
    visit("parts", self.parts);
  }
};

// How many samples were taken and what ended the sampling: rule "fixed", "interval", "time" or "samples".
struct Stopping {
  std::string rule;
  std::string reason;
  std::optional<int64_t> warmup;
  std::optional<int64_t> steps;
  std::optional<int64_t> steps_per_sample;  // more than 1 where a single step is too short to time

  friend bool operator==(const Stopping&, const Stopping&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("rule", self.rule);
    visit("reason", self.reason);
    visit("warmup", self.warmup);
    visit("steps", self.steps);
    visit("steps_per_sample", self.steps_per_sample);
  }
};

// How far the figures can be trusted, and why: rating "stable", "untested", "noisy", "unstable" or "no_steady_state"
// (distribution/verdict.h), or kPredicted for times that a device model gave.
inline constexpr const char* kPredicted = "predicted";
struct Verdict {
  std::string rating;
  std::vector<std::string> reasons;
  std::optional<double> lost{};  // of the threads' time while sampling: the largest share that one cause took
  std::string lost_to{};         // that cause, "waiting for a core"; empty where no time was lost or none is counted

  friend bool operator==(const Verdict&, const Verdict&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("rating", self.rating);
    visit("reasons", self.reasons);
    visit(Key{"lost", Unit::kFraction}, self.lost);
    visit("lost_to", self.lost_to);
  }
};

// Which kernel ran an op of one signature.
struct KernelUse {
  std::string op;
  std::string signature;
  std::string kernel;

  friend bool operator==(const KernelUse&, const KernelUse&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("op", self.op);
    visit("signature", self.signature);
    visit("kernel", self.kernel);
  }
};

// The program that measured; `id` tells two builds of one commit apart.
struct Binary {
  std::string version;
  std::string commit;
  std::string build_type;
  std::string id;

  friend bool operator==(const Binary&, const Binary&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("version", self.version);
    visit("commit", self.commit);
    visit("build_type", self.build_type);
    visit("id", self.id);
  }
};

// What the run was expected to take, before it ran. Its bytes are `memory.predicted_peak_bytes`.
struct Prediction {
  std::string from;                      // "measured launches", "data sheet"; empty: nothing to predict from
  std::string newest;                    // date of the newest launch that was measured
  std::optional<int64_t> launches;       // of a step
  std::optional<double> measured_share;  // of the predicted time: launches of signatures that were measured
  // Of the predicted time: what comes from launches that were measured on a disturbed machine. None where nothing does.
  std::optional<double> disturbed_share;
  std::string disturbance;             // of most of that time: "12 % of the time was lost to other guests of the host"
  std::map<std::string, double> time;  // seconds, by the keys of Record::time
  // Between them the pass was measured in 90 % of the earlier predictions on this machine; none if those are too few.
  std::optional<double> low, high;  // seconds
  std::optional<int64_t> earlier;   // how many earlier predictions there were
  std::vector<ClassShare> classes;

  friend bool operator==(const Prediction&, const Prediction&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("from", self.from);
    visit("newest", self.newest);
    visit("launches", self.launches);
    visit(Key{"measured_share", Unit::kFraction}, self.measured_share);
    visit(Key{"disturbed_share", Unit::kFraction}, self.disturbed_share);
    visit("disturbance", self.disturbance);
    visit(Key{"time", Unit::kSeconds}, self.time);
    visit(Key{"low", Unit::kSeconds}, self.low);
    visit(Key{"high", Unit::kSeconds}, self.high);
    visit("earlier", self.earlier);
    visit("classes", self.classes);
  }
};

struct Record {
  static constexpr int64_t kSchemaVersion = 1;

  int64_t schema_version = kSchemaVersion;
  std::string name;   // "step/model:small/ctx:256/dtype:float32/mode:eager"
  std::string label;  // by the sweep's own pattern
  Status status = Status::kOk;
  std::string reason;
  std::optional<int64_t> bytes_requested;
  std::optional<int64_t> bytes_available;  // that the step might use: --memory-limit, or 95 % of what was available
  std::string op;                          // where it went wrong
  std::string scope;                       // "layers.3.attn.scores"
  JsonObject config;
  std::string math_mode;                  // what actually ran, where `config.dtype` is what was asked for
  std::map<std::string, TimeStats> time;  // only what has exactly as many samples as there were steps
  HostClock host;
  std::vector<PhaseShare> phases;
  std::vector<ClassShare> classes;  // empty where marks of launches would have taken too much of a step
  std::optional<double> tokens_per_second;
  FlopsUse flops;
  MemoryUse memory;
  LossValues loss;
  LossScalingUse loss_scaling;
  DataUse data;
  std::optional<int64_t> denormals;  // values of weights and states after the last step, where later steps were slower
  SetupTimes setup;
  Transient transient;
  Stopping stopping;
  Verdict verdict;
  Prediction prediction;
  std::vector<KernelUse> kernels;
  JsonObject machine;
  std::string fingerprint;  // of the machine: records that differ in it, or in math_mode, are not compared
  Binary binary;
  std::string sweep;        // name of the run description, where there was one
  std::string run;          // the same for all points of one command
  std::string config_hash;  // of what the configuration resolved to: what `--resume` looks up
  std::string created;      // ISO 8601, UTC: "2025-11-21T10:15:00Z"

  // Defaulted in record.cpp: copies and destruction of so large a struct are compiled once, not in every source.
  Record();
  Record(const Record&);
  Record(Record&&) noexcept;
  Record& operator=(const Record&);
  Record& operator=(Record&&) noexcept;
  ~Record();

  friend bool operator==(const Record&, const Record&) = default;
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit("schema_version", self.schema_version);
    visit("name", self.name);
    visit("label", self.label);
    visit("status", self.status);
    visit("reason", self.reason);
    visit(Key{"bytes_requested", Unit::kBytes}, self.bytes_requested);
    visit(Key{"bytes_available", Unit::kBytes}, self.bytes_available);
    visit("op", self.op);
    visit("scope", self.scope);
    visit("config", self.config);
    visit("math_mode", self.math_mode);
    visit("time", self.time);
    visit("host", self.host);
    visit("phases", self.phases);
    visit("classes", self.classes);
    visit(Key{"tokens_per_second", Unit::kTokensPerSecond}, self.tokens_per_second);
    visit("flops", self.flops);
    visit("memory", self.memory);
    visit("loss", self.loss);
    visit("loss_scaling", self.loss_scaling);
    visit("data", self.data);
    visit("denormals", self.denormals);
    visit("setup", self.setup);
    visit("transient", self.transient);
    visit("stopping", self.stopping);
    visit("verdict", self.verdict);
    visit("prediction", self.prediction);
    visit("kernels", self.kernels);
    visit("machine", self.machine);
    visit("fingerprint", self.fingerprint);
    visit("binary", self.binary);
    visit("sweep", self.sweep);
    visit("run", self.run);
    visit("config_hash", self.config_hash);
    visit("created", self.created);
  }

  // The time of the pass that was asked for (`config.pass`); null where there is none.
  const TimeStats* main_time() const;
};

// The record that to_json() (record/fields_json.h) wrote. Unknown keys are ignored, missing ones keep their default; a
// wrong type, a missing name, status or schema version, or a newer schema version is an Error that names the key.
Record record_from_json(const Json& json);

// One line without a line break; characters outside ASCII and control bytes are \u-escaped.
std::string to_text(const Record& record);
// Error on malformed JSON and on more than the limits below, else as record_from_json.
Record parse_record(std::string_view text);

inline constexpr size_t kMaxRecordBytes = size_t{64} << 20U;
inline constexpr int kMaxRecordDepth = 32;
inline constexpr int kMaxRecordKeys = 20'000;

// A key that a record may have, "*" standing for any name and "[]" for an element of a list, the type of its value
// ("text", "integer", "number", "object", "list of number", ...), and the unit that it counts in.
struct SchemaKey {
  std::string path;  // "time.*.mean", "kernels[].op"
  std::string type;
  Unit unit = Unit::kNone;
};
const std::vector<SchemaKey>& schema_keys();
// Of `machine`, where this program wrote it; other programs may have others.
const std::vector<SchemaKey>& machine_keys();

// 16 hexadecimal digits of a configuration's canonical text.
std::string config_hash(std::string_view canonical_text);

// A calendar time as `Record::created` is written; seconds since 1970-01-01T00:00:00Z.
std::string format_utc(int64_t seconds_since_epoch);

}  // namespace laptime
