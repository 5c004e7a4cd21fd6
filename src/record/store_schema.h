// The schema of the store: its versions, and how an older file is upgraded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/error.h"

namespace laptime {

// Thrown if a store cannot be written in this place, for lack of permission or because the file system has no locks.
class StoreUnavailable : public Error {
 public:
  explicit StoreUnavailable(const std::string& message, bool has_locks = true)
      : Error(message), has_locks_(has_locks) {}
  bool has_locks() const { return has_locks_; }

 private:
  bool has_locks_;
};

// Thrown if bytes of a store are corrupt; other parts of the file may still be readable.
class StoreDamaged : public Error {
 public:
  using Error::Error;
};

namespace sqlite {
class Database;
}

namespace store_schema {

inline constexpr int64_t kVersion = 11;

// The kind of a file according to its first bytes, read without SQLite, which might modify a file that it opens.
enum class FileKind : uint8_t { kNone, kEmpty, kStore };

// Throws Error for anything except a store or an empty file: a directory, a pipe, other contents, or another program's
// database.
FileKind kind_of_file(const std::filesystem::path& path);

// The schema version of a store, or 0 for an empty file. Throws Error for a newer schema.
int64_t version_of(sqlite::Database& database);

// Upgrades the file to kVersion, unless another process does so first.
void bring_up_to_date(sqlite::Database& database);

}  // namespace store_schema
}  // namespace laptime
