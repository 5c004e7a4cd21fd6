// Record: one measured or predicted point as data that can be stored. Keys, types and units: docs/record_schema.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/key.h"
#include "config/option.h"
#include "distribution/summary.h"

namespace laptime {

struct DocumentFile;  // defined in data/json_documents.h

// Each struct lists its fields once, with their units, in the order of the JSON keys; config/fields_json.h uses that
// list to write and to read the JSON. Unknown numbers are empty optionals, which are null in JSON.

enum class Status : uint8_t { kOk, kOutOfMemory, kUnsupported, kTimeout, kFailed, kInterrupted };

constexpr auto choices_of(Status) {
  return choices<Status>("ok", "out_of_memory", "unsupported", "timeout", "failed", "interrupted");
}

// All samples of one pass or phase, in seconds, and their statistics.
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

// Step times by the host's clock, from before the first launch until the device has finished. Empty unless the device
// has its own clock, which is then used for `time`.
struct HostClock {
  std::vector<double> samples;       // seconds of whole steps
  std::optional<double> median;      // seconds
  std::optional<double> difference;  // `median` divided by the device's median for whole steps, minus 1

  friend bool operator==(const HostClock&, const HostClock&) = default;
  LAPTIME_FIELDS((kSeconds, samples, median), (kFraction, difference))
};

// Mean seconds of one phase in a step, and its share of the whole step. The entry "residue" is the rest.
struct PhaseShare {
  std::string phase;
  double seconds = 0, share = 0;

  friend bool operator==(const PhaseShare&, const PhaseShare&) = default;
  LAPTIME_FIELDS(phase, (kSeconds, seconds), (kFraction, share))
};

// Seconds of one class of work ("matmul", "softmax", ...) in one phase, and their share of a total: the mean sample,
// the predicted time, or the excess of the first steps.
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

// Model FLOPs of one step by phase, their rate, and that rate as a fraction of the machine's peak.
struct FlopsUse {
  std::optional<double> forward, backward, optimizer;
  std::optional<double> attention;  // part of forward: the two products of attention; causal attention needs only half
  std::optional<double> head;       // part of forward: the product that computes the logits
  std::optional<int64_t> parameters;  // number of trainable scalars
  std::optional<double> model_flops_per_second;
  std::optional<double> peak_measured;   // FLOP/s
  std::string peak_measured_at;          // date of that measurement; ISO 8601, UTC
  std::optional<double> peak_datasheet;  // FLOP/s
  std::optional<double> mfu_measured, mfu_datasheet;
  std::string above_peak;                     // why mfu_measured exceeds 1; empty if it does not
  std::optional<double> products_per_second;  // FLOP/s of the fastest matrix product among the timed launches

  friend bool operator==(const FlopsUse&, const FlopsUse&) = default;
  LAPTIME_FIELDS((kFlops, forward, backward, optimizer, attention, head), parameters,
                 (kFlopsPerSecond, model_flops_per_second, peak_measured), peak_measured_at,
                 (kFlopsPerSecond, peak_datasheet), (kFraction, mfu_measured, mfu_datasheet), above_peak,
                 (kFlopsPerSecond, products_per_second))
};

// A tensor that is live at the predicted peak: its name, the op that writes it, the op's scope and phase, and its size.
struct TensorUse {
  std::string name;  // name of the source, or of the value in the model; empty if there is none
  std::string op;    // empty for a source
  std::string scope;
  std::string phase;  // phase that writes the tensor
  std::string role;
  std::string dtype;  // empty for scratch memory, as is `shape`
  std::vector<int64_t> shape;
  int64_t bytes = 0;

  friend bool operator==(const TensorUse&, const TensorUse&) = default;
  LAPTIME_FIELDS(name, op, scope, phase, role, dtype, shape, (kBytes, bytes))
};

// A rank's communication in a step; empty if it is the only rank. `exposed` is the time in which computation waited for
// communication; `seconds` also counts communication alongside computation. Both are medians over the samples.
struct CommunicationUse {
  std::optional<int64_t> bytes, launches;
  std::optional<double> seconds, exposed;

  friend bool operator==(const CommunicationUse&, const CommunicationUse&) = default;
  LAPTIME_FIELDS((kBytes, bytes), launches, (kSeconds, seconds, exposed))
};

// Memory in bytes. `parts` divides the predicted peak by role: parameter, gradient, optimizer_state, activation, ...
struct MemoryUse {
  std::optional<int64_t> predicted_peak_bytes, peak_bytes;
  std::optional<int64_t> peak_rss_bytes, base_rss_bytes;
  std::optional<int64_t> requested_bytes;  // peak bytes requested by tensors: torch's requested_bytes
  std::optional<int64_t> reserved_bytes;   // peak device memory reserved for tensors: torch's reserved_bytes
  std::map<std::string, int64_t> parts;
  std::string recompute;  // what backward recomputed: "none", "block", "block in layers 0-3 of 12", "every=2"
  std::optional<int64_t> resident_bytes;        // in use before the step: weights, optimizer states, inputs, constants
  std::optional<int64_t> after_forward_bytes;   // in use when forward has finished
  std::optional<int64_t> after_backward_bytes;  // in use when backward has finished
  std::vector<TensorUse> largest;               // tensors live at the predicted peak, largest first

  friend bool operator==(const MemoryUse&, const MemoryUse&) = default;
  LAPTIME_FIELDS((kBytes, predicted_peak_bytes, peak_bytes, peak_rss_bytes, base_rss_bytes, requested_bytes,
                  reserved_bytes, parts),
                 recompute, (kBytes, resident_bytes, after_forward_bytes, after_backward_bytes), largest)
};

// The loss of every step in order, including warm-up; NaN if it was not finite (null in JSON).
struct LossValues {
  std::vector<double> values;

  friend bool operator==(const LossValues&, const LossValues&) = default;
  LAPTIME_FIELDS((kNats, values))
};

// Changes of the loss scale, and the steps that were skipped because a gradient overflowed. Empty if the loss was not
// scaled.
struct LossScalingUse {
  std::optional<double> first;  // scale of the first step
  std::optional<double> last;   // scale after the last step
  std::optional<int64_t> growths, backoffs, skipped_steps;
  std::vector<int64_t> skipped;  // numbers of the skipped steps, including warm-up; the first step is 1

  friend bool operator==(const LossScalingUse&, const LossScalingUse&) = default;
  LAPTIME_FIELDS(first, last, growths, backoffs, skipped_steps, skipped)
};

// The tokens in the files of --data; empty if tokens are random.
struct DataUse {
  std::string format;  // "llmc", "uint16", "npy", ...: any value of --data-format except auto
  std::string type;    // type of a stored token: "uint32"
  std::optional<int64_t> files, tokens;
  std::optional<int64_t> smallest, largest;
  std::optional<double> zero_share;  // share of tokens that are zero
  std::vector<std::string> remarks;  // reasons to suspect that the files are not the intended data

  friend bool operator==(const DataUse&, const DataUse&) = default;
  LAPTIME_FIELDS(format, type, files, tokens, smallest, largest, (kFraction, zero_share), remarks)
};

// Seconds spent before the first step. `total` does not include `placement`, the time until a launcher had placed the
// point and its process could begin.
struct SetupTimes {
  std::optional<double> plan, kernel_trial, memory, weights, data, total, placement;

  friend bool operator==(const SetupTimes&, const SetupTimes&) = default;
  LAPTIME_FIELDS((kSeconds, plan, kernel_trial, memory, weights, data, total, placement))
};

// The cost of the first steps: `excess` is their time minus the time of as many steady steps. It is the sum of
// `page_faults` and `rest`; `parts` divides it by phase and, if launches were timed, by class of work.
struct Transient {
  std::vector<double> warmup;    // seconds of each warm-up step
  std::optional<int64_t> steps;  // number of first steps that were slower than the steady ones
  std::optional<double> excess, page_faults, rest;
  std::vector<ClassShare> parts;  // seconds and share of the excess; no class if launches were not timed

  friend bool operator==(const Transient&, const Transient&) = default;
  LAPTIME_FIELDS((kSeconds, warmup), steps, (kSeconds, excess, page_faults, rest), parts)
};

// How many samples were taken, and which rule ended the sampling: a name from distribution/stopping_rule.h, such
// as "interval" or "fixed".
struct Stopping {
  std::string rule, reason;
  std::optional<int64_t> warmup, steps;
  std::optional<int64_t> steps_per_sample;  // more than 1 if a single step is too short to time

  friend bool operator==(const Stopping&, const Stopping&) = default;
  LAPTIME_FIELDS(rule, reason, warmup, steps, steps_per_sample)
};

// How reliable the figures are, and why: rating "stable", "untested", "noisy", "unstable" or "no_steady_state"
// (distribution/verdict.h), or kPredicted for times from a device model.
inline constexpr const char* kPredicted = "predicted";
struct Verdict {
  std::string rating;
  std::vector<std::string> reasons;
  std::optional<double> lost{};  // share of the threads' time that the worst disturbance took during sampling
  std::string lost_to{};         // the worst disturbance, such as "waiting for a core"; empty if none is known

  friend bool operator==(const Verdict&, const Verdict&) = default;
  LAPTIME_FIELDS(rating, reasons, (kFraction, lost), lost_to)
};

// Which kernel ran an op with a given signature.
struct KernelUse {
  std::string op, signature, kernel;

  friend bool operator==(const KernelUse&, const KernelUse&) = default;
  LAPTIME_FIELDS(op, signature, kernel)
};

// The program that made the record; `id` distinguishes two builds of one commit.
struct Binary {
  std::string version, commit, build_type, id;

  friend bool operator==(const Binary&, const Binary&) = default;
  LAPTIME_FIELDS(version, commit, build_type, id)
};

// The times predicted before the steps ran. The predicted memory is `memory.predicted_peak_bytes`.
struct Prediction {
  std::string from;                      // "measured launches", "data sheet", "reached rates"; empty: no basis
  std::string newest;                    // date of the newest measured launch
  std::optional<int64_t> launches;       // launches in a step
  std::optional<double> measured_share;  // share of the predicted time from launches whose signatures were measured
  // The share of the predicted time that comes from launches measured on a disturbed machine; none if no launch was.
  std::optional<double> disturbed_share;
  std::string disturbance;             // the main disturbance: "12 % of the time was lost to other guests of the host"
  std::map<std::string, double> time;  // seconds, keyed like Record::time
  // The 90 % prediction interval, from the errors of earlier predictions on this machine or, for a described machine,
  // from known times; none if there are too few.
  std::optional<double> low, high;     // seconds
  std::optional<int64_t> earlier;      // number of earlier predictions or known times
  std::optional<double> median_error;  // of those predictions
  std::vector<ClassShare> classes;

  friend bool operator==(const Prediction&, const Prediction&) = default;
  LAPTIME_FIELDS(from, newest, launches, (kFraction, measured_share, disturbed_share), disturbance,
                 (kSeconds, time, low, high), earlier, (kFraction, median_error), classes)
};

struct Record {
  static constexpr int64_t kSchemaVersion = 1;

  int64_t schema_version = kSchemaVersion;
  std::string name;   // "step/model:small/ctx:256/dtype:float32/mode:eager"
  std::string label;  // made from the sweep's label pattern
  Status status = Status::kOk;
  std::string reason;
  std::optional<int64_t> bytes_requested;
  std::optional<int64_t> bytes_available;  // available to the step: --memory-limit or 95 % of free memory
  std::string op;                          // op that failed
  std::string scope;                       // scope of that op: "layers.3.attn.scores"
  JsonObject config;
  std::string math_mode;                  // the arithmetic that ran; `config.dtype` is the requested type
  std::map<std::string, TimeStats> time;  // keyed by pass or phase; all entries have samples of the same steps
  HostClock host;
  std::vector<PhaseShare> phases;
  std::vector<ClassShare> classes;  // empty if timing the launches would have slowed the step down too much
  std::optional<double> tokens_per_second;
  FlopsUse flops;
  MemoryUse memory;
  CommunicationUse communication;
  LossValues loss;
  LossScalingUse loss_scaling;
  DataUse data;
  std::optional<int64_t> denormals;  // in weights and optimizer states; counted only if later steps were slower
  SetupTimes setup;
  Transient transient;
  Stopping stopping;
  Verdict verdict;
  Prediction prediction;
  std::vector<KernelUse> kernels;
  JsonObject machine;
  std::string fingerprint;  // identifies the machine: records with different fingerprints or math_mode are not compared
  Binary binary;
  std::string sweep;        // name of the sweep; empty without one
  std::string run;          // name of the run: the same for all points of one command
  std::string config_hash;  // hash of the resolved configuration, by which `--resume` finds records
  std::string asked_hash;   // hash of the requested options, used by `--resume` with a launcher
  std::string created;      // ISO 8601, UTC: "2025-11-21T10:15:00Z"

  // Defaulted in record.cpp, so that copies and destruction of this large struct are compiled only once.
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
                 kernels, machine, fingerprint, binary, sweep, run, config_hash, asked_hash, created)

  // The time of the requested pass (`config.pass`), or else the only entry of `time`; null if there is neither.
  const TimeStats* main_time() const;
};

// `samples`: seconds, in time order. Throws Error if there are none or one is not finite (distribution/samples.h).
TimeStats make_time_stats(std::span<const double> samples);

// The time of a phase, or of the requested pass if `phase` is empty; null without samples.
const TimeStats* time_of(const Record& record, std::string_view phase = {});

// The distance from the median to the farther end of its 95 % interval, as a fraction of the median. None for fewer
// than six samples.
std::optional<double> known_within(const Summary& time);

// True if the record's times come from a device model, not from measurement. Also works for a planned point.
bool is_predicted(const Record& record);

// True if the model's key/value heads have their default number and width, even if the record states these values
// explicitly, as records of other programs may.
bool has_default_key_heads(const Record& record);

// The program that ran the record's steps, such as "pytorch"; empty for laptime. Works even if only the record's name
// was read, because the name includes the program.
std::string system_of(const Record& record);

// Reads a record that to_json() (config/fields_json.h) wrote. Unknown keys are ignored, and missing optional keys keep
// their defaults. Throws Error, naming the key, if a value has the wrong type, a required key such as the name is
// missing, the schema version is unknown, a time is not in "s", or a count is not the number of samples.
Record record_from_json(const Json& json);

// The record as one line of JSON, without a line break; control bytes and characters outside ASCII are \u-escaped.
std::string to_text(const Record& record);
// Throws Error for malformed JSON, and for text that exceeds the limits on size and nesting (data/json_documents.h) or
// has more than kMaxRecordKeys keys; otherwise like record_from_json.
Record parse_record(std::string_view text);

inline constexpr int kMaxRecordKeys = 20'000;

// The records in a file written by `laptime bench --output json`, `laptime show` or peers/run. Throws Error for a
// document that is not a record.
std::vector<Record> read_records(const DocumentFile& file);

// A key that a record may have, where "*" stands for any name and "[]" for a list element; the type of its value
// ("text", "integer", "number", "object", "list of number", ...); and its unit.
struct SchemaKey {
  std::string path;  // "time.*.mean", "kernels[].op"
  std::string type;
  Unit unit = Unit::kNone;
};
const std::vector<SchemaKey>& schema_keys();
// The keys that this program writes in `machine`; other programs may write other keys.
const std::vector<SchemaKey>& machine_keys();

// Hashes a configuration's canonical text to 16 hexadecimal digits.
std::string config_hash(std::string_view canonical_text);

// Formats seconds since 1970-01-01T00:00:00Z as a date like `Record::created`.
std::string format_utc(int64_t seconds_since_epoch);

}  // namespace laptime
