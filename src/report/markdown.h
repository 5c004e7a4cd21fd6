// Records as a Markdown table (GitHub's dialect).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "report/records.h"
#include "table/aligned.h"
#include "table/text.h"

namespace laptime {

// The heading and the cells of the terminal's table, with one unit in each column; a table of a source document, whose
// columns are fixed, is followed by a list of the points that are not ok. Everything that Markdown or HTML would read
// as markup is escaped.
std::string markdown(std::span<const Record> records, std::string_view columns = "default");
// `store` is the value of --store, for the commands in the notes.
void markdown(const Records& records, std::string_view columns, const TextSink& sink, std::string_view store = {});

// A table of cells that are not yet escaped, the first row its header. Leading spaces become an indent.
std::string markdown_table(const std::vector<Cells>& rows, const std::vector<bool>& right);

}  // namespace laptime
