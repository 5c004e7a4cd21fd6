// Looks up launch costs, estimates unknown ones from the nearest known sizes, and defines the keys under which
// times are stored. The key of the forward phase of an inference pass is "inference".
#include "prepare/time_forecast.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "distribution/median.h"
#include "predict/launch_times.h"

namespace laptime {

std::string time_key(Pass pass) { return text_of(Option{}, pass); }

std::string time_key(Phase phase, Pass pass) {
  return phase == Phase::kForward && pass == Pass::kInference ? time_key(pass) : name_of(phase);
}

namespace {

// Number of nearest measured sizes to use, weighted by the inverse square of their distance.
constexpr size_t kNeighbours = 4;

std::string op_of(const std::string& kind) { return kind.substr(0, kind.find(' ')); }

}  // namespace

std::string kind_of(const Signature& signature) {
  std::string kind = signature.op->name;
  char separator = ' ';
  for (const TensorType& operand : signature.in) {
    kind += separator;
    kind += name_of(operand.dtype);
    if (!operand.layout.is_contiguous()) kind += '~';
    separator = ',';
  }
  return kind;
}

double TimeForecast::Roofline::seconds(double flops, double bytes) const {
  return std::max({flops / flops_per_second, bytes / bytes_per_second, shortest});
}

std::optional<TimeForecast> TimeForecast::of(const Device& device, const MachineKnowledge& known) {
  if (device.launch_times) {
    TimeForecast forecast;
    forecast.described_ = device.launch_times;
    return forecast;
  }
  const int64_t threads = device.threads.value_or(0);
  std::vector<const LaunchCost*> costs;
  for (const LaunchCost& cost : known.launch_costs) {
    if (cost.threads == threads && cost.seconds > 0) costs.push_back(&cost);
  }
  if (costs.empty()) return std::nullopt;
  TimeForecast forecast(std::move(costs));
  forecast.errors_ = known.prediction_errors;
  std::sort(forecast.errors_.begin(), forecast.errors_.end());
  return forecast;
}

// Builds the roofline from the highest rates of any launch. The roofline is only a common scale for sizes; the forecast
// uses the distance of launches of one kind from the roofline.
TimeForecast::TimeForecast(std::vector<const LaunchCost*> costs)
    : disturbances_(std::make_shared<std::set<std::string>>()) {
  roofline_.shortest = costs.front()->seconds;
  for (const LaunchCost* cost : costs) {
    roofline_.flops_per_second = std::max(roofline_.flops_per_second, cost->flops / cost->seconds);
    roofline_.bytes_per_second = std::max(roofline_.bytes_per_second, static_cast<double>(cost->bytes) / cost->seconds);
    roofline_.shortest = std::min(roofline_.shortest, cost->seconds);
    newest_ = std::max(newest_, cost->created);
  }
  roofline_.flops_per_second = std::max(roofline_.flops_per_second, 1.0);
  roofline_.bytes_per_second = std::max(roofline_.bytes_per_second, 1.0);
  for (const LaunchCost* cost : costs) {
    const auto bytes = static_cast<double>(cost->bytes);
    const std::string_view disturbance = *disturbances_->insert(cost->disturbance).first;
    const Sample sample{std::log1p(cost->flops), std::log1p(bytes),
                        std::log(cost->seconds / roofline_.seconds(cost->flops, bytes)), disturbance};
    costs_[cost->signature] = {cost->seconds, disturbance};
    by_kind_[cost->kind].push_back(sample);
    by_op_[op_of(cost->kind)].push_back(sample);
    all_.push_back(sample);
  }
}

// Averages the logarithm of the slowdown over the nearest samples.
ForecastLaunch TimeForecast::alike(const std::vector<Sample>& samples, double flops, double bytes) const {
  std::vector<std::pair<double, const Sample*>> near;  // squared distance of each sample, and the sample
  near.reserve(samples.size());
  const double log_flops = std::log1p(flops);
  const double log_bytes = std::log1p(bytes);
  for (const Sample& sample : samples) {
    const double x = sample.log_flops - log_flops;
    const double y = sample.log_bytes - log_bytes;
    near.emplace_back(x * x + y * y, &sample);
  }
  const size_t count = std::min(kNeighbours, near.size());
  const auto is_nearer = [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->log_slowdown < b.second->log_slowdown;
  };
  std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end(), is_nearer);
  // Added to squared distances, so that measurements of equal sizes get equal and finite weights.
  constexpr double kSameSize = 1e-4;
  double weights = 0;
  double sum = 0;
  std::map<std::string_view, double> disturbed;  // cause -> sum of weights
  for (size_t i = 0; i < count; ++i) {
    const double weight = 1 / (near[i].first + kSameSize);
    const Sample& sample = *near[i].second;
    weights += weight;
    sum += weight * sample.log_slowdown;
    if (!sample.disturbance.empty()) disturbed[sample.disturbance] += weight;
  }
  ForecastLaunch launch{roofline_.seconds(flops, bytes) * std::exp(sum / weights), CostSource::kAlike};
  double most = 0;
  for (const auto& [disturbance, weight] : disturbed) {
    launch.disturbed += weight / weights;
    if (weight > most) launch.disturbance = disturbance;
    most = std::max(most, weight);
  }
  return launch;
}

ForecastLaunch TimeForecast::of(const PlanStep& step) const {
  const Signature signature = step.signature();
  if (const auto known = costs_.find(signature.text()); known != costs_.end())
    return {known->second.seconds, CostSource::kMeasured, known->second.disturbance.empty() ? 0.0 : 1.0,
            known->second.disturbance};
  const std::string kind = kind_of(signature);
  const auto same_kind = by_kind_.find(kind);
  const auto same_op = by_op_.find(op_of(kind));
  const std::vector<Sample>& samples = same_kind != by_kind_.end() ? same_kind->second
                                       : same_op != by_op_.end()   ? same_op->second
                                                                   : all_;
  return alike(samples, step.flops, static_cast<double>(step.bytes));
}

std::vector<ForecastLaunch> TimeForecast::described(const Plan& plan) const {
  std::vector<ForecastLaunch> launches;
  launches.reserve(plan.steps.size());
  double kernels = 0;
  double hosts = 0;
  double paused = 0;
  double before = 0;
  for (const PlanStep& step : plan.steps) {
    kernels +=
        described_->kernel(work_of(*step.kernel->op, step.in, step.out, step.flops, static_cast<double>(step.bytes)));
    hosts += described_->host(step.phase);
    paused += step.pause.count();  // the pause delays device and host
    const double now = described_->together(kernels, hosts) + paused;
    launches.push_back({now - before, CostSource::kDescribed});
    before = now;
  }
  return launches;
}

std::vector<ForecastLaunch> TimeForecast::of(const Plan& plan) const {
  if (described_) return described(plan);
  std::vector<ForecastLaunch> launches;
  launches.reserve(plan.steps.size());
  std::unordered_map<std::string, ForecastLaunch> estimates;  // by signature, because layers repeat launches
  double now = 0;                                             // end time of the computation so far
  std::map<int, double> ends;                                 // step -> end time of its communication
  for (int i = 0; i < std::ssize(plan.steps); ++i) {
    const PlanStep& step = plan.steps[static_cast<size_t>(i)];
    ForecastLaunch launch{.source = CostSource::kMeasured};
    if (step.kernel->op->kind != OpKind::kWait) {
      const auto [estimate, is_new] = estimates.try_emplace(step.signature().text());
      if (is_new) estimate->second = of(step);
      launch = estimate->second;
    }
    if (step.queue == kCommunicationQueue) {  // overlaps with computation, and delays it only at a wait
      const double begin = ends.empty() ? now : std::max(now, ends.rbegin()->second);
      ends.emplace(i, begin + launch.seconds);
      launch.seconds = 0;
    } else {
      for (const int awaited : step.waits) launch.seconds += std::max(0.0, ends.at(awaited) - (now + launch.seconds));
    }
    launch.seconds += step.pause.count();
    now += launch.seconds;
    launches.push_back(launch);
  }
  return launches;
}

const char* TimeForecast::basis() const {
  if (!described_) return "measured launches";
  return described_->is_bound() ? "data sheet" : "reached rates";
}

KnownRuns TimeForecast::known_runs() const {
  if (described_) return described_->known_runs().value_or(KnownRuns{});
  KnownRuns runs{.figures = std::ssize(errors_)};
  if (!runs.has_interval()) return runs;
  constexpr double kTail = 0.05;  // probability of a time below the range, and of a time above it
  std::vector<double> sizes;
  for (const double error : errors_) sizes.push_back(std::abs(error));
  std::ranges::sort(sizes);
  runs.error = percentile_of_sorted(sizes, 0.5);
  // If almost all earlier predictions erred in the same direction, the range ends at the prediction.
  runs.low = std::min(1.0, 1 / (1 + percentile_of_sorted(errors_, 1 - kTail)));
  runs.high = std::max(1.0, 1 / (1 + percentile_of_sorted(errors_, kTail)));
  return runs;
}

Prediction predict(const TimeForecast& forecast, const Plan& plan, const std::vector<ForecastLaunch>& launches,
                   Pass pass) {
  Prediction prediction;
  std::array<std::array<double, kWorkClassCount>, kPhaseCount> classes{};
  double whole = 0;
  double measured = 0;
  double disturbed = 0;
  std::map<std::string_view, double> by_disturbance;  // cause -> seconds
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    const ForecastLaunch& launch = launches.at(i);
    classes.at(static_cast<size_t>(step.phase)).at(static_cast<size_t>(step.work_class)) += launch.seconds;
    whole += launch.seconds;
    if (launch.source == CostSource::kMeasured) measured += launch.seconds;
    if (launch.disturbed <= 0) continue;
    disturbed += launch.disturbed * launch.seconds;
    by_disturbance[launch.disturbance] += launch.disturbed * launch.seconds;
  }
  for (size_t phase = 0; phase < classes.size(); ++phase) {
    double sum = 0;
    for (size_t work = 0; work < classes[phase].size(); ++work) {
      const double seconds = classes[phase][work];
      if (seconds <= 0) continue;
      sum += seconds;
      prediction.classes.push_back(
          {time_key(static_cast<Phase>(phase), pass), name_of(static_cast<WorkClass>(work)), seconds, seconds / whole});
    }
    if (plan.has(static_cast<Phase>(phase))) prediction.time[time_key(static_cast<Phase>(phase), pass)] = sum;
  }
  prediction.time.try_emplace(time_key(pass), whole);
  if (const KnownRuns runs = forecast.known_runs(); runs.has_interval()) {
    const double seconds = prediction.time.at(time_key(pass));
    prediction.low = seconds * runs.low;
    prediction.high = seconds * runs.high;
    prediction.earlier = runs.figures;
    if (runs.error > 0) prediction.median_error = runs.error;
  }
  prediction.launches = static_cast<int64_t>(plan.steps.size());
  prediction.measured_share = whole > 0 ? measured / whole : 0;
  if (disturbed > 0) {
    prediction.disturbed_share = disturbed / whole;
    const auto most = std::max_element(by_disturbance.begin(), by_disturbance.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    prediction.disturbance = most->first;
  }
  prediction.from = forecast.basis();
  prediction.newest = forecast.newest();
  return prediction;
}

}  // namespace laptime
