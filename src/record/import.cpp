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

struct TracedText {
  std::string text;  // JSON of the record, as it was found
  std::optional<StepTrace> trace;
};

// Separates the record from its trace. Error with the place unless both are valid.
TracedText traced_text(std::string_view text, const std::string& place) {
  try {
    parse_record(text);
    TracedText traced;
    Json json = Json::parse(text);
    if (const Json* const trace = json.find("trace")) {
      traced.trace = from_json<StepTrace>(*trace, "trace");
      check(*traced.trace);
      json.erase("trace");
    }
    traced.text = json.dump();
    return traced;
  } catch (const Error& error) {
    throw Error::format("{}: {}", place, error.what());
  }
}

void each_traced(const std::string& path, const std::function<void(TracedText)>& take) {
  const DocumentFile file{.path = path,
                          .purpose = "file of records",
                          .advice = "give a store, or records written by `laptime show --output json --columns all`"};
  each_json_text(file, [&](std::string_view text, const std::string& place) { take(traced_text(text, place)); });
}

// Adds records to a store in batches, so that other programs that write to it do not wait long.
class Importer {
 public:
  explicit Importer(Store& store) : store_(store) {}

  // `id` is that of the record where it comes from.
  void add(TracedText traced, int64_t id = 0) {
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
  int64_t put(TracedText traced) {
    const Record found = parse_record(traced.text);
    const Record record = kept_apart(found, traced.text);
    if (const std::optional<int64_t> id = store_.find_same(record)) {
      ++imported_.known;
      if (traced.trace && store_.add_trace(*id, *traced.trace)) ++imported_.traces;
      return *id;
    }
    ++imported_.added;
    if (traced.trace) ++imported_.traces;
    return store_.append(traced.text, traced.trace);
  }

  // Renames the run, in `text` too, if the store has a run of this name that another machine has made.
  Record kept_apart(Record record, std::string& text) {
    if (record.run.empty() || record.fingerprint.empty()) return record;
    const auto [known, is_new] = runs_.try_emplace({record.run, record.fingerprint}, record.run);
    if (is_new && store_.has_run_of_other(record.run, record.fingerprint)) {
      known->second += run_mark(record.fingerprint);
    }
    if (known->second == record.run) return record;
    record.run = known->second;
    Json json = Json::parse(text);
    json["run"] = record.run;
    text = json.dump();
    return record;
  }

  Store& store_;
  std::vector<std::pair<int64_t, TracedText>> batch_;
  std::map<int64_t, int64_t> ids_;
  std::map<std::pair<std::string, std::string>, std::string> runs_;  // name in the store by name and fingerprint
  Imported imported_;
};

}  // namespace

void check_records(const std::string& path) {
  each_traced(path, [](const TracedText&) {});
}

Imported import_records(Store& store, const std::string& path) {
  Importer importer(store);
  each_traced(path, [&](TracedText traced) { importer.add(std::move(traced)); });
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
      importer.add({*text, other.trace_at(id)}, id);
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
