// The listing: the columns of a record that tables and filters ask for, kept beside it in the store as columns of SQL.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "record/record.h"

namespace laptime {

namespace sqlite {
class Statement;
}

// How much of each record is read. Other fields have their default; a time has no samples, and of the losses the first
// and the last remain.
enum class Extent : uint8_t {
  kNames,       // what rows are named and grouped by: name, status, rating, model, pass, device, run, machine, date
  kListed,      // the line of a table: the time of the pass, medians of phases, memory, rates, sizes of the model
  kWithConfig,  // the brief: all but kernels, machine, classes of work and long lists, which times lack too
  kWhole
};

// The least extent in which a column, named by the tag of a metric or by its path, has its value.
Extent extent_of(std::string_view column);

namespace listing {

// SQL that makes the tables `listing`, whose columns are fields, and `briefs`, which has the JSON of
// Extent::kWithConfig, of `records`, and keeps them so. The schema of a store depends on this text: to list other
// fields, raise the schema's version (record/store_schema.h).
std::string schema();

// The query for the records whose ids are in the JSON array ?1, in its order.
std::string select(Extent extent);

// Reads a row of that query. `record` is new, or was filled by an earlier call of the same extent. False if the row
// does not hold a valid record: it must be read whole.
bool read(const sqlite::Statement& row, Extent extent, Record& record);

// SQL over the rows of the table `listing` for the value of a metric or a path. Where `is_other` holds, the record has
// a truth value, a list or an object, which SQL has not; it is empty for a column of the table.
struct StoredValue {
  std::string value;  // empty if only the record itself has it
  std::string is_other;
};
StoredValue stored_value(std::string_view name);

}  // namespace listing
}  // namespace laptime
