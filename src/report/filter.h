// Filter: which records or rows, in the one grammar of all commands, and the records of a store that it selects.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "record/record.h"
#include "record/store.h"
#include "report/records.h"

namespace laptime {

class Speedups;

// expression = conjunction {"or" conjunction}
// conjunction = term {"and" term}
// term = {"not"} ("(" expression ")" | column operator value | column ["not"] "in" "(" value {"," value} ")")
// operator = "=" | "==" | "!=" | "<" | "<=" | ">" | ">=" | "~"
//
// A column is any name that row.h knows, in quotes if it has spaces. A value is a word, or text in single or double
// quotes. Numbers compare as numbers and may carry a unit (2GiB, 500ms, 40%); other text compares letter by letter; `~`
// asks whether the column contains the value. A list matches if one of its elements does. `null` stands for a value
// that a record does not have; no other comparison but != matches it.
using ColumnReader = std::function<Json(std::string_view column)>;

class Filter {
 public:
  static constexpr size_t kMaxBytes = 4096;
  static constexpr size_t kMaxDepth = 64;
  static constexpr size_t kMaxComparisons = 256;

  // An empty text matches every record. Error with the position otherwise.
  explicit Filter(std::string_view text);
  Filter(Filter&& other) noexcept;
  Filter& operator=(Filter&& other) noexcept;
  ~Filter();

  // From now on a match must also contain `text` in this column, or be a stored record of one of these ids (ascending).
  void narrow(std::string column, std::string text, std::vector<int64_t> ids = {});

  // From now on a match must also have another value, or none, in this column.
  void leave_out(std::string column, std::string value);

  bool is_empty() const { return program_.empty(); }

  // Error for a column that none of the records can have, and for a group of columns.
  void check(const Records& records) const;

  // SQL over the columns of the listing (record/listing.h) that holds for every record that matches, and for others
  // too where the filter asks for more than the listing has. Empty where it says nothing.
  std::string condition() const;

  Extent extent() const;

  // Error for an order (<, >) between a number and a word. `id` is that of a stored record.
  bool matches(const Record& record, int64_t id = 0) const;

  std::vector<std::string> columns() const;
  // Whether one row of any table matches. `read` throws Error for a column that the table does not have.
  bool keeps(const ColumnReader& read) const;

  struct Comparison;

 private:
  bool matches_by(const std::function<Json(const Comparison&)>& read) const;
  void add(Comparison comparison);

  std::vector<Comparison> comparisons_;
  // The expression in postfix order: each entry is the index of a comparison, or the code of an operator (filter.cpp).
  // Empty: every record matches.
  std::vector<int> program_;
  mutable std::shared_ptr<Speedups> speedups_;  // of check(), where a comparison is of rows (speedup)
};

// StoredRecords: the records of a store that match a filter, in an order.
//
// Which records they are, and in which order, is settled once; each pass reads them from the store, a few at a time.
class StoredRecords : public Records {
 public:
  // Error for a column of the filter that no record can have. `problem` gets a message for each record that cannot be
  // read, once. The store must outlive it.
  StoredRecords(const Store& store, const Filter& filter, Store::Problem problem);

  void each(Extent extent, const Visit& visit) const override;
  void each_id(Extent extent, const Store::Visit& visit) const;  // the same with the id of each

  // "0 of 4 records match: model is medium, small", with the values that the store has in the columns of `filter`,
  // which selected these records. Empty where one matches.
  std::string why_none(const Filter& filter) const;

  void sort(std::string_view order);

 private:
  const Store& store_;
  Store::Problem problem_;  // passes each message on once
  std::vector<int64_t> ids_;
};

}  // namespace laptime
