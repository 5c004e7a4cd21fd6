// Opens a store, and reads and writes its records, traces and notes on resumed runs.
#include "record/store.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <system_error>

#include "base/error.h"
#include "base/random.h"
#include "base/words.h"
#include "config/fields_json.h"
#include "record/sqlite.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;
using sqlite::Database;
using sqlite::Statement;

// Returns the result of `read` for a row. If `read` throws, throws Error with the row's location.
template <class Read>
auto read_row(const Database& database, const char* table, int64_t id, Read read) {
  try {
    return read();
  } catch (const std::exception& error) {
    throw Error::format("store '{}', row {} of table {}: {}", database.path().string(), id, table, error.what());
  }
}

// The record with its original run name, without the run_mark that an import may have appended.
Record with_own_run(Record record) {
  const size_t mark = run_mark("").size();
  const size_t own = record.run.size() - std::min(record.run.size(), mark);
  const bool is_marked = own > 0 && record.run[own] == '@' &&
                         record.run.find_first_not_of("0123456789abcdef", own + 1) == std::string::npos;
  if (is_marked) record.run.resize(own);
  return record;
}

// False for a file with an older schema that was opened for reading.
bool has_listing(Database& database) { return database.has_column("briefs", "json"); }

// Visits the records of a store, skipping damaged parts.
class Scan {
 public:
  Scan(Database& database, const Store::Problem& problem)
      : database_(database), problem_(problem), whole_(database, "SELECT json FROM records WHERE id = ?1") {}

  // Visits the record, unless it cannot be read. Returns false if `visit` asks to stop.
  bool visit_whole(int64_t id, const Store::Visit& visit) {
    std::optional<Record> record;
    try {
      whole_.reset();
      const auto parse = [&] { return parse_record(whole_.text(0)); };
      if (whole_.bind(id).step()) record = read_row(database_, "records", id, parse);
    } catch (const Error& error) {
      problem_(error.what());
    }
    whole_.reset();
    return !record || visit(id, *record);
  }

  // Reads records from the listing, in the order of `ids`; reads the full record if the listing cannot provide it.
  void listed(std::span<const int64_t> ids, Extent extent, const Store::Visit& visit) {
    Statement rows(database_, listing::select(extent));
    constexpr size_t kBatch = 256;
    std::vector<Record> records(std::min(ids.size(), kBatch));
    for (; !ids.empty(); ids = ids.subspan(std::min(ids.size(), kBatch))) {
      const std::span<const int64_t> batch = ids.first(std::min(ids.size(), kBatch));
      const std::vector<bool> found = read_batch(rows, batch, extent, records);
      // The batch has been read, so the store is not locked during `visit`, which may wait a long time for the reader
      // of our output.
      for (size_t i = 0; i < batch.size(); ++i) {
        if (!(found[i] ? visit(batch[i], records[i]) : visit_whole(batch[i], visit))) return;
      }
    }
  }

  // The ids of all records, oldest first, including records that are damaged in the records table but not in the
  // listing. An import may add older records after newer ones, so ids are not ordered by date. A record without a date
  // follows the record with the preceding id.
  std::vector<int64_t> ids() {
    std::map<int64_t, std::string> dates;  // by id
    for (const int64_t id : ids_of_records()) dates.emplace_hint(dates.end(), id, "");
    const char* const table = has_listing(database_) ? "listing" : "records";
    each_row(fmt::format("SELECT id, ifnull(created, '') FROM {}", table), [&](const Statement& row) {
      const int64_t id = row.integer(0);
      if (dates.contains(id) || may_exist(id)) dates[id] = row.text(1);
    });
    std::vector<std::pair<std::string_view, int64_t>> dated;
    dated.reserve(dates.size());
    for (const auto& [id, created] : dates)
      dated.emplace_back(created.empty() && !dated.empty() ? dated.back().first : created, id);
    std::ranges::sort(dated);
    return mapped(dated, [](const auto& one) { return one.second; });
  }

 private:
  // Reads the record of each id; an element of the result is false if the full record must be read instead.
  std::vector<bool> read_batch(Statement& rows, std::span<const int64_t> ids, Extent extent,
                               std::vector<Record>& records) {
    std::vector<bool> found(ids.size(), false);
    rows.reset();
    try {
      rows.bind(fmt::format("[{}]", joined(ids, ",")));
      for (size_t i = 0; i < ids.size() && rows.step(); ++i) found[i] = listing::read(rows, extent, records[i]);
    } catch (const StoreDamaged& error) {
      problem_(error.what());
    }
    rows.reset();
    return found;
  }

  // Returns false if the store has no record with this id, that is, if the id is an artefact of damage.
  bool may_exist(int64_t id) {
    try {
      whole_.reset();
      return whole_.bind(id).step();
    } catch (const StoreDamaged&) {
      return true;
    }
  }

  // Calls `take` for each row that the query returns; false if damage ends the rows early.
  bool each_row(const std::string& sql, const std::function<void(const Statement& row)>& take) {
    try {
      Statement rows(database_, sql);
      while (rows.step()) take(rows);
      return true;
    } catch (const StoreDamaged& error) {
      problem_(error.what());
      return false;
    }
  }

  // Reads the ids from the index, which is a hundredth of the table's size, or else from the table. If both are
  // damaged, tries every id that was ever assigned, up to kMaxTried.
  std::vector<int64_t> ids_of_records() {
    std::vector<int64_t> ids;
    const auto add = [&](const Statement& row) { ids.push_back(row.integer(0)); };
    if (!each_row("SELECT id FROM records", add) && !each_row("SELECT id FROM records NOT INDEXED ORDER BY id", add)) {
      constexpr int64_t kMaxTried = 1'000'000;
      int64_t last = 0;
      each_row("SELECT seq FROM sqlite_sequence WHERE name = 'records'",
               [&](const Statement& row) { last = std::min(row.integer(0), kMaxTried); });
      for (int64_t id = 1; id <= last; ++id) ids.push_back(id);
    }
    std::ranges::sort(ids);
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
    return ids;
  }

  Database& database_;
  const Store::Problem& problem_;
  Statement whole_;
};

}  // namespace

Store Store::open(const fs::path& path, Access access, const std::function<bool()>& stop) {
  const store_schema::FileKind kind = store_schema::kind_of_file(path);
  if (access == Access::kRead && kind == store_schema::FileKind::kNone) {
    throw Error::format(
        "store '{}': no such file, so nothing has been stored there yet; if the store is elsewhere, name it with "
        "--store",
        path.string());
  }
  // A mistyped folder is an error, because a store in a newly created folder would be hard to find again.
  const fs::path folder = path.parent_path();
  if (std::error_code error; access == Access::kWrite && !folder.empty() && !fs::is_directory(folder, error)) {
    throw Error::format("store '{}': folder '{}' does not exist; create it, or name another file with --store",
                        path.string(), folder.string());
  }

  auto database = std::make_shared<Database>(path, access == Access::kWrite, stop);
  database->execute("PRAGMA cell_size_check = ON");
  if (access == Access::kWrite) {
    if (database->read_only()) database->fail(SQLITE_READONLY);
    // Uses a rollback journal instead of a write-ahead log: one file, readable on a read-only disk. EXTRA also syncs
    // the directory after the journal is deleted, so a commit survives a power cut. The whole schema fits in one page
    // of this size, so damage elsewhere leaves the store readable.
    database->execute("PRAGMA page_size = 16384; PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA");
  }
  const int64_t version = store_schema::version_of(*database);
  if (access == Access::kWrite && version != kSchemaVersion) store_schema::bring_up_to_date(*database);
  if (access == Access::kRead && version == 0) {
    throw Error::format("store '{}': the file is empty; name another file with --store", path.string());
  }
  return Store(std::move(database));
}

void Store::check_writable() {
  database_->transact([&] { database_->execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion)); });
}

int64_t Store::append(std::string_view text, const std::optional<StepTrace>& trace) {
  int64_t id = 0;
  database_->transact([&] {
    Statement(*database_, "INSERT INTO records (json) VALUES (?1)").bind(text).run();
    id = database_->query_integer("SELECT last_insert_rowid()");
    if (trace) add_trace(id, *trace);
  });
  return id;
}

void Store::write_together(const std::function<void()>& write) { database_->transact(write); }

std::optional<int64_t> Store::find_same(const Record& record) const {
  const std::string text = to_text(with_own_run(record));
  Statement rows(*database_, "SELECT id, json FROM records WHERE name = ?1 AND ifnull(created, '') = ?2");
  rows.bind(record.name, record.created);
  while (rows.step()) {
    try {
      if (to_text(with_own_run(parse_record(rows.text(1)))) == text) return rows.integer(0);
    } catch (const Error&) {  // a row that is not a record never matches
    }
  }
  return std::nullopt;
}

bool Store::add_trace(int64_t id, const StepTrace& trace) {
  Statement(*database_, "INSERT OR IGNORE INTO traces VALUES (?1, ?2)").bind(id, to_json(trace).dump()).run();
  return database_->query_integer("SELECT changes()") > 0;
}

bool Store::has_run(std::string_view run) const {
  if (resumed().contains(std::string(run))) return true;
  const char* const table = has_listing(*database_) ? "listing" : "records";
  Statement row(*database_, fmt::format("SELECT 1 FROM {} WHERE run = ?1 LIMIT 1", table));
  try {
    return row.bind(run).step();
  } catch (const StoreDamaged&) {  // the readable part has no such run
    return false;
  }
}

MachinesByRun Store::machines_by_run() const {
  const char* const table = has_listing(*database_) ? "listing" : "records";
  Statement rows(*database_, fmt::format("SELECT run, fingerprint FROM {} WHERE run <> '' AND fingerprint <> '' "
                                         "GROUP BY run, fingerprint ORDER BY min(id)",
                                         table));
  MachinesByRun machines;
  try {
    while (rows.step()) machines[std::string(rows.text(0))].emplace_back(rows.text(1));
  } catch (const StoreDamaged&) {  // the readable part is returned
  }
  return machines;
}

bool Store::has(int64_t id, std::string_view run, std::string_view name) const {
  Statement row(*database_, "SELECT 1 FROM records WHERE id = ?1 AND ifnull(run, '') = ?2 AND ifnull(name, '') = ?3");
  return row.bind(id, run, name).step();
}

std::vector<int64_t> Store::ids(const Problem& problem) const { return Scan(*database_, problem).ids(); }

void Store::each_of(std::span<const int64_t> ids, Extent extent, const Visit& visit, const Problem& problem) const {
  Scan scan(*database_, problem);
  if (extent != Extent::kWhole && has_listing(*database_)) return scan.listed(ids, extent, visit);
  for (const int64_t id : ids) {
    if (!scan.visit_whole(id, visit)) return;
  }
}

std::optional<std::string> Store::text_at(int64_t id) const {
  Statement row(*database_, "SELECT json FROM records WHERE id = ?1");
  if (!row.bind(id).step()) return std::nullopt;
  return std::string(row.text(0));
}

std::optional<StepTrace> Store::trace_at(int64_t id) const {
  if (!database_->has_column("traces", "json")) return std::nullopt;
  Statement row(*database_, "SELECT json FROM traces WHERE record_id = ?1");
  if (!row.bind(id).step()) return std::nullopt;
  return read_row(*database_, "traces", id, [&] {
    auto trace = from_json<StepTrace>(Json::parse(row.text(0)), "trace");
    check(trace);
    return trace;
  });
}

std::optional<Store::Finished> Store::find_finished(std::string_view config_hash, std::string_view binary_id,
                                                    std::string_view fingerprint,
                                                    std::optional<int64_t> traced_steps) const {
  if (traced_steps && !database_->has_column("traces", "json")) return std::nullopt;
  const char* const traced =
      traced_steps ? "AND (SELECT json_array_length(json, '$.steps') FROM traces WHERE record_id = id) >= ?4" : "";
  Statement rows(*database_,
                 fmt::format("SELECT id, json FROM records WHERE config_hash = ?1 AND binary_id = ?2 "
                             "AND fingerprint = ?3 AND status = 'ok' {} ORDER BY created DESC, id DESC LIMIT 1",
                             traced));
  rows.bind(config_hash, binary_id, fingerprint);
  if (traced_steps) rows.bind_at(4, *traced_steps);
  if (!rows.step()) return std::nullopt;
  const int64_t id = rows.integer(0);
  return Finished{id, read_row(*database_, "records", id, [&] { return parse_record(rows.text(1)); }),
                  traced_steps ? trace_at(id) : std::nullopt};
}

std::map<std::string, int64_t> Store::finished_by_asked_hash(std::string_view binary_id) const {
  Statement rows(*database_,
                 "SELECT json_extract(json, '$.asked_hash'), id FROM records WHERE binary_id = ?1 AND "
                 "status = 'ok' AND json_extract(json, '$.asked_hash') IS NOT NULL ORDER BY created, id");
  rows.bind(binary_id);
  std::map<std::string, int64_t> newest;
  while (rows.step()) newest[std::string(rows.text(0))] = rows.integer(1);
  return newest;
}

std::optional<Record> Store::record_at(int64_t id) const {
  const std::optional<std::string> text = text_at(id);
  if (!text) return std::nullopt;
  return read_row(*database_, "records", id, [&] { return parse_record(*text); });
}

void Store::add_resumed(std::string_view run, std::span<const int64_t> ids) {
  database_->transact([&] {
    Statement add(*database_,
                  "INSERT INTO resumed SELECT ?1, ?2, (SELECT ifnull(max(id), 0) FROM records) WHERE NOT "
                  "EXISTS (SELECT 1 FROM resumed WHERE run = ?1 AND record_id = ?2)");
    for (const int64_t id : ids) add.bind(run, id).run();
  });
}

std::vector<int64_t> Store::resumed_by(std::string_view text, bool is_whole) const {
  std::set<int64_t> ids;
  for (const auto& [run, taken] : resumed()) {
    const bool matches = is_whole ? run == text : run.find(text) != std::string::npos;
    if (matches) ids.insert(taken.begin(), taken.end());
  }
  return {ids.begin(), ids.end()};
}

std::map<std::string, std::vector<int64_t>> Store::resumed() const {
  std::map<std::string, std::vector<int64_t>> ids;
  if (!database_->has_column("resumed", "run")) return ids;
  Statement rows(*database_, "SELECT DISTINCT run, record_id FROM resumed");
  while (rows.step()) ids[std::string(rows.text(0))].push_back(rows.integer(1));
  return ids;
}

std::optional<Store::Resumed> Store::newest_resumed() const {
  if (!database_->has_column("resumed", "run")) return std::nullopt;
  // A run's name begins with its date, to the second.
  Statement row(*database_,
                "SELECT run, substr(run, 1, 20) AS created, record_id, newest_id FROM resumed "
                "ORDER BY created DESC, rowid DESC LIMIT 1");
  if (!row.step()) return std::nullopt;
  return Resumed{std::string(row.text(0)), std::string(row.text(1)), row.integer(2), row.integer(3)};
}

// Uses a hash, because fingerprints of machines with the same processor model share a prefix.
std::string run_mark(std::string_view fingerprint) {
  return fmt::format("@{:08x}", static_cast<uint32_t>(fnv1a64(fingerprint)));
}

}  // namespace laptime
