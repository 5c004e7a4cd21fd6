// measure_rounds: measures two points, or one point with two programs, in turn until their ratio is known. Each
// measurement is a process of its own.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/units.h"
#include "cli/command.h"
#include "prepare/resolved_point.h"
#include "report/comparison.h"

namespace laptime {

// Two builds of laptime that measure one point. Nothing is stored: another version may not know the store, and a stored
// choice of kernels would stay for all rounds, so that a chance choice would look like a difference.
struct ComparedPrograms {
  std::string a, b;                // as a shell finds them
  std::vector<std::string> words;  // the options of bench that name the point
};

struct RoundsRequest {
  ResolvedPoint a, b;  // valid points; a point with a given warm-up or number of steps keeps them in each process
  std::optional<ComparedPrograms> programs{};  // that measure the points; none: this one
  ComparedNames names;
  double margin = 0;  // rounds stop once both ends of the 99 % interval are within half of this of the ratio
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
