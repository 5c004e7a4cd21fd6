// page_html: records as one page that needs nothing but itself.
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
  std::vector<std::optional<StepTrace>> traces;  // of each record
  TrainingBudget budget{};                       // of the training whose time the page tells
};

// An HTML file with its style, scripts and chart library inside. Its content security policy allows these scripts by
// their hashes and nothing from outside. Texts of records stand in one block of JSON and become text nodes. The input
// must not be empty.
std::string page_html(const PageInput& input);

// The block of JSON alone.
std::string page_data(const PageInput& input);

}  // namespace laptime
