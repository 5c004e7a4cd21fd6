// Adds records from other files to a store: from JSON documents or from other stores.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "config/fields_json.h"
#include "data/json_documents.h"
#include "record/store.h"

namespace laptime {
namespace {

struct FoundRecord {
  int64_t id = 0;  // id in the source store
  Record record;
  Json json;  // the record, including keys that this program does not know
  std::optional<StepTrace> trace;
};

// Parses a record and, if present, its `trace`. Throws Error if either is invalid.
FoundRecord found_record(std::string_view text) {
  FoundRecord found{.record = parse_record(text), .json = Json::parse(text), .trace = {}};
  if (const Json* const trace = found.json.find("trace")) {
    check(found.trace.emplace(from_json<StepTrace>(*trace, "trace")));
    found.json.erase("trace");
  }
  return found;
}

void each_record(const std::string& path, const std::function<void(FoundRecord)>& take) {
  const DocumentFile file{.path = path,
                          .purpose = "record file",
                          .advice = "give a store, or records written by `laptime show --output json --columns all`"};
  each_json_text(file, [&](std::string_view text, const std::string& place) {
    FoundRecord found;
    try {
      found = found_record(text);
    } catch (const Error& error) {
      throw Error::format("{}: {}", place, error.what());
    }
    take(std::move(found));
  });
}

// Adds records to a store in batches, so that other writers do not wait long.
class Importer {
 public:
  // `machines`: the machines of the runs in the source.
  Importer(Store& store, MachinesByRun machines)
      : store_(store), machines_(std::move(machines)), known_machines_(store.machines_by_run()) {}

  void add(FoundRecord found) {
    constexpr size_t kBatch = 256;
    batch_.push_back(std::move(found));
    if (batch_.size() == kBatch) flush();
  }

  void flush() {
    store_.write_together([&] {
      for (FoundRecord& found : batch_) places_[found.id] = {put(found), found.record.fingerprint};
    });
    batch_.clear();
  }

  // Notes that a run took the records with these ids, which are ids in the source. Call after flush().
  void add_resumed(const std::string& run, const std::vector<int64_t>& taken) {
    std::vector<int64_t> ids;
    std::vector<std::string> machines;
    for (const int64_t id : taken) {
      const auto found = places_.find(id);
      if (found == places_.end()) continue;
      ids.push_back(found->second.id);
      machines.push_back(found->second.fingerprint);
    }
    if (!ids.empty()) store_.add_resumed(name_of_run(run, machines), ids);
  }

  const Imported& imported() const { return imported_; }

 private:
  struct Place {
    int64_t id = 0;  // in the store
    std::string fingerprint;
  };

  int64_t put(FoundRecord& found) {
    Record& record = found.record;
    if (const std::string run = name_of_run(record.run); run != record.run) found.json["run"] = record.run = run;
    const std::optional<int64_t> known = store_.find_same(record);
    ++(known ? imported_.known : imported_.added);
    if (found.trace && (!known || store_.add_trace(*known, *found.trace))) ++imported_.traces;
    return known ? *known : store_.append(found.json.dump(), found.trace);
  }

  // The run's name in the store: the name in the source, with a mark if only other machines have a run of that name in
  // the store. A run with --launcher has several machines. A run that measured nothing has the machines of the records
  // that it took.
  std::string name_of_run(const std::string& run, const std::vector<std::string>& machines_of_taken = {}) {
    if (run.empty()) return run;
    const auto [name, is_new] = names_.try_emplace(run, run);
    if (!is_new) return name->second;
    const auto measured = machines_.find(run);
    const std::vector<std::string>& machines = measured == machines_.end() ? machines_of_taken : measured->second;
    const auto known = known_machines_.find(run);
    if (known != known_machines_.end() && !machines.empty() &&
        std::ranges::find_first_of(known->second, machines) == known->second.end())
      name->second += run_mark(machines.front());
    return name->second;
  }

  Store& store_;
  MachinesByRun machines_;        // in the source
  MachinesByRun known_machines_;  // in the store, before the import
  std::vector<FoundRecord> batch_;
  std::map<int64_t, Place> places_;           // by the id in the source
  std::map<std::string, std::string> names_;  // of runs in the store, by the name in the source
  Imported imported_;
};

}  // namespace

MachinesByRun checked_records(const std::string& path) {
  MachinesByRun machines;
  each_record(path, [&](const FoundRecord& found) {
    const std::string& machine = found.record.fingerprint;
    if (machine.empty()) return;
    std::vector<std::string>& of_run = machines[found.record.run];
    if (!is_among(machine, of_run)) of_run.push_back(machine);
  });
  return machines;
}

Imported import_records(Store& store, const std::string& path, const MachinesByRun& machines) {
  Importer importer(store, machines);
  each_record(path, [&](FoundRecord found) { importer.add(std::move(found)); });
  importer.flush();
  return importer.imported();
}

Imported import_store(Store& store, const Store& other, const Store::Problem& problem) {
  Importer importer(store, other.machines_by_run());
  for (const int64_t id : other.ids(problem)) {
    std::optional<FoundRecord> found;
    try {
      if (const std::optional<std::string> text = other.text_at(id)) {
        found = found_record(*text);
        found->id = id;
      }
    } catch (const Error& error) {
      problem(fmt::format("row {} is skipped: {}", id, error.what()));
      continue;
    }
    if (!found) continue;
    try {
      found->trace = other.trace_at(id);
    } catch (const Error& error) {
      problem(fmt::format("the trace of row {} is skipped: {}", id, error.what()));
    }
    importer.add(*std::move(found));
  }
  importer.flush();
  for (const auto& [run, taken] : other.resumed()) importer.add_resumed(run, taken);
  return importer.imported();
}

}  // namespace laptime
