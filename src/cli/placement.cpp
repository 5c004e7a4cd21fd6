// Reads the variables of a Slurm job, and picks the points of a part.
#include "cli/placement.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "cli/inputs.h"

namespace laptime {
namespace {

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

SlurmJob slurm_job() {
  return {.job_id = variable("SLURM_JOB_ID"),
          .cpus_per_task = variable("SLURM_CPUS_PER_TASK"),
          .cpus_on_node = variable("SLURM_CPUS_ON_NODE"),
          .task_id = variable("SLURM_ARRAY_TASK_ID"),
          .task_min = variable("SLURM_ARRAY_TASK_MIN"),
          .task_count = variable("SLURM_ARRAY_TASK_COUNT")};
}

}  // namespace

std::optional<Launcher> launcher_of(const LaunchOptions& options) {
  if (options.launcher.empty()) {
    if (options.jobs)
      throw Error("--jobs needs --launcher: points that run on one machine at once would disturb each other");
    return std::nullopt;
  }
  return Launcher{.words = parse_launcher("--launcher", options.launcher, slurm_job()),
                  .program = std::filesystem::read_symlink("/proc/self/exe").string(),
                  .jobs = static_cast<size_t>(options.jobs.value_or(1))};
}

std::vector<ResolvedPoint> placed_points(const Sweep& sweep, const LaunchOptions& options) {
  const RunsOn where = options.launcher.empty() ? RunsOn::kThisMachine : RunsOn::kOtherMachines;
  std::vector<SweepPoint> points = points_of(sweep);
  if (options.part.empty()) return checked_points(sweep, std::move(points), {}, where);
  const SweepPart part = parse_part("--part", options.part, slurm_job());
  if (sweep.output.store.empty())
    throw Error::format(
        "--part {}/{}: give the part a store of its own, such as --store part{}.sqlite; laptime import "
        "brings the parts together",
        part.index, part.count, part.index);
  std::vector<SweepPoint> chosen;
  for (size_t i = 0; i < points.size(); ++i) {
    if (part.has(i)) chosen.push_back(std::move(points[i]));
  }
  return chosen.empty() ? std::vector<ResolvedPoint>() : checked_points(sweep, std::move(chosen), {}, where);
}

}  // namespace laptime
