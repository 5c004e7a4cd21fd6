// laptime export: writes stored records in the formats of other tools.
#pragma once

#include <string>

#include "cli/command.h"
#include "cli/commands/show.h"
#include "config/output_config.h"
#include "export/formats.h"

namespace laptime {

struct ExportCommand {
  const ExportFormat* format = nullptr;
  std::string filter;  // empty: every record
  bool newest = false;
  ShowOptions selection;
  ExportOptions options;
  OutputConfig output;  // of it only the store and the file
};

ExportCommand parse_export(const CommandWords& words);

}  // namespace laptime
