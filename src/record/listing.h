// The listing: record columns that tables and filters use, stored alongside the records as SQL columns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "record/record.h"

namespace laptime {

namespace sqlite {
class Statement;
}

// How much of each record is read. Fields that are not read have default values. All extents except kWhole omit the
// samples of times, and all losses except the first and the last.
enum class Extent : uint8_t {
  kNames,       // fields that name and group rows: name, status, rating, model, pass, device, run, machine, date
  kListed,      // a table row: the pass's time, medians of phases, memory, rates, model sizes
  kWithConfig,  // all except kernels, machine, shares by class, memory parts and long lists (table "briefs")
  kWhole
};

// The smallest extent that contains the column. `column` is the tag of a metric, or the path of a field.
Extent extent_of(std::string_view column);

namespace listing {

// SQL that creates and maintains two tables over `records`: `listing`, with fields as columns, and `briefs`, with the
// JSON for Extent::kWithConfig. A store's schema depends on this text: to list other fields, raise the schema version
// (record/store_schema.h).
std::string schema();

// The query for the records whose ids are in the JSON array ?1, in that order.
std::string select(Extent extent);

// Reads a row of the query that select() returns. `record` must be new, or filled by an earlier call with the same
// extent. Returns false if the row does not contain a valid record, or lacks the time of the record's pass; the full
// record must then be read.
bool read(const sqlite::Statement& row, Extent extent, Record& record);

}  // namespace listing
}  // namespace laptime
