// Adds records from other files to a store: from JSON documents or from other stores.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
#include <span>
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
  explicit Importer(Store& store) : store_(store) {}

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

  // Notes that a run of the source took the records with these ids in the source. Call after flush().
  void add_resumed(const std::string& run, std::span<const int64_t> taken) {
    std::map<std::string, std::vector<int64_t>> ids;  // by the run's name in the store
    for (const int64_t id : taken) {
      const auto found = places_.find(id);
      if (found != places_.end()) ids[name_of_taker(run, found->second.fingerprint)].push_back(found->second.id);
    }
    for (const auto& [name, of_name] : ids) store_.add_resumed(name, of_name);
  }

  const Imported& imported() const { return imported_; }

 private:
  struct Place {
    int64_t id = 0;  // in the store
    std::string fingerprint;
  };

  int64_t put(FoundRecord& found) {
    Record& record = found.record;
    if (const std::string run = name_of_run(record.run, record.fingerprint); run != record.run)
      found.json["run"] = record.run = run;
    const std::optional<int64_t> known = store_.find_same(record);
    ++(known ? imported_.known : imported_.added);
    if (found.trace && (!known || store_.add_trace(*known, *found.trace))) ++imported_.traces;
    return known ? *known : store_.append(found.json.dump(), found.trace);
  }

  // The run's name in the store. Differs from the name in the source if the store has a run of another machine with
  // that name.
  std::string name_of_run(const std::string& run, const std::string& fingerprint) {
    if (run.empty() || fingerprint.empty()) return run;
    const auto [known, is_new] = runs_.try_emplace({run, fingerprint}, run);
    if (is_new && store_.has_run_of_other(run, fingerprint)) known->second += run_mark(fingerprint);
    return known->second;
  }

  // The name in the store of a run that took a record of this machine. With --launcher a run takes records of other
  // machines as well, which must not give it a second name.
  std::string name_of_taker(const std::string& run, const std::string& fingerprint) {
    const auto own = runs_.lower_bound({run, ""});
    const bool has_name = own != runs_.end() && own->first.first == run;
    return has_name && !runs_.contains({run, fingerprint}) ? own->second : name_of_run(run, fingerprint);
  }

  Store& store_;
  std::vector<FoundRecord> batch_;
  std::map<int64_t, Place> places_;  // by the id in the source
  // Names in the store, keyed by original name and fingerprint.
  std::map<std::pair<std::string, std::string>, std::string> runs_;
  Imported imported_;
};

}  // namespace

void check_records(const std::string& path) {
  each_record(path, [](const FoundRecord&) {});
}

Imported import_records(Store& store, const std::string& path) {
  Importer importer(store);
  each_record(path, [&](FoundRecord found) { importer.add(std::move(found)); });
  importer.flush();
  return importer.imported();
}

Imported import_store(Store& store, const Store& other, const Store::Problem& problem) {
  Importer importer(store);
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
