// The bootstrap over processes and their samples, and Student's t.
#include "distribution/process_ratio.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "base/ranges.h"
#include "distribution/median.h"
#include "distribution/moments.h"
#include "distribution/samples.h"

namespace laptime {
namespace {

constexpr int64_t kNearlyNormal = 200;  // with at least this many degrees of freedom, Student's t counts as normal

bool has_times(ProcessSamples processes) {
  const auto is_time = [](double seconds) { return seconds > 0 && std::isfinite(seconds); };
  return !processes.empty() && std::all_of(processes.begin(), processes.end(), [&](const std::vector<double>& samples) {
    return !samples.empty() && std::all_of(samples.begin(), samples.end(), is_time);
  });
}

size_t sample_count(ProcessSamples processes) {
  return std::accumulate(processes.begin(), processes.end(), size_t{0},
                         [](size_t sum, const std::vector<double>& samples) { return sum + samples.size(); });
}

// Returns the median; reorders `values`.
double quick_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

// The logarithm of the median of each process.
std::vector<double> levels_of(ProcessSamples processes) {
  return mapped(processes, [](const std::vector<double>& samples) { return std::log(median(samples)); });
}

std::vector<double> resampled_levels(ProcessSamples processes, uint64_t& counter) {
  std::vector<double> levels;
  levels.reserve(processes.size());
  std::vector<double> resample;
  for (size_t i = 0; i < processes.size(); ++i) {
    const std::vector<double>& samples = processes[draw_below(processes.size(), counter)];
    resample.clear();
    for (size_t k = 0; k < samples.size(); ++k) resample.push_back(samples[draw_below(samples.size(), counter)]);
    levels.push_back(std::log(quick_median(resample)));
  }
  return levels;
}

double median_difference(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<double> differences;
  differences.reserve(a.size() * b.size());
  for (const double of_a : a) {
    for (const double of_b : b) differences.push_back(of_b - of_a);
  }
  return quick_median(differences);
}

double variance_of(const std::vector<double>& values) {
  const double deviation = moments_of_sorted(sorted_samples(values)).std_sample.value_or(0);
  return deviation * deviation;
}

double bootstrap_error(ProcessSamples a, ProcessSamples b) {
  constexpr size_t kWork = 20'000'000;  // total draws and differences; bounds the time for very many processes
  const size_t work = sample_count(a) + sample_count(b) + a.size() * b.size();
  const size_t resamples = std::clamp<size_t>(kWork / work, 200, 1000);
  std::vector<double> differences;
  differences.reserve(resamples);
  uint64_t counter = 0;
  for (size_t i = 0; i < resamples; ++i) {
    const std::vector<double> of_a = resampled_levels(a, counter);
    differences.push_back(median_difference(of_a, resampled_levels(b, counter)));
  }
  const auto fewest = static_cast<double>(std::min(a.size(), b.size()));
  return std::sqrt(variance_of(differences) * fewest / (fewest - 1));
}

// Degrees of freedom according to Welch and Satterthwaite, rounded down.
int64_t degrees_of_freedom(const std::vector<double>& a, const std::vector<double>& b) {
  const auto count_a = static_cast<double>(a.size());
  const auto count_b = static_cast<double>(b.size());
  const double of_a = variance_of(a) / count_a;
  const double of_b = variance_of(b) / count_b;
  const double below = of_a * of_a / (count_a - 1) + of_b * of_b / (count_b - 1);
  if (!(below > 0)) return std::ssize(a) + std::ssize(b) - 2;
  return std::clamp(static_cast<int64_t>((of_a + of_b) * (of_a + of_b) / below), int64_t{1}, kNearlyNormal);
}

// The variance of the mean log time of one side that has too few processes to show how they differ. Assumes that
// processes vary as much as the samples within a process, with a standard deviation of at least kAssumedSpread.
double assumed_variance(ProcessSamples processes) {
  double squares = 0;
  double freedom = 0;
  for (const std::vector<double>& samples : processes) {
    const std::vector<double> logs = mapped(samples, [](double seconds) { return std::log(seconds); });
    const auto count = static_cast<double>(logs.size() - 1);
    squares += variance_of(logs) * count;
    freedom += count;
  }
  const double within = freedom > 0 ? squares / freedom : 0;
  return std::max(kAssumedSpread * kAssumedSpread, within) / static_cast<double>(processes.size());
}

}  // namespace

double two_sided_t(double error, int64_t degrees_of_freedom) {
  const int64_t freedom = std::clamp(degrees_of_freedom, int64_t{1}, kNearlyNormal);
  // P(|T| < t) with t = sqrt(freedom) tan(angle): Abramowitz and Stegun, 26.7.3 and 26.7.4.
  const auto inside = [&](double angle) {
    const double cosine = std::cos(angle);
    const bool is_odd = freedom % 2 != 0;
    double term = is_odd ? cosine : 1;
    double sum = is_odd && freedom == 1 ? 0 : term;
    for (int64_t i = is_odd ? 3 : 2; i <= freedom - 2; i += 2) {
      term *= cosine * cosine * static_cast<double>(i - 1) / static_cast<double>(i);
      sum += term;
    }
    return is_odd ? 2 / std::numbers::pi * (angle + std::sin(angle) * sum) : std::sin(angle) * sum;
  };
  double low = 0;
  double high = std::numbers::pi / 2;
  constexpr int kHalvings = 60;
  for (int i = 0; i < kHalvings; ++i) {
    const double angle = (low + high) / 2;
    (inside(angle) < 1 - error ? low : high) = angle;
  }
  return std::sqrt(static_cast<double>(freedom)) * std::tan(low);
}

std::optional<ProcessRatio> process_ratio(ProcessSamples a, ProcessSamples b, double error) {
  if (!has_times(a) || !has_times(b)) return std::nullopt;
  const std::vector<double> levels_a = levels_of(a);
  const std::vector<double> levels_b = levels_of(b);
  const double difference = median_difference(levels_a, levels_b);
  ProcessRatio result{.ratio = std::exp(difference), .interval = {}};
  double half_width = 0;
  if (std::min(std::ssize(a), std::ssize(b)) >= kFewestProcesses) {
    half_width = two_sided_t(error, degrees_of_freedom(levels_a, levels_b)) * bootstrap_error(a, b);
  } else {
    const auto fewest = static_cast<int64_t>(std::min(sample_count(a), sample_count(b)));
    if (fewest < kFewestForInterval) return result;
    half_width = two_sided_t(error, kNearlyNormal) * std::sqrt(assumed_variance(a) + assumed_variance(b));
  }
  result.interval = Interval{std::exp(difference - half_width), std::exp(difference + half_width)};
  return result;
}

}  // namespace laptime
