// What the cells of the column sets are read from.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "report/columns.h"

namespace laptime::cells {

using Read = std::function<Json(const Row& row, std::string_view phase)>;

Json json_of(const std::optional<double>& value);

// The time of a phase, or of the pass that was asked for; null where there is none.
const TimeStats* time_of(const Record& record, std::string_view phase);

// From that time; null where there is no sample.
Read from_time(const std::function<Json(const TimeStats&)>& figure);
Read mean_of_time();
Read std_of_time();  // of the population

// From the time of the phase of this name, whatever pass was asked for.
Read from_phase(std::string_view phase, std::optional<double> (*figure)(const TimeStats&));

Read named(std::string_view column);  // as Row::value
Read first_known(std::string_view column, std::string_view otherwise);
Read whether(bool (*holds)(const Record&));  // "True" or "False", as the source documents have it

Json label_or_name(const Row& row, std::string_view phase);

// The arithmetic that ran in few words: "float32", "float32 split", "bfloat16 autocast".
Json arithmetic_of(const Row& row, std::string_view phase);

// Steps that were taken, else those that were asked for.
Json warmup_of(const Row& row, std::string_view phase);
Json steps_of(const Row& row, std::string_view phase);

Column words(std::string title, Read read, size_t width = 6);  // a column of text
Column figure(std::string title, Read read);                   // a column of numbers
Column quantity(std::string title, Unit unit, Read read);      // of numbers that people read with their unit
Column setting(Column column);                                 // the same as one by which rows are told apart

// Which standard deviation a column has, as a note below its table.
Column of_population(Column column);
Column of_sample(Column column);

}  // namespace laptime::cells
