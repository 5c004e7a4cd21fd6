// page_html: renders records as one self-contained page. page_files: the embedded files of which pages are made.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// A file that cmake/embedded_files.cmake compiles into the program.
struct PageFile {
  std::string_view name;  // "page.css"
  std::string_view text;
  std::string_view sha256;  // hash of the text, 64 hexadecimal digits
};
std::span<const PageFile> page_files();

// The page that `script`, an embedded file, builds from its JSON block. The content security policy allows the embedded
// scripts and styles by their hashes, and nothing from outside. Text in `data` becomes text nodes.
std::string filled_page(std::string_view script, const Json& data);

}  // namespace laptime
