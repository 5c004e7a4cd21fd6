// laptime verify: compares this engine with stored values of PyTorch.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "config/run_config.h"

namespace laptime {

struct VerifyCommand {
  std::vector<std::string> files;
  RunConfig machine;  // only the options of the engine (Option::configures_engine) are the user's
  std::string store;  // where kernel choices are read from, as --store says
};

VerifyCommand parse_verify(const CommandWords& words);

extern const Command kVerify;

}  // namespace laptime
