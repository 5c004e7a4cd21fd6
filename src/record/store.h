// The store: records, traces and device measurements in one SQLite file.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "record/listing.h"
#include "record/record.h"
#include "record/step_trace.h"
#include "record/store_schema.h"

namespace laptime {

namespace sqlite {
class Database;
}

// The kernel with the shortest measured time on a device for a signature. A signature includes the op.
struct KernelChoice {
  std::string device;  // the machine's fingerprint and the device's identity, which includes the build's kernels
  std::string signature;
  std::string kernel;
  double seconds = 0;
  std::string created;  // ISO 8601, UTC

  static constexpr const char* kTable = "kernel_choices";  // its columns are named like the fields
  static constexpr const char* kOrder = "signature";
  friend bool operator==(const KernelChoice&, const KernelChoice&) = default;
  LAPTIME_FIELDS(device, signature, kernel, (kSeconds, seconds), created)
};

// The time that a launch with a given signature takes in a step on a device: the mean over runs with similar times.
struct LaunchCost {
  std::string device;
  int64_t threads = 0;  // 0 for a device without threads
  std::string signature;
  std::string kernel;
  // Op and operand types (kind_of), "matmul float32,float32": equal for launches that differ only in shapes or
  // attributes.
  std::string kind;
  double flops = 0;   // model FLOPs
  int64_t bytes = 0;  // bytes that must be read and written
  double seconds = 0;
  std::string created;        // date of the newest run in the mean; ISO 8601, UTC
  int64_t runs = 1;           // runs averaged in `seconds`, at most 8, so that older runs lose weight (with_newer)
  std::string disturbance{};  // what disturbed the machine during the runs, and how much; empty if nothing did

  static constexpr const char* kTable = "launch_costs";
  static constexpr const char* kOrder = "threads, signature";
  friend bool operator==(const LaunchCost&, const LaunchCost&) = default;
  LAPTIME_FIELDS(device, threads, signature, kernel, kind, (kFlops, flops), (kBytes, bytes), (kSeconds, seconds),
                 created, runs, disturbance)
};

// Merges a newer measurement of the same launch into `known`. A measurement with another kernel replaces `known`. If
// only one of the two was disturbed, only the undisturbed one counts. Other programs can only make a launch slower, so
// a measurement more than 1.5 times as long is ignored, and a measurement more than 1.5 times as fast replaces `known`.
LaunchCost with_newer(LaunchCost known, const LaunchCost& newer);

// The best value ever measured for a limit of one device, with a name such as
// "float32_product_flops_per_second/threads:2".
struct MeasuredPeak {
  std::string device;
  std::string name;
  double value = 0;
  std::string unit;
  std::string created;  // ISO 8601, UTC

  static constexpr const char* kTable = "measured_peaks";
  static constexpr const char* kOrder = "name";
  friend bool operator==(const MeasuredPeak&, const MeasuredPeak&) = default;
  LAPTIME_FIELDS(device, name, value, unit, created)
};

// Returns the higher value (the lower one for seconds), because interference only makes a limit look worse.
const MeasuredPeak& better_of(const MeasuredPeak& known, const MeasuredPeak& newer);

// The suffix that distinguishes another machine's run from a run with the same name.
std::string run_mark(std::string_view fingerprint);

// Fingerprints of the machines that measured records of each run, in the order in which the records were stored.
using MachinesByRun = std::map<std::string, std::vector<std::string>>;

// A call returns after its data has reached the disk, and several processes may use a file at once. Every function
// throws Error, saying what is wrong and what to do, if the file cannot be read or written: no space, no permission,
// damaged, locked, not a laptime store, or written by a newer laptime. A store must not be used across fork(): the
// child must not use its parent's store.
class Store {
 public:
  enum class Access { kRead, kWrite };

  static constexpr int64_t kSchemaVersion = store_schema::kVersion;

  // kWrite creates the file if it is missing, but not its folder; kRead needs an existing file. A file that is not a
  // store is left unchanged. While another process locks the file, every call waits for up to 30 s, or until 1 s after
  // `stop` has become true.
  static Store open(const std::filesystem::path& path, Access access = Access::kWrite,
                    const std::function<bool()>& stop = {});

  // Throws Error unless a record could be written now. Checks by rewriting a value that the file already contains.
  void check_writable();

  // Stores a record and returns its id. `text` is the record as written by to_text.
  int64_t append(std::string_view text, const std::optional<StepTrace>& trace = {});
  int64_t append(const Record& record, const std::optional<StepTrace>& trace = {}) {
    return append(to_text(record), trace);
  }

  // Commits everything that `write` appends, or nothing if `write` throws.
  void write_together(const std::function<void()>& write);
  // The id of the stored record that equals this one, ignoring the suffix that import gives to runs (run_mark).
  std::optional<int64_t> find_same(const Record& record) const;
  // Adds a trace to a stored record. Returns false if the record already has one.
  bool add_trace(int64_t id, const StepTrace& trace);
  // True if a run with this name measured a stored record, or took a record from the store.
  bool has_run(std::string_view run) const;
  // The machines of each run, according to the records that can be found.
  MachinesByRun machines_by_run() const;

  // Whether the store has the record with this id, run and name.
  bool has(int64_t id, std::string_view run, std::string_view name) const;

  // Visits all records, oldest first: by date, then by id. An unreadable row (not a record, from a newer laptime, or on
  // a damaged page) is skipped, and `problem` receives a message that names it. `visit` returns false to stop; the
  // store is not locked while it runs.
  using Visit = std::function<bool(int64_t id, const Record&)>;
  using Problem = std::function<void(const std::string&)>;
  void each(Extent extent, const Visit& visit, const Problem& problem) const {
    each_of(ids(problem), extent, visit, problem);
  }
  // Visits in the order of `ids`; an id without a record is skipped.
  void each_of(std::span<const int64_t> ids, Extent extent, const Visit& visit, const Problem& problem) const;

  // The ids of all records that can be found, oldest first.
  std::vector<int64_t> ids(const Problem& problem) const;

  // The JSON of a record as it was written, and its trace; none if the store lacks it. Throws Error for an unreadable
  // trace.
  std::optional<std::string> text_at(int64_t id) const;
  std::optional<StepTrace> trace_at(int64_t id) const;
  // The newest record with status ok for this configuration, binary and machine. With `traced_steps`, only records
  // whose trace has at least that many steps.
  struct Finished {
    int64_t id = 0;
    Record record;
    std::optional<StepTrace> trace;  // read only if `traced_steps` has a value
  };
  std::optional<Finished> find_finished(std::string_view config_hash, std::string_view binary_id,
                                        std::string_view fingerprint,
                                        std::optional<int64_t> traced_steps = std::nullopt) const;

  // For each asked_hash, the id of the newest record with status ok that this binary made.
  std::map<std::string, int64_t> finished_by_asked_hash(std::string_view binary_id) const;
  std::optional<Record> record_at(int64_t id) const;  // none if no record has this id

  // Notes that the command of this run took these records from the store instead of measuring them. Repeated notes have
  // no effect.
  void add_resumed(std::string_view run, std::span<const int64_t> ids);
  // The ids noted for every run whose name contains `text`, or equals `text` if `is_whole`; ascending.
  std::vector<int64_t> resumed_by(std::string_view text, bool is_whole) const;
  // Every run that took records from the store, with the records' ids.
  std::map<std::string, std::vector<int64_t>> resumed() const;
  // The newest run that took records; none if no run did.
  struct Resumed {
    std::string run;
    std::string created;    // date when the run began
    int64_t taken_id = 0;   // id of a record that the run took
    int64_t newest_id = 0;  // the largest record id when the run took its records
  };
  std::optional<Resumed> newest_resumed() const;

  // put() replaces a kernel choice with the same key, merges a launch cost with a known one (with_newer), and keeps the
  // better of two peaks (better_of). Each call writes all values or none. The returned lists are ordered by key.
  void put(std::span<const KernelChoice> choices);
  void put(std::span<const LaunchCost> costs);
  void put(const MeasuredPeak& peak);
  std::vector<KernelChoice> kernel_choices(std::string_view device) const;
  std::vector<LaunchCost> launch_costs(std::string_view device) const;
  std::vector<MeasuredPeak> measured_peaks(std::string_view device) const;

  // Predicted divided by measured time, minus 1, for the newest records of this kind of device ("cpu" or "cuda") and
  // machine that were predicted from launches.
  std::vector<double> prediction_errors(std::string_view device) const;

 private:
  explicit Store(std::shared_ptr<sqlite::Database> database) : database_(std::move(database)) {}

  std::shared_ptr<sqlite::Database> database_;  // shared by copies of a store
};

struct Imported {
  int64_t added = 0;
  int64_t known = 0;   // records that were already in the store
  int64_t traces = 0;  // traces that were added, possibly to known records
};

// The machines of the records in a file. Throws Error with the line of the first document that is not a record, or
// whose trace (the key `trace` next to the record's fields) is invalid.
MachinesByRun checked_records(const std::string& path);

// Adds the records that the store lacks; a record that equals a stored one counts as known. If the store has a run of
// the same name, but from none of the run's machines, run_mark is appended to the imported name, so that the runs stay
// separate. `machines` is the result of checked_records.
Imported import_records(Store& store, const std::string& path, const MachinesByRun& machines);

// Like import_records; also copies the notes on resumed records. `problem` receives a message for each unreadable
// record or trace; a record is imported without its unreadable trace.
Imported import_store(Store& store, const Store& other, const Store::Problem& problem);

}  // namespace laptime
