// laptime verify: compares this engine with stored values of PyTorch.
#pragma once

#include <string>
#include <vector>

#include "cli/command.h"
#include "config/run_config.h"

namespace laptime {

struct VerifyOptions {
  bool verbose = false;
  bool tf32 = false;

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    visit(own_option("Output", "verbose", "every comparison"), self.verbose);
    visit(own_option("Arithmetic", "tf32",
                     "products of float32 in tf32, which a "
                     "GPU has, with limits of their own, instead of the types of the file"),
          self.tf32);
  }
};

struct VerifyCommand {
  std::vector<std::string> files;
  RunConfig machine;  // only the options of the engine (Option::configures_engine) are the user's
  VerifyOptions options;
  std::string store;  // where kernel choices are read from, as --store says
};

VerifyCommand parse_verify(const CommandWords& words);

}  // namespace laptime
