// The listing: what tables and filters ask of most records, kept beside them in the store, where it is read quickly.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "record/record.h"

namespace laptime {

// How much of each record is read. What is not read has its default, a time has no samples, and of the losses the first
// and the last remain.
enum class Extent : uint8_t {
  kNames,       // name, label, status, rating, arithmetic, model and pass
  kRow,         // with the time of the pass, memory, FLOPs, device, the reason of a failure, and what headings state
  kListed,      // with all listed fields, which notes and phases below that row show
  kWithConfig,  // with the whole configuration
  kWhole
};

// The least extent in which a column, named by the tag of a metric or by its path, has its value.
Extent extent_of(std::string_view column);

// The columns of the listing after its id, as SQL that reads them from the expression `json`. A table of the store
// depends on this text: to list other fields, raise the version of its schema (record/store_schema.h).
std::string listing_columns();  // their declarations
std::string listing_values(std::string_view json);

// A row of the listing.
struct ListedRow {
  int64_t losses = 0;       // how many
  int64_t times = 0;        // how many entries `time` has
  std::string_view fields;  // a JSON array, numbers as the record has them
};

// Reads a row into a record that is new, or that an earlier call of the same extent has filled: what it read then is
// written over, in the same memory. False if the row is not the listing of a valid record, or its record has what is
// never listed; it must be read whole.
bool read_listed(const ListedRow& row, Extent extent, Record& record);

}  // namespace laptime
