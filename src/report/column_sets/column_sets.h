// The sets of columns that --columns knows by name; the table of names stands in report/columns.cpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/columns.h"

namespace laptime {

// Every column that a table may have by its short header.
std::vector<Column> table_columns();
// The one with this header; nullptr for none.
const Column* table_column(std::string_view header);
// The column "mean" without the standard deviation, where that has a column of its own.
Column mean_alone();

std::vector<Column> default_columns();
std::vector<Column> all_columns();

// Mean, standard deviation of the sample, minimum and maximum of each phase, and the verdict of each row.
std::vector<Column> columns_mean_std();

// The tables of the source documents, with their names, order and kind of standard deviation.
std::vector<Column> columns_2024();
std::vector<Column> columns_2025_ab();
std::vector<Column> columns_2025_c();
std::vector<Column> columns_2025_d();
std::vector<Column> columns_2025_d_attention();

// Attention alone, for people: the median of each phase, the bytes of weights, inputs and mask, and what each phase
// adds.
std::vector<Column> columns_attention();

// What warm-up does to mean and standard deviation, with the first samples.
std::vector<Column> columns_first_steps();

// Predicted beside measured.
std::vector<Column> columns_prediction();
// "16 predicted times: error 6.1 % in the median, at most 14.0 %; bytes at most 0.10 %". Empty where none has both.
std::string prediction_summary(const Records& records);

// The column with this header in a table of a source document; nullptr for none.
const Column* document_column(std::string_view header);

}  // namespace laptime
