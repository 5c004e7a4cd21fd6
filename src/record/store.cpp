// The store's tables and statements.
#include "record/store.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/words.h"
#include "record/fields_json.h"
#include "record/listing.h"
#include "record/sqlite.h"
#include "record/store_schema.h"

namespace laptime {
namespace {

namespace fs = std::filesystem;
using sqlite::Database;
using sqlite::Statement;
using sqlite::Transaction;

// A mistyped folder is an error: a store in a new one would be hard to find again.
void require_directory(const fs::path& path) {
  std::error_code error;
  const fs::path folder = path.parent_path();
  if (folder.empty() || fs::is_directory(folder, error)) return;
  throw Error::format("store '{}': there is no folder '{}'; make it, or name another file with --store", path.string(),
                      folder.string());
}

// The schema versions that first had traces, the listing, and what commands resumed.
constexpr int64_t kTracesSince = 3;
constexpr int64_t kListingSince = 6;
constexpr int64_t kResumedSince = 8;

// Of a row with the columns id, record and trace.
// `column` is that of the JSON; the first is the id.
StepTrace trace_of(const Database& database, const Statement& row, int column) {
  try {
    StepTrace trace = from_json<StepTrace>(Json::parse(row.text(column)), "trace");
    check(trace);
    return trace;
  } catch (const std::exception& error) {
    throw Error::format("store '{}', row {} of table traces: {}", database.path().string(), row.integer(0),
                        error.what());
  }
}

// Id and JSON are the first two columns.
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

Store Store::open(const fs::path& path, Access access, const std::function<bool()>& stop) {
  const store_schema::FileKind kind = store_schema::kind_of_file(path);
  if (access == Access::kRead && kind == store_schema::FileKind::kNone) {
    throw Error::format("store '{}': no such file; nothing has been stored there yet, or name the file with --store",
                        path.string());
  }
  if (access == Access::kRead && kind == store_schema::FileKind::kEmpty) {
    throw Error::format("store '{}': empty; name the file with --store", path.string());
  }
  if (access == Access::kWrite) require_directory(path);

  auto database = std::make_unique<Database>(path, access == Access::kWrite, stop);
  database->execute("PRAGMA cell_size_check = ON");
  if (access == Access::kWrite) {
    if (database->read_only()) database->fail(SQLITE_READONLY);
    // A rollback journal, not a write-ahead log: one file, readable on a read-only disk. EXTRA also syncs the directory
    // when the journal goes, so a commit outlives a power cut.
    // The whole schema fits into a page of this size, so that damage elsewhere leaves the store readable.
    database->execute("PRAGMA page_size = 8192; PRAGMA journal_mode = DELETE; PRAGMA synchronous = EXTRA");
  }
  const int64_t version = store_schema::version_of(*database);
  if (access == Access::kWrite && version != kSchemaVersion) store_schema::bring_up_to_date(*database);
  if (access == Access::kRead && version == 0) {
    throw Error::format("store '{}': empty; name the file with --store", path.string());
  }
  return Store(std::move(database));
}

void Store::check_writable() {
  Transaction transaction(*database_);
  database_->execute(fmt::format("PRAGMA user_version = {}", kSchemaVersion).c_str());
  transaction.commit();
}

int64_t Store::append(const Record& record, const std::optional<StepTrace>& trace) {
  return append(to_text(record), trace);
}

int64_t Store::append(std::string_view text, const std::optional<StepTrace>& trace) {
  Transaction transaction(*database_);
  Statement(*database_, "INSERT INTO records (json) VALUES (?1)").bind(1, text).run();
  const int64_t id = database_->query_integer("SELECT last_insert_rowid()");
  if (trace) {
    Statement(*database_, "INSERT INTO traces VALUES (?1, ?2)").bind(1, id).bind(2, ascii_text(to_json(*trace))).run();
  }
  transaction.commit();
  return id;
}

bool Store::has(int64_t id, std::string_view run, std::string_view name) const {
  Statement row(*database_, "SELECT 1 FROM records WHERE id = ?1 AND ifnull(run, '') = ?2 AND ifnull(name, '') = ?3");
  return row.bind(1, id).bind(2, run).bind(3, name).step();
}

std::vector<Record> Store::all() const {
  std::vector<Record> records;
  const auto keep = [&](int64_t, const Record& record) {
    records.push_back(record);
    return true;
  };
  each(Extent::kWhole, keep, [](const std::string& problem) { throw Error(problem); });
  return records;
}

std::optional<StepTrace> Store::trace_at(int64_t id) const {
  if (!has_traces()) return std::nullopt;
  Statement row(*database_, "SELECT record_id, json FROM traces WHERE record_id = ?1");
  if (!row.bind(1, id).step()) return std::nullopt;
  return trace_of(*database_, row, 1);
}

std::optional<Store::Finished> Store::find_finished(std::string_view config_hash, std::string_view binary_id,
                                                    std::string_view fingerprint,
                                                    std::optional<int64_t> traced_steps) const {
  if (traced_steps && !has_traces()) return std::nullopt;
  const std::string sql =
      fmt::format(R"sql(
    SELECT id, records.json {} FROM records {}
    WHERE config_hash = ?1 AND binary_id = ?2 AND fingerprint = ?3
      AND status = 'ok' {}
    ORDER BY id DESC LIMIT 1)sql",
                  traced_steps ? ", traces.json" : "", traced_steps ? "JOIN traces ON record_id = id" : "",
                  traced_steps ? "AND json_array_length(traces.json, '$.steps') >= ?4" : "");
  Statement rows(*database_, sql.c_str());
  rows.bind(1, config_hash).bind(2, binary_id).bind(3, fingerprint);
  if (traced_steps) rows.bind(4, *traced_steps);
  if (!rows.step()) return std::nullopt;
  Finished finished{rows.integer(0), record_of(*database_, rows), {}};
  if (traced_steps) finished.trace = trace_of(*database_, rows, 2);
  return finished;
}

void Store::add_resumed(std::string_view run, std::span<const int64_t> ids) {
  Transaction transaction(*database_);
  for (const int64_t id : ids) {
    Statement(*database_, "INSERT INTO resumed SELECT ?1, ?2, ifnull(max(id), 0) FROM records")
        .bind(1, run)
        .bind(2, id)
        .run();
  }
  transaction.commit();
}

std::vector<int64_t> Store::resumed_by(std::string_view text) const {
  std::vector<int64_t> ids;
  if (!has_resumed()) return ids;
  Statement rows(*database_, "SELECT DISTINCT record_id FROM resumed WHERE instr(run, ?1) > 0 ORDER BY record_id");
  rows.bind(1, text);
  while (rows.step()) ids.push_back(rows.integer(0));
  return ids;
}

std::optional<Store::Resumed> Store::newest_resumed() const {
  if (!has_resumed()) return std::nullopt;
  Statement row(*database_, "SELECT run, newest_id FROM resumed ORDER BY rowid DESC LIMIT 1");
  if (!row.step()) return std::nullopt;
  return Resumed{std::string(row.text(0)), row.integer(1)};
}

bool Store::has_traces() const { return store_schema::version_of(*database_) >= kTracesSince; }
bool Store::has_resumed() const { return store_schema::version_of(*database_) >= kResumedSince; }
bool Store::has_listing() const { return store_schema::version_of(*database_) >= kListingSince; }

}  // namespace laptime
