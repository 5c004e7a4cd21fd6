// Names of points, models, machines and dates, as tables and sentences say them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"

namespace laptime {

// The words of the name of a point, "step/model:small/mode:eager", between its slashes.
std::vector<std::string_view> words_in(std::string_view name);
// The words of the first name that every other one has too, "model:small/mode:eager"; empty for a single name.
std::string common_words(const std::vector<std::string>& names);
// The name without these words; the whole name if nothing would be left.
std::string without_words(const std::string& name, const std::string& left_out);
// "small ctx 64 compile" for "model:small/ctx:64/mode:compile".
std::string spoken_name(const std::string& name);
std::string spoken_name(const std::string& name, const std::string& left_out);  // of without_words()

// The column `model`: the named size that was asked for, and how the model that ran differs from it. A record has
// "custom" for a named size of which a dimension was changed; its name keeps the word that was given. Both functions
// read nothing but these two (Extent::kNames).
//
// "small", "small, 2 layers", "custom".
std::string model_text(const Record& record);
// What a filter finds the model by: the text and, of a changed size, also the size and "custom".
std::vector<std::string> model_words(const Record& record);

// "small, 1 layer, ctx 64, batch 2, step float32 compile · AMD EPYC, 2 threads": the point and its machine.
std::string point_line(const Record& record);

// A record of attention alone.
bool is_attention(const Record& record);

// The card that ran the record's point, such as "NVIDIA H200"; empty where the machine itself did.
std::string device_card_name(const Record& record);
// A word of the record's machine, "avx512" of "isa_used"; empty where it has none.
std::string machine_word(const Record& record, std::string_view key);
// The processor by its whole name, or "AMD EPYC 9R14" for "AMD EPYC 9R14 96-Core Processor".
std::string processor_name(const Record& record);
std::string brief_processor(std::string name);
// "2 threads"; empty where the record does not know.
std::string threads_text(const Record& record);

// The day of a date in ISO 8601, "2025-11-21", and the date to the minute, "2025-11-21 10:15 UTC".
std::string day_of(const std::string& created);
std::string minute_of(const std::string& created);

}  // namespace laptime
