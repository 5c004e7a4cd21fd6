// Prints the manual page.
#include "cli/commands/man.h"

#include <unistd.h>

#include "cli/destination.h"
#include "cli/man_page.h"

namespace laptime {

constinit const Command kMan{
    .name = "man",
    .arguments = "",
    .summary = "the manual page; to read it: laptime man | man -l -",
    .details = "",
    .options = [] { return std::vector<OptionRow>(); },
    .parse = [](const CommandWords& words) -> CommandAction {
      reject_positionals(words);
      return [] {
        write_all(STDOUT_FILENO, man_page(), kStandardOutput);
        return ExitCode::kOk;
      };
    },
};

}  // namespace laptime
