// laptime show: prints stored records.
#pragma once

#include <string>
#include <string_view>

#include "cli/command.h"
#include "config/output_config.h"

namespace laptime {

struct ShowOptions {
  std::string run;    // part of the name of a run; empty: every run
  bool last = false;  // the records of the last run alone that was asked for

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Records";
    visit(Option{.flag = "run",
                 .key = "run",
                 .group = kGroup,
                 .help = "records of the runs whose name has this text; --columns name,run shows the names",
                 .otherwise = "every run",
                 .axis = false,
                 .value = "TEXT"},
          self.run);
    visit(own_option(kGroup, "last", "records of the last run, apart from those of laptime calibrate"), self.last);
  }
};

struct ShowCommand {
  std::string filter;  // empty: every record
  ShowOptions options;
  OutputConfig output;
};

ShowCommand parse_show(const CommandWords& words);

}  // namespace laptime
