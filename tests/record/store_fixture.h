// StoreTest: a store in its own folder, with access by plain SQL.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "record/sample_record.h"
#include "record/store.h"
#include "support/error_of.h"

namespace laptime {

class StoreTest : public testing::Test {
 protected:
  StoreTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "laptime_store_XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
    path_ = directory_ / "records.db";
  }
  ~StoreTest() override { std::filesystem::remove_all(directory_); }

  std::string open_error(Store::Access access = Store::Access::kWrite) const { return open_error(path_, access); }
  static std::string open_error(const std::filesystem::path& path, Store::Access access = Store::Access::kWrite) {
    return test::error_of([&] { whole_records(Store::open(path, access)); });
  }

  void execute(const std::string& sql) const { query(sql.c_str(), nullptr, nullptr); }

  void query(const char* sql, int (*row)(void*, int, char**, char**), void* out) const {
    sqlite3* handle = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &handle), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(handle, sql, row, out, nullptr), SQLITE_OK) << sqlite3_errmsg(handle);
    sqlite3_close(handle);
  }

  static std::string bytes_of(const std::filesystem::path& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  // Names of the records that each() visits. Problems are added to `problems`; if it is null, a problem throws Error.
  static std::vector<std::string> visited(const Store& store, Extent extent,
                                          std::vector<std::string>* problems = nullptr) {
    std::vector<std::string> names;
    store.each(
        extent,
        [&](int64_t, const Record& record) {
          names.push_back(record.name);
          return true;
        },
        [&](const std::string& problem) {
          if (problems == nullptr) throw Error(problem);
          problems->push_back(problem);
        });
    return names;
  }

  std::filesystem::path directory_;
  std::filesystem::path path_;
};

}  // namespace laptime
