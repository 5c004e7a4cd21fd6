// The store: records, traces and what was measured of devices in one SQLite file.
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

// The kernel that measured fastest on one device for one signature (the op is part of the signature).
struct KernelChoice {
  std::string device;  // its machine's fingerprint and its own identity, which names the kernels of the build
  std::string signature;
  std::string kernel;
  double seconds = 0;
  std::string created;  // ISO 8601, UTC

  static constexpr const char* kTable = "kernel_choices";  // whose columns are named as the fields
  static constexpr const char* kOrder = "signature";
  friend bool operator==(const KernelChoice&, const KernelChoice&) = default;
  LAPTIME_FIELDS(device, signature, kernel, (kSeconds, seconds), created)
};

// The time of a launch of one signature on one device in a running step: the mean of runs that took about as long.
struct LaunchCost {
  std::string device;
  int64_t threads = 0;  // 0 for a device without threads
  std::string signature;
  std::string kernel;
  std::string kind;   // op and types of its operands, "matmul float32,float32 > float32": alike but for the shape
  double flops = 0;   // model FLOPs
  int64_t bytes = 0;  // bytes that must be read and written
  double seconds = 0;
  std::string created;        // of the newest of these runs; ISO 8601, UTC
  int64_t runs = 1;           // of which `seconds` is the mean
  std::string disturbance{};  // what disturbed the machine meanwhile, with its figure; empty: nothing

  static constexpr const char* kTable = "launch_costs";
  static constexpr const char* kOrder = "threads, signature";
  friend bool operator==(const LaunchCost&, const LaunchCost&) = default;
  LAPTIME_FIELDS(device, threads, signature, kernel, kind, (kFlops, flops), (kBytes, bytes), (kSeconds, seconds),
                 created, runs, disturbance)
};

// `known` with a newer measurement of the same launch taken in. Other programs only ever make a launch slower: a run
// that took 1.5 times as long is left out, and one that took so much less makes a new start, as another kernel does. Of
// a disturbed and an undisturbed one the undisturbed one counts alone.
LaunchCost with_newer(LaunchCost known, const LaunchCost& newer);

// The best value of a limit of one device that was ever measured: name "float32_product_flops_per_second/threads:2",
// ...
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

// A limit is a maximum (of seconds a minimum): anything else that runs only makes it look worse.
const MeasuredPeak& better_of(const MeasuredPeak& known, const MeasuredPeak& newer);

// The suffix that keeps the run of another machine apart from a run of the same name.
std::string run_mark(std::string_view fingerprint);

// A call returns after its data has reached the disk, and several processes may use one file at a time. Every
// function throws Error, saying what and what to do, when the file cannot be read or written: no room, no permission,
// damaged, locked, not a laptime store, or written by a newer laptime.
// A store does not pass through fork(): the child must not use its parent's.
class Store {
 public:
  enum class Access { kRead, kWrite };

  static constexpr int64_t kSchemaVersion = store_schema::kVersion;

  // kWrite makes the file and its directories where there are none; kRead needs an existing one. A file that is not a
  // store is left as it is. While another process locks the file, every call waits for 30 s, or until 1 s after `stop`
  // has become true.
  static Store open(const std::filesystem::path& path, Access access = Access::kWrite,
                    const std::function<bool()>& stop = {});

  // Error unless a record could be written now. Rewrites a value that the file has already.
  void check_writable();

  // Returns the record's id. The text is that of a record (to_text).
  int64_t append(std::string_view text, const std::optional<StepTrace>& trace = {});
  int64_t append(const Record& record, const std::optional<StepTrace>& trace = {}) {
    return append(to_text(record), trace);
  }

  // Writes all that `write` appends, or nothing if it throws.
  void write_together(const std::function<void()>& write);
  // The stored record that equals this one, whatever keeps its run apart from others (record/import.h).
  std::optional<int64_t> find_same(const Record& record) const;
  // False if the record has a trace already.
  bool add_trace(int64_t id, const StepTrace& trace);
  // Whether a machine of another fingerprint has made a run of this name.
  bool has_run_of_other(std::string_view run, std::string_view fingerprint) const;

  // Whether the store has the record of this id, run and name.
  bool has(int64_t id, std::string_view run, std::string_view name) const;

  // Goes through all records, oldest first. A row that cannot be read (no record, or of a newer laptime, or on a
  // damaged page) is left out, and `problem` gets a message that names it. `visit` returns false to end; the store is
  // not locked while it runs.
  using Visit = std::function<bool(int64_t id, const Record&)>;
  using Problem = std::function<void(const std::string&)>;
  void each(Extent extent, const Visit& visit, const Problem& problem) const {
    each_of(ids(problem), extent, visit, problem);
  }
  // In the order of `ids`; an id without a record is left out.
  void each_of(std::span<const int64_t> ids, Extent extent, const Visit& visit, const Problem& problem) const;

  // The ids of all records that can be found, oldest first, for which `condition` holds: SQL over the columns of the
  // listing.
  std::vector<int64_t> ids(const Problem& problem, const std::string& condition = {}) const;

  // The JSON of a record as it was written, and its trace; none if there is none. Error for a trace that cannot be
  // read.
  std::optional<std::string> text_at(int64_t id) const;
  std::optional<StepTrace> trace_at(int64_t id) const;
  // The newest record with status ok of this configuration by this binary on this machine. With `traced_steps`, only
  // records whose trace has at least so many steps.
  struct Finished {
    int64_t id = 0;
    Record record;
    std::optional<StepTrace> trace;  // read if `traced_steps` has a value
  };
  std::optional<Finished> find_finished(std::string_view config_hash, std::string_view binary_id,
                                        std::string_view fingerprint,
                                        std::optional<int64_t> traced_steps = std::nullopt) const;

  // The newest record with status ok of each asked_hash that this binary made.
  std::map<std::string, int64_t> finished_by_asked_hash(std::string_view binary_id) const;
  std::optional<Record> record_at(int64_t id) const;  // none if there is none

  // Notes that the command of this run took these records from the store instead of measuring them; a record that is
  // noted already stays noted once.
  void add_resumed(std::string_view run, std::span<const int64_t> ids);
  // The ids that were noted for every run whose name has this text, ascending.
  std::vector<int64_t> resumed_by(std::string_view text) const;
  // Every run that took records, with their ids.
  std::map<std::string, std::vector<int64_t>> resumed() const;
  // The newest run that took records, and the newest record that there was then; none if no run did.
  struct Resumed {
    std::string run;
    int64_t newest_id = 0;
  };
  std::optional<Resumed> newest_resumed() const;

  // A choice takes the place of an older one of its key, a cost is taken together with it (with_newer), and a peak
  // takes the place of a worse one. All of a call are written, or none. The lists are ordered by their keys.
  void put(std::span<const KernelChoice> choices);
  void put(std::span<const LaunchCost> costs);
  void put(const MeasuredPeak& peak);
  std::vector<KernelChoice> kernel_choices(std::string_view device) const;
  std::vector<LaunchCost> launch_costs(std::string_view device) const;
  std::vector<MeasuredPeak> measured_peaks(std::string_view device) const;

  // Predicted over measured time minus 1, of the newest records of this machine that were predicted from launches.
  std::vector<double> prediction_errors(std::string_view fingerprint) const;

 private:
  explicit Store(std::shared_ptr<sqlite::Database> database) : database_(std::move(database)) {}

  std::shared_ptr<sqlite::Database> database_;  // copies of a store share it
};

struct Imported {
  int64_t added = 0;
  int64_t known = 0;   // records that the store had
  int64_t traces = 0;  // that were added, some perhaps to known records
};

// Error with the line of the first document that is not a record; a `trace` beside the fields of a record is its trace.
void check_records(const std::string& path);

// Adds what the store lacks: a record that equals a stored one is known. Two machines may have named a run alike; the
// run of the other machine then gets its fingerprint behind the name, so that runs stay apart.
Imported import_records(Store& store, const std::string& path);

// Records that cannot be read are left out, and `problem` gets a message for each.
Imported import_store(Store& store, const Store& other, const Store::Problem& problem);

}  // namespace laptime
