// Records as comma-separated values (RFC 4180).
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "record/record.h"
#include "report/records.h"
#include "table/text.h"

namespace laptime {

// With the default columns the narrow form (narrow.h). With `all` one for every leaf of the records' JSON, named by its
// dotted path as filters name it; a list of numbers or texts is one cell of JSON, a list of objects (phases, kernels)
// is left out. With other columns just those. Numbers are exact and without units. Lines end in CR LF. Control bytes
// are escaped, and a text that a spreadsheet would run as a formula starts with an apostrophe.
std::string csv(std::span<const Record> records, std::string_view columns = "default");
void csv(const Records& records, std::string_view columns, const TextSink& sink);

}  // namespace laptime
