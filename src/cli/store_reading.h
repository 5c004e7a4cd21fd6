// What commands that read a store have in common.
#pragma once

#include <cstddef>
#include <string>

#include "cli/command.h"
#include "record/store.h"

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

// The run that stored the newest record.
std::string last_run(const Store& store);

}  // namespace laptime
