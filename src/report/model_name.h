// What the column `model` says: the named size that was asked for, and how the model that ran differs from it.
#pragma once

#include <string>
#include <vector>

#include "record/record.h"

namespace laptime {

// A record has "custom" for a named size of which a dimension was changed; its name keeps the word that was given. Both
// functions read nothing but these two (Extent::kNames).

// "small", "small, 2 layers", "custom".
std::string model_text(const Record& record);

// What a filter finds the model by: the text and, of a changed size, also the size and "custom".
std::vector<std::string> model_words(const Record& record);

}  // namespace laptime
