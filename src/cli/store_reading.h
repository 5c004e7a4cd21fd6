// What commands that read a store have in common.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "cli/command.h"
#include "cli/commands/show.h"
#include "record/store.h"
#include "report/filter.h"

namespace laptime {

// Messages on records that cannot be read: the first ones, and how many more there are.
class StoreProblems {
 public:
  void add(const std::string& problem);
  ExitCode end() const;

 private:
  size_t count_ = 0;
  size_t shown_ = 0;
};

// Narrows a filter to the newest run that was asked for (cli/calibration_records.h), or to those whose name has the
// text that was given; to none where neither was. A run has the records that it took from the store with --resume too.
void narrow_to_run(Filter& filter, const Store& store, const ShowOptions& options);

// Error where both --last and --run are given. `command` is the name in the message.
void reject_last_and_run(std::string_view command, const ShowOptions& options);

}  // namespace laptime
