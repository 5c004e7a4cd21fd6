// page_html: renders records as one self-contained page.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "config/training_options.h"
#include "record/record.h"
#include "record/step_trace.h"

namespace laptime {

struct PageInput {
  std::vector<Record> records;
  std::vector<std::optional<StepTrace>> traces;  // one per record
  TrainingBudget budget{};                       // the training run whose duration the page shows
};

// An HTML file with its style, scripts and chart library inline (filled_page). The input must not be empty.
std::string page_html(const PageInput& input);

// The data of the page, which page_html embeds as a JSON block.
Json page_data(const PageInput& input);

}  // namespace laptime
