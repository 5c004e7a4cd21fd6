// laptime show: prints stored records.
#pragma once

#include <string>

#include "cli/command.h"
#include "config/output_config.h"

namespace laptime {

struct ShowCommand {
  std::string filter;  // empty: every record
  OutputConfig output;
};

ShowCommand parse_show(const CommandWords& words);

extern const Command kShow;

}  // namespace laptime
