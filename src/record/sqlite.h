// RAII wrappers for SQLite: a database and its prepared statements. Errors become messages that say what to do.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace laptime::sqlite {

class Database;

// One prepared statement. Columns are numbered from 0.
class Statement {
 public:
  Statement(Database& database, const std::string& sql);

  // Binds the parameters ?1, ?2, ...
  template <class... Values>
  Statement& bind(const Values&... values) {
    int parameter = 0;
    (bind_at(++parameter, values), ...);
    return *this;
  }
  void bind_at(int parameter, std::string_view text);
  void bind_at(int parameter, double value);
  void bind_at(int parameter, int64_t value);

  // Moves to the next row; returns false if there is none. Column values are valid until the next call.
  bool step();
  // Resets the statement so that it can run again; bound values are kept.
  void reset() { sqlite3_reset(statement_.get()); }
  // Runs to the end and resets the statement.
  void run();

  std::string_view text(int column) const;
  int64_t integer(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  double number(int column) const { return sqlite3_column_double(statement_.get(), column); }
  int type(int column) const { return sqlite3_column_type(statement_.get(), column); }  // SQLITE_TEXT, ...
  std::optional<int> column(std::string_view name) const;  // none if the statement has no column with this name

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  Database& database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

class Database {
 public:
  // Opens a file for reading and writing, or only for reading if the file cannot be written. Every call waits for locks
  // of other processes for up to 30 s, or until 1 s after `stop` has become true. On a file system without locks,
  // throws StoreUnavailable if `create` is true, and otherwise reads the file without locking it.
  Database(std::filesystem::path path, bool create, std::function<bool()> stop = {});
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  bool read_only() const { return sqlite3_db_readonly(handle_.get(), "main") == 1; }
  const std::filesystem::path& path() const { return path_; }
  void execute(const std::string& sql) { check(sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr)); }
  int64_t query_integer(const std::string& sql);
  // Takes the write lock first, so that a read lock never has to be upgraded. Commits everything that `write`
  // writes, or nothing if `write` throws. A nested call joins the outer transaction.
  void transact(const std::function<void()>& write);
  bool has_column(std::string_view table, std::string_view column);  // also false if the table does not exist

  // Throws the matching Error for any result code other than SQLITE_OK.
  void check(int code) {
    if (code != SQLITE_OK) fail(code);
  }
  [[noreturn]] void fail(int code);

 private:
  friend class Statement;
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  static int wait_for_lock(void* database, int waits);

  std::filesystem::path path_;
  std::function<bool()> stop_;
  int waits_after_stop_ = 0;
  std::unique_ptr<sqlite3, Close> handle_;
};

}  // namespace laptime::sqlite
