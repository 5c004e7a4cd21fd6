// The store's tables and statements.
#include "record/store.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "record/fields_json.h"
#include "record/sqlite.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Transaction;

// The record's JSON is the one source; the other columns of `records` are read from it.
constexpr const char* kRecords = R"sql(
  CREATE TABLE records (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    json        TEXT NOT NULL CHECK (json_valid(json)),
    name        TEXT GENERATED ALWAYS AS (json_extract(json, '$.name')) VIRTUAL,
    status      TEXT GENERATED ALWAYS AS (json_extract(json, '$.status')) VIRTUAL,
    run         TEXT GENERATED ALWAYS AS (json_extract(json, '$.run')) VIRTUAL,
    created     TEXT GENERATED ALWAYS AS (json_extract(json, '$.created')) VIRTUAL,
    config_hash TEXT GENERATED ALWAYS AS (json_extract(json, '$.config_hash')) VIRTUAL,
    binary_id   TEXT GENERATED ALWAYS AS (json_extract(json, '$.binary.id')) VIRTUAL,
    fingerprint TEXT GENERATED ALWAYS AS (json_extract(json, '$.fingerprint')) VIRTUAL
  );
  CREATE INDEX records_by_name ON records (name, created);
  CREATE INDEX records_by_point ON records (config_hash, binary_id, fingerprint);
)sql";

constexpr const char* kKnowledge = R"sql(
  CREATE TABLE kernel_choices (
    device      TEXT NOT NULL,
    signature   TEXT NOT NULL,
    kernel      TEXT NOT NULL,
    seconds     REAL NOT NULL,
    created     TEXT NOT NULL,
    PRIMARY KEY (device, signature)
  ) WITHOUT ROWID;
  CREATE TABLE measured_peaks (
    device      TEXT NOT NULL,
    name        TEXT NOT NULL,
    value       REAL NOT NULL,
    unit        TEXT NOT NULL,
    created     TEXT NOT NULL,
    PRIMARY KEY (device, name)
  ) WITHOUT ROWID;
)sql";

constexpr const char* kTraces = R"sql(
  CREATE TABLE traces (
    record_id   INTEGER PRIMARY KEY REFERENCES records (id),
    json        TEXT NOT NULL CHECK (json_valid(json))
  );
)sql";

constexpr const char* kVersion = "PRAGMA application_id = 1280332884; PRAGMA user_version = 3;";

// Schema 1 kept choices and peaks by machine. Whose device they are is not known any more, so they are measured again.
constexpr const char* kDropKnowledge = "DROP TABLE kernel_choices; DROP TABLE measured_peaks;";

constexpr int64_t kApplicationId = 1'280'332'884;  // "LPTT"
static_assert(Store::kSchemaVersion == 3, "kVersion states it too");

// The schema version of the file, or 0 if it is empty. Error for another program's database or a newer schema.
int64_t schema_version(Database& database) {
  const int64_t application = database.query_integer("PRAGMA application_id");
  const int64_t version = database.query_integer("PRAGMA user_version");
  if (application == kApplicationId) {
    if (version >= 1 && version <= Store::kSchemaVersion) return version;
    throw Error::format(
        "store '{}': written with schema version {}, but this laptime knows {}; use a newer laptime, or another file "
        "with --store",
        database.path().string(), version, Store::kSchemaVersion);
  }
  const bool empty =
      application == 0 && version == 0 && database.query_integer("SELECT count(*) FROM sqlite_schema") == 0;
  if (!empty) {
    throw Error::format("store '{}': a database of another program; name another file with --store",
                        database.path().string());
  }
  return 0;
}

// Brings the file to the schema of this program; another process may do so first.
void bring_up_to_date(Database& database) {
  Transaction transaction(database);
  const int64_t version = schema_version(database);
  if (version == Store::kSchemaVersion) return;
  if (version == 0) database.execute(kRecords);
  if (version == 1) database.execute(kDropKnowledge);
  if (version <= 1) database.execute(kKnowledge);
  if (version <= 2) database.execute(kTraces);
  database.execute(kVersion);
  transaction.commit();
}

void make_directories(const fs::path& path) {
  if (!path.has_parent_path()) return;
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) {
    throw Error::format("store '{}': cannot make its directory ({}); name another file with --store", path.string(),
                        error.message());
  }
}

// The schema versions that first had choices and peaks by device, and traces.
constexpr int64_t kKnowledgeSince = 2;
constexpr int64_t kTracesSince = 3;

// Of a row with the columns id, record and trace.
StepTrace trace_of(const Database& database, const Statement& row) {
  try {
    StepTrace trace = from_json<StepTrace>(Json::parse(row.text(2)), "trace");
    check(trace);
    return trace;
  } catch (const std::exception& error) {
    throw Error::format("store '{}', row {} of table traces: {}", database.path().string(), row.integer(0),
                        error.what());
  }
}

Record record_of(const Database& database, const Statement& row) {
  try {
    return parse_record(row.text(1));
  } catch (const Error& error) {
    throw Error::format("store '{}', row {} of table records: {}", database.path().string(), row.integer(0),
                        error.what());
  }
}

}  // namespace

Store::Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Store::Store(Store&& other) noexcept = default;
Store& Store::operator=(Store&& other) noexcept = default;
Store::~Store() = default;

Store Store::open(const fs::path& path, Access access) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    throw Error::format("store '{}': is a directory; name a file with --store", path.string());
  }
  if (access == Access::kRead && !fs::exists(path, error)) {
    throw Error::format("store '{}': {}; nothing has been stored there yet, or name the file with --store",
                        path.string(), error ? error.message() : "no such file");
  }
  if (access == Access::kWrite) make_directories(path);

  auto database = std::make_unique<Database>(path, access == Access::kWrite);
  if (access == Access::kWrite && database->read_only()) database->fail(SQLITE_READONLY);
  // A rollback journal, not a write-ahead log: one file, readable on a read-only disk. EXTRA also syncs the directory
  // when the journal goes, so a commit outlives a power cut.
  database->execute("PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA; PRAGMA cell_size_check = ON");
  const int64_t version = schema_version(*database);
  if (access == Access::kWrite) {
    if (version != kSchemaVersion) bring_up_to_date(*database);
  } else if (version == 0) {
    throw Error::format("store '{}': empty; name the file with --store", path.string());
  }
  return Store(std::move(database));
}

void Store::check_writable() {
  Transaction transaction(*database_);
  database_->execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion).c_str());
  transaction.commit();
}

void Store::append(const Record& record, const std::optional<StepTrace>& trace) {
  Transaction transaction(*database_);
  Statement insert(*database_, "INSERT INTO records (json) VALUES (?1)");
  insert.bind(1, to_text(record)).run();
  if (trace) {
    Statement(*database_, "INSERT INTO traces VALUES (last_insert_rowid(), ?1)")
        .bind(1, ascii_text(to_json(*trace)))
        .run();
  }
  transaction.commit();
}

std::vector<Record> Store::all() const {
  std::vector<Record> records;
  Statement rows(*database_, "SELECT id, json FROM records ORDER BY id");
  while (rows.step()) records.push_back(record_of(*database_, rows));
  return records;
}

void Store::each_traced(const std::function<void(const Record&, const StepTrace&)>& visit) const {
  if (!has_traces()) return;
  Statement rows(*database_,
                 "SELECT id, records.json, traces.json FROM records JOIN traces ON record_id = id ORDER BY id");
  while (rows.step()) visit(record_of(*database_, rows), trace_of(*database_, rows));
}

std::optional<Store::Finished> Store::find_finished(std::string_view config_hash, std::string_view binary_id,
                                                    std::string_view fingerprint, bool traced) const {
  if (traced && !has_traces()) return std::nullopt;
  const std::string sql = fmt::format(R"sql(
    SELECT id, records.json {} FROM records {}
    WHERE config_hash = ?1 AND binary_id = ?2 AND fingerprint = ?3
      AND status IN ('ok', 'out_of_memory', 'unsupported')
    ORDER BY id DESC LIMIT 1)sql",
                                      traced ? ", traces.json" : "", traced ? "JOIN traces ON record_id = id" : "");
  Statement rows(*database_, sql.c_str());
  rows.bind(1, config_hash).bind(2, binary_id).bind(3, fingerprint);
  if (!rows.step()) return std::nullopt;
  Finished finished{record_of(*database_, rows), {}};
  if (traced) finished.trace = trace_of(*database_, rows);
  return finished;
}

void Store::put(std::span<const KernelChoice> choices) {
  if (choices.empty()) return;
  Transaction transaction(*database_);
  Statement insert(*database_, "INSERT OR REPLACE INTO kernel_choices VALUES (?1, ?2, ?3, ?4, ?5)");
  for (const KernelChoice& choice : choices) {
    insert.bind(1, choice.device)
        .bind(2, choice.signature)
        .bind(3, choice.kernel)
        .bind(4, choice.seconds)
        .bind(5, choice.created)
        .run();
  }
  transaction.commit();
}

bool Store::has_knowledge() const { return schema_version(*database_) >= kKnowledgeSince; }
bool Store::has_traces() const { return schema_version(*database_) >= kTracesSince; }

std::vector<KernelChoice> Store::kernel_choices(std::string_view device) const {
  std::vector<KernelChoice> choices;
  if (!has_knowledge()) return choices;
  Statement rows(*database_,
                 "SELECT signature, kernel, seconds, created FROM kernel_choices WHERE device = ?1 "
                 "ORDER BY signature");
  rows.bind(1, device);
  while (rows.step()) {
    choices.push_back({std::string(device), std::string(rows.text(0)), std::string(rows.text(1)), rows.number(2),
                       std::string(rows.text(3))});
  }
  return choices;
}

void Store::put(const MeasuredPeak& peak) {
  Transaction transaction(*database_);
  Statement(*database_, "INSERT OR REPLACE INTO measured_peaks VALUES (?1, ?2, ?3, ?4, ?5)")
      .bind(1, peak.device)
      .bind(2, peak.name)
      .bind(3, peak.value)
      .bind(4, peak.unit)
      .bind(5, peak.created)
      .run();
  transaction.commit();
}

std::vector<MeasuredPeak> Store::measured_peaks(std::string_view device) const {
  std::vector<MeasuredPeak> peaks;
  if (!has_knowledge()) return peaks;
  Statement rows(*database_, "SELECT name, value, unit, created FROM measured_peaks WHERE device = ?1 ORDER BY name");
  rows.bind(1, device);
  while (rows.step()) {
    peaks.push_back({std::string(device), std::string(rows.text(0)), rows.number(1), std::string(rows.text(2)),
                     std::string(rows.text(3))});
  }
  return peaks;
}

}  // namespace laptime
