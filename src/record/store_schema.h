// The schema of the store: its versions, and how a file of an older one becomes one of the newest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace laptime {

// A store cannot be written at this place: there is no permission, or the file system has no locks.
class StoreUnavailable : public Error {
 public:
  explicit StoreUnavailable(const std::string& message, bool has_locks = true)
      : Error(message), has_locks_(has_locks) {}
  bool has_locks() const { return has_locks_; }

 private:
  bool has_locks_;
};

namespace sqlite {
class Database;
}

namespace store_schema {

inline constexpr int64_t kVersion = 11;

// The kind of a file by its first bytes, read without SQLite, which might change a file that it opens.
enum class FileKind : uint8_t { kNone, kEmpty, kStore };

// Error for anything but a store and an empty file: a directory, a pipe, other bytes, a database of another program.
FileKind kind_of_file(const std::filesystem::path& path);

// The schema version of the file, or 0 if it is empty. Error for another program's database or a newer schema.
int64_t version_of(sqlite::Database& database);

// Brings the file to kVersion; another process may do so first.
void bring_up_to_date(sqlite::Database& database);

}  // namespace store_schema
}  // namespace laptime
