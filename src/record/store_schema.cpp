// The SQL of each schema version, and the checks of a file's kind and version.
#include "record/store_schema.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "record/listing.h"
#include "record/sqlite.h"

namespace laptime::store_schema {
namespace {

using sqlite::Database;

constexpr int64_t kApplicationId = 1'280'332'884;  // "LPTT"

// The statements that turn version n - 1 into version n; a new file runs all of them. To change the schema, append to
// this list, raise kVersion, and add the previous schema to tests/record/old_schemas.h.
std::array<std::string, kVersion> versions() {
  return {
      // The record's JSON is the only source; the other columns of `records` are derived from it.
      R"sql(
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
  )sql",
      // Version 1 stored choices and peaks by machine. They are dropped, because their devices are unknown.
      R"sql(
    DROP TABLE IF EXISTS kernel_choices;
    DROP TABLE IF EXISTS measured_peaks;
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
  )sql",
      R"sql(
    CREATE TABLE traces (
      record_id   INTEGER PRIMARY KEY REFERENCES records (id),
      json        TEXT NOT NULL CHECK (json_valid(json))
    );
  )sql",
      "",  // versions 4 and 6 created earlier forms of the listing, which version 11 replaces
      R"sql(
    CREATE TABLE launch_costs (
      device      TEXT NOT NULL,
      threads     INTEGER NOT NULL,
      signature   TEXT NOT NULL,
      kernel      TEXT NOT NULL,
      kind        TEXT NOT NULL,
      flops       REAL NOT NULL,
      bytes       INTEGER NOT NULL,
      seconds     REAL NOT NULL,
      created     TEXT NOT NULL,
      PRIMARY KEY (device, threads, signature)
    ) WITHOUT ROWID;
  )sql",
      "", "ALTER TABLE launch_costs ADD COLUMN runs INTEGER NOT NULL DEFAULT 1;",
      // Records that a command took from the store instead of measuring them (--resume). `newest_id` is the id of the
      // newest record at that time; it orders the run among the others, even if the run added no record.
      R"sql(
    CREATE TABLE resumed (
      run         TEXT NOT NULL,
      record_id   INTEGER NOT NULL REFERENCES records (id),
      newest_id   INTEGER NOT NULL
    );
  )sql",
      "ALTER TABLE launch_costs ADD COLUMN disturbance TEXT NOT NULL DEFAULT '';",
      "",  // version 10 created the listing as a single table, which version 11 replaces
      // Damage to any byte of the schema hides the whole store, so the schema is kept short: its views list the fields
      // only once.
      R"sql(
    DROP TRIGGER IF EXISTS record_added;
    DROP TRIGGER IF EXISTS record_changed;
    DROP TRIGGER IF EXISTS record_removed;
    DROP VIEW IF EXISTS listed;
    DROP TABLE IF EXISTS listing;
  )sql" + listing::schema()};
}

}  // namespace

FileKind kind_of_file(const std::filesystem::path& path) {
  const auto error = [&](std::string_view what) {
    return Error::format("store '{}': {} with --store", path.string(), what);
  };
  struct stat status {};
  const bool exists = stat(path.c_str(), &status) == 0;
  if (!exists && (errno == ENOENT || errno == ENOTDIR)) return FileKind::kNone;
  if (exists && S_ISDIR(status.st_mode)) throw error("is a directory; name a file");
  if (exists && !S_ISREG(status.st_mode)) throw error("is a pipe or a device; name a file");
  std::ifstream file(path, std::ios::binary);
  if (!exists || !file) throw error(fmt::format("cannot be opened ({}); name another file", std::strerror(errno)));
  std::string header(100, '\0');  // https://sqlite.org/fileformat.html, "The Database Header"
  file.read(header.data(), std::ssize(header));
  if (file.gcount() == 0) return FileKind::kEmpty;
  constexpr std::string_view kMagic{"SQLite format 3\0", 16};
  if (file.gcount() != std::ssize(header) || !header.starts_with(kMagic))
    throw error("not a laptime store; name another file");
  constexpr size_t kApplicationIdAt = 68;
  uint32_t application = 0;
  for (size_t i = 0; i < 4; ++i)
    application = application << 8U | static_cast<unsigned char>(header[kApplicationIdAt + i]);
  if (application != kApplicationId) throw error("the database belongs to another program; name another file");
  return FileKind::kStore;
}

int64_t version_of(Database& database) {
  const int64_t version = database.query_integer("PRAGMA user_version");
  if (version >= 0 && version <= kVersion) return version;
  throw Error::format(
      "store '{}': written with schema version {}, but this laptime knows {}; use a newer laptime, or another file "
      "with "
      "--store",
      database.path().string(), version, kVersion);
}

void bring_up_to_date(Database& database) {
  database.transact([&] {
    const auto statements = versions();
    for (auto next = static_cast<size_t>(version_of(database)); next < statements.size(); ++next)
      database.execute(statements[next]);
    database.execute(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kVersion));
  });
}

}  // namespace laptime::store_schema
