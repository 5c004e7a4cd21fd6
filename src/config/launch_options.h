// LaunchOptions: which part of a sweep a command runs, and how points are placed on other machines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/option.h"

namespace laptime {

// One of `count` parts of a sweep: every count-th point, starting with the index-th. Together the parts are the whole
// sweep.
struct SweepPart {
  int64_t index = 1;  // 1 to count
  int64_t count = 1;

  bool has(size_t point) const { return static_cast<int64_t>(point % static_cast<size_t>(count)) == index - 1; }
  bool operator==(const SweepPart&) const = default;
};

// The environment variables of a Slurm job that laptime reads; empty outside a job.
struct SlurmJob {
  std::string job_id{};         // SLURM_JOB_ID
  std::string cpus_per_task{};  // SLURM_CPUS_PER_TASK
  std::string cpus_on_node{};   // SLURM_CPUS_ON_NODE
  std::string task_id{};        // SLURM_ARRAY_TASK_ID
  std::string task_min{};       // SLURM_ARRAY_TASK_MIN
  std::string task_count{};     // SLURM_ARRAY_TASK_COUNT
};

inline constexpr std::string_view kSlurm = "slurm";

// Parses "2/8"; throws Error unless the text is two whole numbers with 1 <= first <= second <= 1000000. For "slurm",
// the part is the task of the job array in `job`; throws Error unless the tasks are numbered from 0 or 1 without gaps.
SweepPart parse_part(std::string_view where, std::string_view text, const SlurmJob& job);

// Splits a command into words like a shell: at spaces and tabs outside single and double quotes. "slurm" is srun with
// options for `job`. Throws Error if a quote is not closed or there is no command.
std::vector<std::string> parse_launcher(std::string_view where, std::string_view text, const SlurmJob& job);

std::string canonical_part(std::string_view where, std::string_view text);
std::string canonical_launcher(std::string_view where, std::string_view text);

struct LaunchOptions {
  std::string launcher;         // empty: points run on this machine
  std::optional<int64_t> jobs;  // points that the launcher runs at the same time; none: 1
  std::string part;             // empty: the whole sweep

  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kGroup = "Cluster";
    visit(
        Option{.flag = "launcher",
               .key = "launcher",
               .group = kGroup,
               .help = "command that places each point on another machine, such as 'srun -N1 -n1 --exclusive' or 'ssh "
                       "HOST'; slurm: srun with the options in docs/cluster.md",
               .otherwise = "none: points run here",
               .axis = false,
               .changes_result = false,
               .value = "COMMAND|slurm",
               .canonical = canonical_launcher},
        self.launcher);
    visit(Option{.flag = "jobs",
                 .key = "jobs",
                 .group = kGroup,
                 .help = "points that the launcher runs at the same time",
                 .empty = "1",
                 .min = 1,
                 .max = 1024,
                 .axis = false,
                 .changes_result = false},
          self.jobs);
    visit(Option{.flag = "part",
                 .key = "part",
                 .group = kGroup,
                 .help = "run every n-th point starting at the k-th; each part needs its own --store; slurm: take k "
                         "and n from the job array",
                 .otherwise = "the whole sweep",
                 .axis = false,
                 .changes_result = false,
                 .value = "K/N|slurm",
                 .canonical = canonical_part},
          self.part);
  }
};

}  // namespace laptime
