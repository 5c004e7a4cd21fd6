// Distinctions between records of one name: label, build, threads or any other option.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "record/record.h"

namespace laptime {

using RecordPointers = std::vector<const Record*>;
using RecordFacts = std::vector<std::pair<std::string, std::string>>;  // key and value

// For each record its label, build and options, without those that are the same in all records.
// Options that say how long to measure do not count.
std::vector<RecordFacts> differing_facts(const RecordPointers& records);

// For each record what tells it from others of its name, as an end of that name: "/threads:2/build:0123".
std::vector<std::string> distinctions(const RecordPointers& records);

}  // namespace laptime
