// page_html: renders records as one self-contained page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "config/training_options.h"
#include "record/record.h"
#include "record/step_trace.h"

namespace laptime {

struct PageInput {
  std::vector<Record> records;
  std::vector<std::optional<StepTrace>> traces;  // one per record
  TrainingBudget budget{};                       // the training run whose duration the page shows
};

// An HTML file with its style, scripts and chart library inline. Its content security policy allows these scripts by
// their hashes, and nothing from outside. Text from records is contained in one JSON block and becomes text nodes. The
// input must not be empty.
std::string page_html(const PageInput& input);

// Only the JSON block.
std::string page_data(const PageInput& input);

}  // namespace laptime
