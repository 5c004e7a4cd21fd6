// The statements of each version, oldest first: a new file goes through all of them.
#include "record/store_schema.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>

#include "base/error.h"
#include "record/listing.h"
#include "record/sqlite.h"

namespace laptime::store_schema {
namespace {

using sqlite::Database;
using sqlite::Transaction;

constexpr int64_t kApplicationId = 1'280'332'884;  // "LPTT"

// The record's JSON is the one source; the other columns of `records` are read from it.
std::string records() {
  return R"sql(
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
}

// Version 1 kept choices and peaks by machine. Whose device they are is not known any more, so they are measured again.
std::string knowledge_by_device() {
  return R"sql(
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
  )sql";
}

std::string traces() {
  return R"sql(
    CREATE TABLE traces (
      record_id   INTEGER PRIMARY KEY REFERENCES records (id),
      json        TEXT NOT NULL CHECK (json_valid(json))
    );
  )sql";
}

// Versions 4, 5 and 6 made listings of other columns, which version 10 replaces.
std::string nothing() { return {}; }

std::string launch_costs() {
  return R"sql(
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
  )sql";
}

std::string runs_of_launch_costs() { return "ALTER TABLE launch_costs ADD COLUMN runs INTEGER NOT NULL DEFAULT 1;"; }

// Which records a command took from the store instead of measuring them (--resume). `newest_id` is that of the newest
// record then: it says where the command stands among the others, which may be the only trace of it.
std::string resumed_records() {
  return R"sql(
    CREATE TABLE resumed (
      run         TEXT NOT NULL,
      record_id   INTEGER NOT NULL REFERENCES records (id),
      newest_id   INTEGER NOT NULL
    );
  )sql";
}

std::string disturbance_of_launch_costs() {
  return "ALTER TABLE launch_costs ADD COLUMN disturbance TEXT NOT NULL DEFAULT '';";
}

// A record has 25 KiB and more. The listing has the fields that tables and filters ask for, so that they need not read
// it all. The longer the schema, the more bytes whose damage hides the whole store: its view states the fields once.
std::string listing_of_columns() {
  return R"sql(
    DROP TRIGGER IF EXISTS record_added;
    DROP TRIGGER IF EXISTS record_changed;
    DROP TRIGGER IF EXISTS record_removed;
    DROP VIEW IF EXISTS listed;
    DROP TABLE IF EXISTS listing;
  )sql" + listing::schema();
}

// What version 1, 2, ... adds to the one before. To change the schema append a function here, raise kVersion, and keep
// the schema that was newest until then in tests/record/old_schemas.h.
constexpr std::array kVersions{records,
                               knowledge_by_device,
                               traces,
                               nothing,
                               launch_costs,
                               nothing,
                               runs_of_launch_costs,
                               resumed_records,
                               disturbance_of_launch_costs,
                               listing_of_columns};
static_assert(kVersions.size() == kVersion);

class File {
 public:
  // Not blocking, so that a pipe that nobody writes does not hang the program.
  explicit File(const std::filesystem::path& path)
      : descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  int descriptor() const { return descriptor_; }

 private:
  int descriptor_;
};

}  // namespace

FileKind kind_of_file(const std::filesystem::path& path) {
  const std::string name = path.string();
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return FileKind::kNone;
    throw Error::format("store '{}': cannot be opened ({}); name another file with --store", name,
                        std::strerror(errno));
  }
  if (S_ISDIR(status.st_mode)) throw Error::format("store '{}': is a directory; name a file with --store", name);
  if (!S_ISREG(status.st_mode)) {
    throw Error::format("store '{}': is a pipe or a device; name a file with --store", name);
  }
  const File file(path);
  if (file.descriptor() < 0) {
    throw Error::format("store '{}': cannot be opened ({}); name another file with --store", name,
                        std::strerror(errno));
  }
  std::array<unsigned char, 100> header{};  // https://sqlite.org/fileformat.html, "The Database Header"
  const ssize_t bytes = pread(file.descriptor(), header.data(), header.size(), 0);
  if (bytes == 0) return FileKind::kEmpty;
  constexpr std::string_view kMagic{"SQLite format 3\0", 16};
  if (bytes != static_cast<ssize_t>(header.size()) || std::memcmp(header.data(), kMagic.data(), kMagic.size()) != 0) {
    throw Error::format("store '{}': not a laptime store, but some other file; name another one with --store", name);
  }
  constexpr size_t kApplicationIdAt = 68;
  uint32_t application = 0;
  for (size_t i = 0; i < 4; ++i) application = application << 8U | header[kApplicationIdAt + i];
  if (application != kApplicationId) {
    throw Error::format("store '{}': a database of another program; name another file with --store", name);
  }
  return FileKind::kStore;
}

int64_t version_of(Database& database) {
  const int64_t application = database.query_integer("PRAGMA application_id");
  const int64_t version = database.query_integer("PRAGMA user_version");
  if (application == kApplicationId) {
    if (version >= 1 && version <= kVersion) return version;
    throw Error::format(
        "store '{}': written with schema version {}, but this laptime knows {}; use a newer laptime, or another file "
        "with --store",
        database.path().string(), version, kVersion);
  }
  const bool empty =
      application == 0 && version == 0 && database.query_integer("SELECT count(*) FROM sqlite_schema") == 0;
  if (!empty) {
    throw Error::format("store '{}': a database of another program; name another file with --store",
                        database.path().string());
  }
  return 0;
}

void bring_up_to_date(Database& database) {
  Transaction transaction(database);
  const int64_t version = version_of(database);
  if (version == kVersion) return;
  for (size_t next = static_cast<size_t>(version); next < kVersions.size(); ++next) {
    database.execute(kVersions[next]().c_str());
  }
  database.execute(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kVersion).c_str());
  transaction.commit();
}

}  // namespace laptime::store_schema
