// The sets of columns that --columns knows by name; the table of names stands in report/columns.cpp.
#pragma once

#include <vector>

#include "report/columns.h"

namespace laptime {

std::vector<Column> default_columns();

// The tables of the source documents, with their names, order and kind of standard deviation.
std::vector<Column> columns_2024();
std::vector<Column> columns_2025_ab();
std::vector<Column> columns_2025_c();
std::vector<Column> columns_2025_d();
std::vector<Column> columns_2025_d_attention();

// Attention alone, for people: the median of each phase, the bytes of weights, inputs and mask, and what each phase
// adds.
std::vector<Column> columns_attention();

}  // namespace laptime
