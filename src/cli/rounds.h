// measure_rounds: two points in turn, in processes of their own, until their ratio is known.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/command.h"
#include "points/expand.h"
#include "report/comparison.h"

namespace laptime {

struct RoundsRequest {
  SweepPoint a, b;  // valid points. Where one gives its warm-up or steps, each process takes those
  ComparedNames names;
  double margin = 0;  // rounds end when the 99 % interval is within half of it on each side
  Seconds budget{};   // for all rounds; at least kFewestRounds are made
  std::optional<std::filesystem::path> store{};
  std::string run_name;  // Record::sweep of what is stored
};

struct Rounds {
  ExitCode code = ExitCode::kOk;
  std::vector<ComparedRound> rounds;
  Seconds elapsed{};    // of the rounds
  std::string failure;  // "B: out_of_memory: ..." where a process failed, which ends the rounds
};

// Runs each point once, which chooses kernels and shows how long it takes, and then the rounds, with their progress
// shown. The points must have passed check_inputs.
Rounds measure_rounds(const RoundsRequest& request);

}  // namespace laptime
