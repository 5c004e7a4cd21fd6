// Adds the records of other files to a store: of JSON documents, or of other stores.
#pragma once

#include <cstdint>
#include <string>

#include "record/store.h"

namespace laptime {

struct Imported {
  int64_t added = 0;
  int64_t known = 0;   // records that the store had
  int64_t traces = 0;  // that were added, some perhaps to known records
};

// Error with the line of the first document that is not a record; a `trace` beside the fields of a record is its trace.
void check_records(const std::string& path);

// Adds what the store lacks: a record that equals a stored one is known. Two machines may have named a run alike; the
// run of the other machine then gets its fingerprint behind the name, so that runs stay apart.
Imported import_records(Store& store, const std::string& path);

// Records that cannot be read are left out, and `problem` gets a message for each.
Imported import_store(Store& store, const Store& other, const Store::Problem& problem);

}  // namespace laptime
