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

#include "base/json.h"
#include "base/key.h"
#include "config/option.h"
#include "distribution/summary.h"

namespace laptime {

struct DocumentFile;  // data/json_documents.h

// Each struct states its fields once, with their units, in the order of the JSON keys; writing and reading
// (config/fields_json.h) follow from that statement. Unknown numbers are empty optionals, which JSON has as null.

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
  LAPTIME_FIELDS((kSeconds, samples, median), (kFraction, difference))
};

// Mean seconds of one phase inside a sample, and its share of the sample; the last one is named "residue".
struct PhaseShare {
  std::string phase;
  double seconds = 0, share = 0;

  friend bool operator==(const PhaseShare&, const PhaseShare&) = default;
  LAPTIME_FIELDS(phase, (kSeconds, seconds), (kFraction, share))
};

// Seconds of one class of work ("matmul", "softmax", ...) in one phase, and their share of a whole: the mean of a
// sample, or the excess of the first steps.
struct ClassShare {
  std::string phase, work_class;
  double seconds = 0, share = 0;

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
  std::optional<double> forward, backward, optimizer;
  std::optional<double> attention;    // of forward: the two products of attention, counted whole
  std::optional<double> head;         // of forward: the product that makes the logits
  std::optional<int64_t> parameters;  // trainable scalars
  std::optional<double> model_flops_per_second;
  std::optional<double> peak_measured;   // FLOP/s
  std::string peak_measured_at;          // date of that measurement; ISO 8601, UTC
  std::optional<double> peak_datasheet;  // FLOP/s
  std::optional<double> mfu_measured, mfu_datasheet;
  std::string above_peak;                     // why mfu_measured exceeds 1; empty where it does not
  std::optional<double> products_per_second;  // FLOP/s of the fastest matrix product among the launches that were timed

  friend bool operator==(const FlopsUse&, const FlopsUse&) = default;
  LAPTIME_FIELDS((kFlops, forward, backward, optimizer, attention, head), parameters,
                 (kFlopsPerSecond, model_flops_per_second, peak_measured), peak_measured_at,
                 (kFlopsPerSecond, peak_datasheet), (kFraction, mfu_measured, mfu_datasheet), above_peak,
                 (kFlopsPerSecond, products_per_second))
};

// A tensor that is live at the predicted peak: what it is, which op makes it and where, and its bytes.
struct TensorUse {
  std::string name;  // of a source, or in the model; empty where it has none
  std::string op;    // empty for a source
  std::string scope;
  std::string phase;  // that makes it
  std::string role;
  std::string dtype;  // empty, as is `shape`, for scratch
  std::vector<int64_t> shape;
  int64_t bytes = 0;

  friend bool operator==(const TensorUse&, const TensorUse&) = default;
  LAPTIME_FIELDS(name, op, scope, phase, role, dtype, shape, (kBytes, bytes))
};

// The communication of a rank in a step; nothing where there is one rank. `exposed` is the time in which its
// computation waited, and `seconds` also has the time of communication beside computation: medians over the samples.
struct CommunicationUse {
  std::optional<int64_t> bytes, launches;
  std::optional<double> seconds, exposed;

  friend bool operator==(const CommunicationUse&, const CommunicationUse&) = default;
  LAPTIME_FIELDS((kBytes, bytes), launches, (kSeconds, seconds, exposed))
};

// Bytes. `parts` divides the predicted peak by role: parameter, gradient, optimizer_state, activation, ...
struct MemoryUse {
  std::optional<int64_t> predicted_peak_bytes, peak_bytes;
  std::optional<int64_t> peak_rss_bytes, base_rss_bytes;
  std::optional<int64_t> requested_bytes;  // most that tensors asked for at once: torch's requested_bytes
  std::optional<int64_t> reserved_bytes;   // most of the device's memory taken for them: torch's reserved_bytes
  std::map<std::string, int64_t> parts;
  std::string recompute;  // what backward recomputed: "none", "block", "block in layers 0-3 of 12", "every=2"
  std::optional<int64_t> resident_bytes;        // held before the step begins: weights, states, inputs, constants
  std::optional<int64_t> after_forward_bytes;   // held when forward is done
  std::optional<int64_t> after_backward_bytes;  // held when backward is done
  std::vector<TensorUse> largest;               // tensors held at the predicted peak, the largest first

  friend bool operator==(const MemoryUse&, const MemoryUse&) = default;
  LAPTIME_FIELDS((kBytes, predicted_peak_bytes, peak_bytes, peak_rss_bytes, base_rss_bytes, requested_bytes,
                  reserved_bytes, parts),
                 recompute, (kBytes, resident_bytes, after_forward_bytes, after_backward_bytes), largest)
};

// The loss of every step in order, warm-up included; NaN where it was not finite (null in JSON).
struct LossValues {
  std::vector<double> values;

  friend bool operator==(const LossValues&, const LossValues&) = default;
  LAPTIME_FIELDS((kNats, values))
};

// How the loss scale changed, and the steps that were skipped because a gradient overflowed; nothing where the loss was
// not scaled.
struct LossScalingUse {
  std::optional<double> first;  // scale of the first step
  std::optional<double> last;   // scale after the last step
  std::optional<int64_t> growths, backoffs, skipped_steps;
  std::vector<int64_t> skipped;  // their numbers, the first step being 1, warm-up included

  friend bool operator==(const LossScalingUse&, const LossScalingUse&) = default;
  LAPTIME_FIELDS(first, last, growths, backoffs, skipped_steps, skipped)
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
  LAPTIME_FIELDS(format, type, files, tokens, smallest, largest, (kFraction, zero_share), remarks)
};

// Seconds spent before the first sample, none of them inside one.
struct SetupTimes {
  std::optional<double> plan, kernel_trial, memory, weights, data, total;

  friend bool operator==(const SetupTimes&, const SetupTimes&) = default;
  LAPTIME_FIELDS((kSeconds, plan, kernel_trial, memory, weights, data, total))
};

// The cost of the first steps: `excess` is their time above that of as many steady steps. Page faults and the rest add
// up to it; `parts` say where it was, by phase and, where launches were marked, by class of work.
struct Transient {
  std::vector<double> warmup;    // seconds of each warm-up step
  std::optional<int64_t> steps;  // how many first steps were slower than the steady ones
  std::optional<double> excess, page_faults, rest;
  std::vector<ClassShare> parts;  // seconds and share of the excess; no class where launches were not marked

  friend bool operator==(const Transient&, const Transient&) = default;
  LAPTIME_FIELDS((kSeconds, warmup), steps, (kSeconds, excess, page_faults, rest), parts)
};

// How many samples were taken and what ended the sampling: rule "fixed", "interval", "time" or "samples".
struct Stopping {
  std::string rule, reason;
  std::optional<int64_t> warmup, steps;
  std::optional<int64_t> steps_per_sample;  // more than 1 where a single step is too short to time

  friend bool operator==(const Stopping&, const Stopping&) = default;
  LAPTIME_FIELDS(rule, reason, warmup, steps, steps_per_sample)
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
  LAPTIME_FIELDS(rating, reasons, (kFraction, lost), lost_to)
};

// Which kernel ran an op of one signature.
struct KernelUse {
  std::string op, signature, kernel;

  friend bool operator==(const KernelUse&, const KernelUse&) = default;
  LAPTIME_FIELDS(op, signature, kernel)
};

// The program that measured; `id` tells two builds of one commit apart.
struct Binary {
  std::string version, commit, build_type, id;

  friend bool operator==(const Binary&, const Binary&) = default;
  LAPTIME_FIELDS(version, commit, build_type, id)
};

// The time that the run was expected to take, before it ran. Its bytes are `memory.predicted_peak_bytes`.
struct Prediction {
  std::string from;                      // "measured launches", "data sheet"; empty: nothing to predict from
  std::string newest;                    // date of the newest launch that was measured
  std::optional<int64_t> launches;       // of a step
  std::optional<double> measured_share;  // of the predicted time: launches of signatures that were measured
  // The part of the predicted time that comes from launches measured on a disturbed machine; none where there is none.
  std::optional<double> disturbed_share;
  std::string disturbance;             // of most of that time: "12 % of the time was lost to other guests of the host"
  std::map<std::string, double> time;  // seconds, by the keys of Record::time
  // Between them the pass was measured in 90 % of the earlier predictions on this machine; none if those are too few.
  std::optional<double> low, high;  // seconds
  std::optional<int64_t> earlier;   // how many earlier predictions there were
  std::vector<ClassShare> classes;

  friend bool operator==(const Prediction&, const Prediction&) = default;
  LAPTIME_FIELDS(from, newest, launches, (kFraction, measured_share, disturbed_share), disturbance,
                 (kSeconds, time, low, high), earlier, classes)
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
  CommunicationUse communication;
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

  // Defaulted in record_json.cpp: copies and destruction of so large a struct are compiled once, not in every source.
  Record();
  Record(const Record&);
  Record(Record&&) noexcept;
  Record& operator=(const Record&);
  Record& operator=(Record&&) noexcept;
  ~Record();

  friend bool operator==(const Record&, const Record&) = default;
  LAPTIME_FIELDS(schema_version, name, label, status, reason, (kBytes, bytes_requested, bytes_available), op, scope,
                 config, math_mode, time, host, phases, classes, (kTokensPerSecond, tokens_per_second), flops, memory,
                 communication, loss, loss_scaling, data, denormals, setup, transient, stopping, verdict, prediction,
                 kernels, machine, fingerprint, binary, sweep, run, config_hash, created)

  // The time of the pass that was asked for (`config.pass`); null where there is none.
  const TimeStats* main_time() const;
};

// The record that to_json() (config/fields_json.h) wrote. Unknown keys are ignored, missing ones keep their default; a
// wrong type, a missing name, status or schema version, or a newer schema version is an Error that names the key.
Record record_from_json(const Json& json);

// One line without a line break; characters outside ASCII and control bytes are \u-escaped.
std::string to_text(const Record& record);
// Error on malformed JSON and beyond the limits of a document (data/json_documents.h) and of keys, else as
// record_from_json.
Record parse_record(std::string_view text);

inline constexpr int kMaxRecordKeys = 20'000;

// The records of a file that `laptime bench --output json`, `laptime show` or peers/run wrote. Error for a document
// that is no record.
std::vector<Record> read_records(const DocumentFile& file);

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
