// The ratio of the times of two programs, each measured in several unpaired processes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "distribution/bootstrap.h"

namespace laptime {

// With at least this many processes on each side, the variation between processes is computed from their times.
inline constexpr int64_t kFewestProcesses = 3;
// With fewer processes on a side, processes are assumed to vary as much as the samples within one process do, but with
// at least this standard deviation, as a fraction of the time.
inline constexpr double kAssumedSpread = 0.01;

struct ProcessRatio {
  double ratio = 1;  // B / A
  // None if one side has fewer than kFewestProcesses processes and either side has fewer than kFewestForInterval
  // samples.
  std::optional<Interval> interval;
};

// The samples of each process, in seconds.
using ProcessSamples = std::span<const std::vector<double>>;

// The ratio is the Hodges-Lehmann estimate: the median, over all pairs of a process of A and a process of B, of the
// ratio of their median times. A bootstrap that resamples processes and then the samples of each (Davison and Hinkley
// 1997, section 3.8; Kalibera and Jones 2013) gives the standard error of the ratio, because samples of one process
// are not independent. The interval uses Student's t with that standard error, corrected for the few processes
// (Hesterberg 2015, sections 4 and 5), and Welch's degrees of freedom. If a side has fewer than kFewestProcesses
// processes, the standard error follows from the assumed spread instead. `error` is the probability that the interval
// excludes the true ratio, 0.01 for 99 %. None if a side has no process, if a process has no sample, or if a sample is
// not a positive finite number.
std::optional<ProcessRatio> process_ratio(ProcessSamples a, ProcessSamples b, double error);

// The value that the absolute value of Student's t exceeds with probability `error`.
double two_sided_t(double error, int64_t degrees_of_freedom);

}  // namespace laptime
