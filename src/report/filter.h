// Filter: selects records or table rows with the grammar that all commands share. StoredRecords: the records of a store
// that a filter selects.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "record/record.h"
#include "record/store.h"
#include "report/columns.h"
#include "report/records.h"

namespace laptime {

// Returns the value in a column of a table row; null if there is none.
using ColumnReader = std::function<Json(std::string_view column)>;

// expression = conjunction {"or" conjunction}
// conjunction = term {"and" term}
// term = {"not"} ("(" expression ")" | column operator value | column ["not"] "in" "(" value {"," value} ")")
// operator = "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "~"
//
// A column is any name that columns.h resolves, quoted if it contains spaces. A value is a word, or text in single or
// double quotes. Numbers compare numerically and may have a unit (2GiB, 500ms, 40%); other text compares character by
// character; `~` tests whether the column contains the value. A list matches if any element matches; with !=, if all
// elements differ. `null` stands for a missing value; apart from `null`, a missing value matches only !=.
class Filter {
 public:
  static constexpr size_t kMaxBytes = 4096;
  static constexpr size_t kMaxDepth = 64;
  static constexpr size_t kMaxComparisons = 256;

  // An empty text matches every record. Throws Error with the position if the text is invalid.
  explicit Filter(std::string_view text);

  // Adds a requirement: a record must satisfy `column op value`, or be a stored record with one of these ids
  // (ascending).
  void require(std::string column, std::string_view op, std::string value, std::vector<int64_t> ids = {});

  // Selects the records of one command: records with its run id, and records that it took from the store (`ids`,
  // ascending). Ratios may then compare any two of these records, even from different runs.
  void require_command(const std::string& run, std::vector<int64_t> ids);
  bool requires_command() const { return command_.has_value(); }
  // Whether a record satisfies require_command, which must have been called.
  bool is_of_command(const Record& record, int64_t id) const;

  bool is_empty() const { return program_.empty(); }

  // Throws Error for a column that no record can have, or that is a group of columns. `compared` are the records that a
  // ratio may compare.
  void check(const Records& records, const Records& compared) const;

  Extent extent() const;

  // Whether a record that was read to this extent matches, or could match if more of it were read. Throws Error for an
  // order comparison (<, >) between a number and a word. `id`: the id of a stored record; 0 for any other record.
  bool matches(const Record& record, int64_t id = 0, Extent extent = Extent::kWhole) const;

  std::vector<std::string> columns() const;
  // Whether a row of a table matches. `read` returns the row's values, and throws Error for a column that the table
  // lacks.
  bool keeps(const ColumnReader& read) const;

  struct Comparison {
    std::string column;
    std::string_view op;  // an operator of the grammar above
    std::string value{};
    std::string meant{};             // the canonical spelling of an option value: "bfloat16" for "bf16"
    std::optional<double> number{};  // the value as a number, with its unit applied
    bool null = false;               // the bare word `null`
    std::vector<int64_t> ids{};      // ids of stored records that match regardless of the value in the column
    ColumnValue read{column};        // reads the column from records
  };

 private:
  // False if the values that `read` returns exclude a match; `read` returns none for a value that is not known yet.
  bool matches_by(const std::function<std::optional<Json>(const Comparison&)>& read) const;

  std::vector<Comparison> comparisons_;
  // The expression in postfix order: each entry is the index of a comparison, or an operator code (filter.cpp). Empty:
  // every record matches.
  std::vector<int> program_;
  std::optional<size_t> command_;               // the comparison that requires a command
  mutable std::shared_ptr<Speedups> speedups_;  // set by check() if a comparison involves other rows (speedup)
};

// The records of a store that match a filter, oldest first unless sort() was called.
//
// The selection is fixed at construction; each pass reads the records from the store in batches.
class StoredRecords : public Records {
 public:
  // Throws Error for a filter column that no record can have. `problem` receives one message for each unreadable
  // record. The store must outlive this object.
  StoredRecords(const Store& store, const Filter& filter, Store::Problem problem);

  void each(Extent extent, const Visit& visit) const override;
  bool are_of_one_command() const override { return are_of_one_command_; }
  void each_id(Extent extent, const Store::Visit& visit) const;  // like each, and passes the record's id

  // The reason why no record matches: the store is empty, or "0 of 4 records match; they have model medium, small" with
  // the values of the columns in `filter`, which must be the filter of these records. Empty if a record matches, or if
  // the filter is empty and the store is not.
  std::string why_none(const Filter& filter) const;

  void sort(std::string_view order);

 private:
  const Store& store_;
  bool are_of_one_command_;
  Store::Problem problem_;  // reports each problem only once
  std::vector<int64_t> ids_;
};

}  // namespace laptime
