// Adds the records of other files to a store: of JSON documents, or of other stores.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"
#include "record/fields_json.h"
#include "record/json_documents.h"
#include "record/store.h"

namespace laptime {
namespace {

struct TracedJson {
  Json record;  // as it was found
  std::optional<StepTrace> trace;
};

// Separates the record from its trace. Error with the place unless both are valid.
TracedJson traced_json(std::string_view text, const std::string& place) {
  try {
    parse_record(text);
    TracedJson traced{Json::parse(text), std::nullopt};
    if (const Json* const trace = traced.record.find("trace")) {
      check(traced.trace.emplace(from_json<StepTrace>(*trace, "trace")));
      traced.record.erase("trace");
    }
    return traced;
  } catch (const Error& error) {
    throw Error::format("{}: {}", place, error.what());
  }
}

void each_traced(const std::string& path, const std::function<void(TracedJson)>& take) {
  const DocumentFile file{.path = path,
                          .purpose = "file of records",
                          .advice = "give a store, or records written by `laptime show --output json --columns all`"};
  each_json_text(file, [&](std::string_view text, const std::string& place) { take(traced_json(text, place)); });
}

// Adds records to a store in batches, so that other programs that write to it do not wait long.
class Importer {
 public:
  explicit Importer(Store& store) : store_(store) {}

  // `id` is that of the record where it comes from.
  void add(TracedJson traced, int64_t id = 0) {
    constexpr size_t kBatch = 256;
    batch_.emplace_back(id, std::move(traced));
    if (batch_.size() == kBatch) flush();
  }

  void flush() {
    store_.write_together([&] {
      for (auto& [id, traced] : batch_) ids_[id] = put(std::move(traced));
    });
    batch_.clear();
  }

  const Imported& imported() const { return imported_; }
  const std::map<int64_t, int64_t>& ids() const { return ids_; }  // in the store, by that where they come from

 private:
  int64_t put(TracedJson traced) {
    Record record = record_from_json(traced.record);
    if (const std::string run = run_of(record); run != record.run) traced.record["run"] = record.run = run;
    const std::optional<int64_t> known = store_.find_same(record);
    ++(known ? imported_.known : imported_.added);
    const bool is_new = traced.trace && (!known || store_.add_trace(*known, *traced.trace));
    if (is_new) ++imported_.traces;
    return known ? *known : store_.append(traced.record.dump(), traced.trace);
  }

  // The name of its run in the store, which may have a run of this name that another machine has made.
  std::string run_of(const Record& record) {
    if (record.run.empty() || record.fingerprint.empty()) return record.run;
    const auto [known, is_new] = runs_.try_emplace({record.run, record.fingerprint}, record.run);
    if (is_new && store_.has_run_of_other(record.run, record.fingerprint))
      known->second += run_mark(record.fingerprint);
    return known->second;
  }

  Store& store_;
  std::vector<std::pair<int64_t, TracedJson>> batch_;
  std::map<int64_t, int64_t> ids_;
  std::map<std::pair<std::string, std::string>, std::string> runs_;  // name in the store by name and fingerprint
  Imported imported_;
};

}  // namespace

void check_records(const std::string& path) {
  each_traced(path, [](const TracedJson&) {});
}

Imported import_records(Store& store, const std::string& path) {
  Importer importer(store);
  each_traced(path, [&](TracedJson traced) { importer.add(std::move(traced)); });
  importer.flush();
  return importer.imported();
}

Imported import_store(Store& store, const Store& other, const Store::Problem& problem) {
  Importer importer(store);
  for (const int64_t id : other.ids(problem)) {
    try {
      const std::optional<std::string> text = other.text_at(id);
      if (!text) continue;
      parse_record(*text);
      importer.add({Json::parse(*text), other.trace_at(id)}, id);
    } catch (const Error& error) {
      problem(fmt::format("row {} is left out: {}", id, error.what()));
    }
  }
  importer.flush();
  for (const auto& [run, taken] : other.resumed()) {
    const std::vector<int64_t> known = store.resumed_by(run);
    std::vector<int64_t> ids;
    for (const int64_t id : taken) {
      const auto found = importer.ids().find(id);
      if (found != importer.ids().end() && !std::binary_search(known.begin(), known.end(), found->second))
        ids.push_back(found->second);
    }
    if (!ids.empty()) store.add_resumed(run, ids);
  }
  return importer.imported();
}

}  // namespace laptime
