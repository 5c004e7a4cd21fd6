// measure_rounds: measures two points, or one point with two programs, in turn until their ratio is known. Each
// measurement runs in a separate process.
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

// Two builds of laptime that measure one point. Nothing is stored: another version may not be able to read the store,
// and a kernel that was chosen by chance would be reused in all rounds and look like a difference.
struct ComparedPrograms {
  std::string a, b;                // names or paths, found as in a shell
  std::vector<std::string> words;  // the bench options that describe the point
};

struct RoundsRequest {
  ResolvedPoint a, b;  // valid points; a given warm-up or number of steps applies to each process
  std::optional<ComparedPrograms> programs{};  // the programs that measure the points; none: this program
  ComparedNames names;
  double margin = 0;  // rounds stop once both ends of the ratio's 99 % interval are within margin / 2 of the ratio
  Seconds budget{};   // for all rounds; at least kFewestRounds are run
  std::optional<std::filesystem::path> store{};
  std::string run_name;  // Record::sweep of the stored records
  RankPipes ranks{};     // pipes to running ranks, for points with ranks
};

struct Rounds {
  ExitCode code = ExitCode::kOk;
  std::vector<ComparedRound> rounds;
  Seconds elapsed{};    // total time of the rounds
  std::string failure;  // "B: out_of_memory: ..." if a process failed, which ends the rounds
};

// Runs each point once, to choose kernels and to learn how long a step takes. Then runs the rounds while showing
// progress. The points must have passed check_inputs.
Rounds measure_rounds(const RoundsRequest& request);

}  // namespace laptime
