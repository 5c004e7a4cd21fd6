// Records as JSON: one array, or one record per line.
#pragma once

#include <span>
#include <string>

#include "record/record.h"
#include "report/records.h"
#include "report/text.h"

namespace laptime {

// An array, a record per line, ending in a line break. ASCII alone: everything else is \u-escaped.
std::string json(std::span<const Record> records);
void json(const Records& records, const TextSink& sink);

// One line, its break included.
std::string jsonl(const Record& record);

}  // namespace laptime
