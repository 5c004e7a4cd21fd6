// Wraps SQLite calls and checks each of them.
#include "record/sqlite.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "data/json_documents.h"
#include "record/store_schema.h"

namespace laptime::sqlite {
namespace {

constexpr int kWaitMs = 20;
constexpr int kMaxWaits = 30'000 / kWaitMs;
constexpr int kMaxWaitsAfterStop = 1'000 / kWaitMs;
constexpr int kMaxTextBytes = kMaxDocumentBytes;

// True if locks on the file work. With `create`, a missing file is created, and removed again if locks do not work.
// Also true if the file cannot be opened; SQLite then reports why.
bool locks_work(const std::filesystem::path& path, bool create) {
  constexpr mode_t kMode = 0644;
  constexpr int kFlags = O_CLOEXEC | O_NONBLOCK;
  int descriptor = open(path.c_str(), (create ? O_RDWR : O_RDONLY) | kFlags);
  const bool is_new = descriptor < 0 && errno == ENOENT && create;
  if (is_new) descriptor = open(path.c_str(), O_RDWR | O_CREAT | kFlags, kMode);
  if (descriptor < 0) return true;
  struct flock byte {};
  byte.l_type = F_RDLCK;
  byte.l_whence = SEEK_SET;
  byte.l_start = (1 << 30) + 1024;  // beyond the bytes that SQLite locks
  byte.l_len = 1;
  const bool is_locked = fcntl(descriptor, F_SETLK, &byte) == 0;
  const int error = errno;
  close(descriptor);
  const bool work = is_locked || (error != ENOLCK && error != ENOSYS && error != EOPNOTSUPP && error != EINVAL);
  if (!work && is_new) unlink(path.c_str());
  return work;
}

}  // namespace

int Database::wait_for_lock(void* database, int waits) {
  auto& self = *static_cast<Database*>(database);
  if (self.stop_ && self.stop_()) ++self.waits_after_stop_;
  if (waits >= kMaxWaits || self.waits_after_stop_ > kMaxWaitsAfterStop) return 0;
  sqlite3_sleep(kWaitMs);
  return 1;
}

Database::Database(std::filesystem::path path, bool create, std::function<bool()> stop)
    : path_(std::move(path)), stop_(std::move(stop)) {
  const bool has_locks = locks_work(path_, create);
  if (create && !has_locks) {
    throw StoreUnavailable(
        fmt::format(
            "store '{}': its file system does not support locks; name a file on another file system with --store",
            path_.string()),
        /*has_locks=*/false);
  }
  sqlite3* handle = nullptr;
  const int flags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_EXRESCODE | SQLITE_OPEN_NOMUTEX | (create ? SQLITE_OPEN_CREATE : 0);
  // SQLite may be built to treat a name such as file:x as a URI, but never an absolute path.
  const std::string name = std::filesystem::absolute(path_).string();
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags, has_locks ? nullptr : "unix-none");
  handle_.reset(handle);
  check(code);
  check(sqlite3_busy_handler(handle, wait_for_lock, this));
  // A store may come from an untrusted source: protect its schema and limit the size of values.
  check(sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr));
  sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, kMaxTextBytes);
}

void Database::fail(int code) {
  const std::string detail = handle_ != nullptr ? sqlite3_errmsg(handle_.get()) : sqlite3_errstr(code);
  const std::string path = path_.string();
  const auto text = [&]<class... Args>(fmt::format_string<Args...> what, Args&&... args) {
    return fmt::format("store '{}': {}", path, fmt::format(what, std::forward<Args>(args)...));
  };
  std::error_code ignored;
  switch (code & 0xFF) {
    case SQLITE_FULL: throw Error(text("the disk is full; free some space, or name another file with --store"));
    case SQLITE_CANTOPEN:
      // If a file cannot be created, errno does not say why, because SQLite last tried to read the file.
      throw StoreUnavailable(text("cannot be {}; name a file in a writable directory with --store",
                                  std::filesystem::exists(path_, ignored) ? "opened" : "created"));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      throw StoreUnavailable(text("no permission to write; change the permissions, or name another file with --store"));
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      if (waits_after_stop_ > 0)
        throw Error(text("another process keeps the file locked, and a signal ended the wait"));
      throw Error(text(
          "another process kept the file locked for {} s; wait until it finishes, or name another file with --store",
          kMaxWaits * kWaitMs / 1000));
    case SQLITE_NOTADB: throw Error(text("not a laptime store; name another file with --store"));
    case SQLITE_CORRUPT:
      throw StoreDamaged(
          text("damaged ({}); save what is readable with: sqlite3 '{}' .recover, and use another file with "
               "--store",
               detail, path));
    case SQLITE_IOERR:
      if (code != SQLITE_IOERR_WRITE && code != SQLITE_IOERR_FSYNC && code != SQLITE_IOERR_TRUNCATE)
        throw Error(text("disk error ({}); name another file with --store", detail));
      throw Error(
          text("the disk rejected a write ({}); check its free space and `ulimit -f`, or name another file with "
               "--store",
               detail));
    case SQLITE_ERROR:
      if (detail == "malformed JSON")
        throw StoreDamaged(text("a row is damaged ({}); laptime show tells which", detail));
      throw Error(text(
          "its schema is damaged or does not belong to a laptime store ({}); name another file with --store", detail));
    case SQLITE_NOMEM: throw Error(text("out of memory"));
    case SQLITE_TOOBIG: throw Error(text("a record or trace is larger than {} bytes", kMaxTextBytes));
    default: throw Error(text("{} (SQLite error {}); name another file with --store", detail, code));
  }
}

void Database::transact(const std::function<void()>& write) {
  if (sqlite3_get_autocommit(handle_.get()) == 0) return write();
  execute("BEGIN IMMEDIATE");
  try {
    write();
    execute("COMMIT");
  } catch (...) {
    // The error is ignored: SQLite may have rolled back already, for example because the disk is full.
    sqlite3_exec(handle_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

int64_t Database::query_integer(const std::string& sql) {
  Statement statement(*this, sql);
  return statement.step() ? statement.integer(0) : 0;
}

bool Database::has_column(std::string_view table, std::string_view column) {
  return Statement(*this, "SELECT 1 FROM pragma_table_info(?1) WHERE name = ?2").bind(table, column).step();
}

Statement::Statement(Database& database, const std::string& sql) : database_(database) {
  sqlite3_stmt* statement = nullptr;
  const int code = sqlite3_prepare_v2(database.handle_.get(), sql.c_str(), -1, &statement, nullptr);
  statement_.reset(statement);
  database_.check(code);
}

void Statement::bind_at(int parameter, std::string_view text) {
  database_.check(
      sqlite3_bind_text64(statement_.get(), parameter, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
}

void Statement::bind_at(int parameter, double value) {
  database_.check(sqlite3_bind_double(statement_.get(), parameter, value));
}

void Statement::bind_at(int parameter, int64_t value) {
  database_.check(sqlite3_bind_int64(statement_.get(), parameter, value));
}

bool Statement::step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.fail(code);
  return false;
}

void Statement::run() {
  while (step()) {}
  database_.check(sqlite3_reset(statement_.get()));
}

std::string_view Statement::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
  const int bytes = sqlite3_column_bytes(statement_.get(), column);
  return text == nullptr ? std::string_view() : std::string_view(text, static_cast<size_t>(bytes));
}

std::optional<int> Statement::column(std::string_view name) const {
  const int count = sqlite3_column_count(statement_.get());
  for (int column = 0; column < count; ++column) {
    if (sqlite3_column_name(statement_.get(), column) == name) return column;
  }
  return std::nullopt;
}

}  // namespace laptime::sqlite
