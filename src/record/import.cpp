// Adds records from other files to a store: from JSON documents or from other stores.
#include <fmt/format.h>

#include <functional>
#include <map>
#include <optional>
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
      for (FoundRecord& found : batch_) ids_[found.id] = put(found);
    });
    batch_.clear();
  }

  const Imported& imported() const { return imported_; }
  const std::map<int64_t, int64_t>& ids() const { return ids_; }  // ids in the store, keyed by the ids in the source

 private:
  int64_t put(FoundRecord& found) {
    Record& record = found.record;
    if (const std::string run = run_of(record); run != record.run) found.json["run"] = record.run = run;
    const std::optional<int64_t> known = store_.find_same(record);
    ++(known ? imported_.known : imported_.added);
    if (found.trace && (!known || store_.add_trace(*known, *found.trace))) ++imported_.traces;
    return known ? *known : store_.append(found.json.dump(), found.trace);
  }

  // The run's name in the store. Differs from the name in the record if the store has a run of another machine with
  // that name.
  std::string run_of(const Record& record) {
    if (record.run.empty() || record.fingerprint.empty()) return record.run;
    const auto [known, is_new] = runs_.try_emplace({record.run, record.fingerprint}, record.run);
    if (is_new && store_.has_run_of_other(record.run, record.fingerprint))
      known->second += run_mark(record.fingerprint);
    return known->second;
  }

  Store& store_;
  std::vector<FoundRecord> batch_;
  std::map<int64_t, int64_t> ids_;
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
  for (const auto& [run, taken] : other.resumed()) {
    std::vector<int64_t> ids;
    for (const int64_t id : taken) {
      const auto found = importer.ids().find(id);
      if (found != importer.ids().end()) ids.push_back(found->second);
    }
    store.add_resumed(run, ids);
  }
  return importer.imported();
}

}  // namespace laptime
