// Which points of a sweep run, and where: --launcher, --jobs and --part.
#pragma once

#include <optional>
#include <vector>

#include "config/launch_options.h"
#include "config/sweep.h"
#include "prepare/resolved_point.h"
#include "sweep/launched_sweep.h"

namespace laptime {

// The launcher that the options and the Slurm job around this process ask for; none if points run here. Error for
// --jobs without a launcher.
std::optional<Launcher> launcher_of(const LaunchOptions& options);

// The points of the sweep, or of the part of it that the options ask for, checked as checked_points does. Empty if the
// sweep has fewer points than parts. Error for a part without a store of its own.
std::vector<ResolvedPoint> placed_points(const Sweep& sweep, const LaunchOptions& options);

}  // namespace laptime
