// Options that belong to a command rather than to a run or its output.
#pragma once

#include <string>

#include "cli/args.h"
#include "config/option.h"

namespace laptime {

// bench and explain: the file that a sweep starts from.
struct SweepSource {
  std::string config;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(Option{.flag = "config",
                 .key = "config",
                 .group = "Sweep",
                 .help = "sweep file (TOML, the same words); options given beside it override it",
                 .otherwise = "none",
                 .axis = false,
                 .value = "FILE"},
          self.config);
  }
};

struct ExplainOptions {
  Dump dump = Dump::kNone;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(Option{.flag = "dump",
                 .key = "dump",
                 .group = "Explain",
                 .help = "print the graph after each pass, or the plan, instead of the summary",
                 .axis = false},
          self.dump);
  }
};

}  // namespace laptime
