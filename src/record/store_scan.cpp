// Goes through the records of a store, past what is damaged in it.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "base/error.h"
#include "record/listing.h"
#include "record/sqlite.h"
#include "record/store.h"

namespace laptime {
namespace {

using sqlite::Damaged;
using sqlite::Database;
using sqlite::Statement;

// Keeps the file locked against writers, once for all rows that are read meanwhile.
class ReadTransaction {
 public:
  explicit ReadTransaction(Database& database) : database_(database) { database_.execute("BEGIN"); }
  ~ReadTransaction() {
    try {
      database_.execute("END");
    } catch (const Error&) {  // what was read stays read
    }
  }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;

 private:
  Database& database_;
};

class Scan {
 public:
  Scan(Database& database, const Store::Visit& visit, const Store::Problem& problem)
      : database_(database),
        whole_(database, "SELECT json FROM records WHERE id = ?1"),
        visit_(visit),
        problem_(problem) {}

  void listed(Extent extent) {
    const std::vector<int64_t> ids = ids_of_records();
    size_t next = 0;
    try {
      Statement rows(database_, "SELECT id, losses, times, fields FROM listing WHERE id > ?1 ORDER BY id LIMIT 1000");
      Record record;
      int64_t last = 0;
      for (std::span<const StoredRow> batch = read_batch(rows, 0); !batch.empty() && batch.back().id > last;
           batch = read_batch(rows, last)) {
        for (const StoredRow& row : batch) {
          if (row.id <= last) continue;  // ids ascend unless they are damaged
          last = row.id;
          for (; next < ids.size() && ids[next] < row.id; ++next) {
            if (!visit_whole(ids[next])) return;
          }
          const bool is_known = next < ids.size() && ids[next] == row.id;
          if (is_known) ++next;
          // Another row was added meanwhile, or damage gave it an id that no record has.
          if (!(is_known ? visit_listed(row, extent, record) : visit_whole(row.id))) return;
        }
      }
    } catch (const Damaged& error) {
      problem_(error.what());
    }
    for (; next < ids.size(); ++next) {
      if (!visit_whole(ids[next])) return;
    }
  }

  // In the order of the ids.
  void listed(std::span<const int64_t> ids, Extent extent) {
    Statement row(database_, "SELECT id, losses, times, fields FROM listing WHERE id = ?1");
    Record record;
    while (!ids.empty()) {
      const std::span<const int64_t> part = ids.first(std::min(ids.size(), kBatch));
      ids = ids.subspan(part.size());
      for (const StoredRow& stored : read_batch(row, part)) {
        if (!(stored.found ? visit_listed(stored, extent, record) : visit_whole(stored.id))) return;
      }
    }
  }

  void whole(std::span<const int64_t> ids) {
    for (const int64_t id : ids) {
      if (!visit_whole(id)) return;
    }
  }

  // The listing may have some that damage hides among the records.
  std::vector<int64_t> ids(bool has_listing) {
    std::vector<int64_t> ids = ids_of_records();
    if (has_listing) {
      add_ids("SELECT id FROM listing", ids);
      sort(ids);
    }
    return ids;
  }

 private:
  static constexpr size_t kBatch = 1000;

  struct StoredRow {
    int64_t id = 0;
    bool found = false;
    int64_t losses = 0;
    int64_t times = 0;
    std::string fields;

    void read(const Statement& row) {
      found = true;
      losses = row.integer(1);
      times = row.integer(2);
      fields = row.text(3);
    }
  };

  // The store is locked against writers only while a batch is read, not while its rows are shown: whoever reads our
  // output may take any time.
  std::span<const StoredRow> read_batch(Statement& rows, int64_t after) {
    size_t count = 0;
    batch_.resize(kBatch);
    rows.reset();
    rows.bind(1, after);
    while (count < kBatch && rows.step()) {
      batch_[count].id = rows.integer(0);
      batch_[count++].read(rows);
    }
    rows.reset();
    return std::span(batch_).first(count);
  }

  // A row for each id.
  std::span<const StoredRow> read_batch(Statement& row, std::span<const int64_t> ids) {
    batch_.resize(kBatch);
    const ReadTransaction transaction(database_);
    for (size_t i = 0; i < ids.size(); ++i) {
      batch_[i].id = ids[i];
      batch_[i].found = false;
      try {
        row.reset();
        if (row.bind(1, ids[i]).step()) batch_[i].read(row);
      } catch (const Damaged& error) {
        problem_(error.what());
      }
    }
    row.reset();
    return std::span(batch_).first(ids.size());
  }

  static void sort(std::vector<int64_t>& ids) {
    std::sort(ids.begin(), ids.end());
    ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  }

  // False where damage ends the rows early.
  bool add_ids(const char* sql, std::vector<int64_t>& ids) {
    try {
      Statement rows(database_, sql);
      while (rows.step()) ids.push_back(rows.integer(0));
      return true;
    } catch (const Damaged& error) {
      problem_(error.what());
      return false;
    }
  }

  // An index has them in a hundredth of the bytes of the table. Where both are damaged, every id that was ever given is
  // tried.
  std::vector<int64_t> ids_of_records() {
    std::vector<int64_t> ids;
    if (!add_ids("SELECT id FROM records", ids) && !add_ids("SELECT id FROM records NOT INDEXED ORDER BY id", ids)) {
      constexpr int64_t kMaxTried = 1'000'000;
      std::vector<int64_t> given;
      add_ids("SELECT seq FROM sqlite_sequence WHERE name = 'records'", given);
      const int64_t last = given.empty() ? 0 : std::min(given.front(), kMaxTried);
      for (int64_t id = 1; id <= last; ++id) ids.push_back(id);
    }
    sort(ids);
    return ids;
  }

  bool visit_listed(const StoredRow& row, Extent extent, Record& record) {
    if (!read_listed({row.losses, row.times, row.fields}, extent, record)) return visit_whole(row.id);
    return visit_(row.id, record);
  }

  bool visit_whole(int64_t id) {
    std::optional<Record> record;
    try {
      record = whole_record(id);
    } catch (const Unreadable& error) {
      problem_(fmt::format("store '{}', row {} of table records: {}", database_.path().string(), id, error.what()));
    }
    return !record || visit_(id, *record);
  }

  class Unreadable : public Error {
   public:
    using Error::Error;
  };

  std::optional<Record> whole_record(int64_t id) {
    std::string text;
    try {
      whole_.reset();
      if (!whole_.bind(1, id).step()) return std::nullopt;
      text = whole_.text(0);
      whole_.reset();
    } catch (const Damaged& error) {
      whole_.reset();
      throw Unreadable(error.what());
    }
    try {
      return parse_record(text);
    } catch (const Error& error) {
      throw Unreadable(error.what());
    }
  }

  Database& database_;
  Statement whole_;
  const Store::Visit& visit_;
  const Store::Problem& problem_;
  std::vector<StoredRow> batch_;
};

}  // namespace

std::vector<int64_t> Store::ids() const {
  const Visit visit = [](int64_t, const Record&) { return true; };
  const Problem problem = [](const std::string&) {};
  return Scan(*database_, visit, problem).ids(has_listing());
}

void Store::each(Extent extent, const Visit& visit, const Problem& problem) const {
  Scan scan(*database_, visit, problem);
  if (extent == Extent::kWhole || !has_listing()) {
    scan.whole(scan.ids(has_listing()));
  } else {
    scan.listed(extent);
  }
}

void Store::each_of(std::span<const int64_t> ids, Extent extent, const Visit& visit, const Problem& problem) const {
  Scan scan(*database_, visit, problem);
  if (extent == Extent::kWhole || !has_listing()) {
    scan.whole(ids);
  } else {
    scan.listed(ids, extent);
  }
}

}  // namespace laptime
