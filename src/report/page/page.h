// page_html: records as one page that needs nothing but itself.
#pragma once

#include <string>

#include "report/page/page_view.h"

namespace laptime {

// An HTML file with styles, scripts and the chart library in it. Its content security policy allows these scripts by
// their hashes and nothing from outside. Texts of records stand in one block of JSON and become text nodes. The input
// must not be empty.
std::string page_html(const PageInput& input);

// The block of JSON alone.
std::string page_data(const PageInput& input);

}  // namespace laptime
