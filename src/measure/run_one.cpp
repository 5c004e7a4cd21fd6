// Runs one point: device, preparation, kernel trial, measurement and record.
#include "measure/run_one.h"

#include <algorithm>
#include <new>
#include <utility>

#include "base/cores.h"
#include "base/error.h"
#include "base/json.h"
#include "comm/agreement.h"
#include "config/fields_json.h"
#include "distribution/median.h"
#include "measure/describe.h"
#include "measure/kernel_trial.h"
#include "measure/limits.h"
#include "measure/make_record.h"
#include "measure/make_trace.h"
#include "measure/measure.h"
#include "measure/reported_time.h"
#include "model/parameters.h"
#include "prepare/time_forecast.h"

namespace laptime {
namespace {

class Point {
 public:
  Point(const RunConfig& config, const MachineKnowledge& known, const PointHooks& hooks, const TraceRequest& trace,
        PointResult& result)
      : config_(config),
        known_(known),
        hooks_(hooks),
        trace_(trace),
        record_(result.record),
        learned_(result.learned),
        result_trace_(result.trace) {}

  void plan(const Device& device) {
    describe_device(device, record_);
    prepare_checked(device);
  }

  void run(const Device& device) {
    key_ = device_key(device);
    describe_device(device, record_);
    const std::unique_ptr<Backend> backend = device.open(hooks_.group == nullptr ? 0 : local_rank(*hooks_.group));
    if (hooks_.group != nullptr) backend->join(*hooks_.group);
    const Prepared prepared = prepare_with_trial(device, *backend);
    const auto predicted = record_.prediction.time.find(time_key(config_.pass));
    const Seconds expected_step{predicted == record_.prediction.time.end() ? 0 : predicted->second};
    Measurement measurement = measure(prepared, *backend, hooks_, trace_, expected_step);
    if (measurement.trace) {
      result_trace_ = std::move(measurement.trace);
      result_trace_->cache_bytes = device.cache_bytes ? device.cache_bytes : cache_bytes(device.threads.value_or(1));
      add_predicted_rates(device, *result_trace_);
      if (device.computes) {
        result_trace_->datasheet_flops = device.datasheet_flops;
        result_trace_->datasheet_bandwidth = device.datasheet_bandwidth;
      }
    }
    if (measurement.finite && !measurement.interrupted() && rank() == 0) {
      std::vector<MeasuredPeak> peaks;
      const std::vector<double> samples = per_sample(measurement.sampling, reported_time(prepared.plan, config_.pass));
      const std::string disturbance =
          disturbance_of(measurement, samples, result_trace_, device.threads, config_.ranks);
      const auto ranks = static_cast<double>(config_.ranks);
      const double flops = model_flops(config_.pass, summarize(config_.step_model()).forward_flops);
      const double reached = std::max(flops / ranks / median(samples), measurement.products.flops_per_second);
      const LimitsRequest request{.reached = reached,
                                  .bandwidth = trace_.wanted,
                                  .reached_bandwidth = result_trace_ ? memory_bandwidth_reached(*result_trace_) : 0,
                                  .disturbed = !disturbance.empty()};
      measurement.limits = measure_limits(*backend, device.product_factors, request, known_.peaks, peaks);
      if (result_trace_ && device.computes) {
        result_trace_->peak_flops = measurement.limits.product_flops;
        result_trace_->bandwidth = measurement.limits.bandwidth;
      }
      if (measurement.limits.product_flops) *measurement.limits.product_flops *= ranks;  // measured on one rank
      add_learned(peaks, learned_.peaks);
      for (LaunchCost& cost : measurement.costs) {
        cost.threads = device.threads.value_or(0);
        cost.disturbance = disturbance;
      }
      if (!config_.delay) add_learned(measurement.costs, learned_.launch_costs);
    }
    record_ = make_record(std::move(record_), prepared, measurement);
  }

 private:
  int64_t rank() const { return hooks_.group == nullptr ? 0 : hooks_.group->rank(); }

  // All ranks run the kernels that rank 0 has chosen. Otherwise the last bits of the results would depend on which rank
  // is faster.
  Prepared prepare_as_rank_0(const Device& device) {
    Group& group = *hooks_.group;
    MachineKnowledge chosen;
    chosen.kernel_choices = known_.kernel_choices;
    const std::string sent = broadcast(group, rank() == 0 ? to_json(chosen).dump() : std::string());
    if (rank() != 0) known_ = from_json<MachineKnowledge>(Json::parse(sent), "kernel choices of rank 0");
    return prepare_checked(device);
  }

  void report(const std::string& stage) const {
    if (hooks_.progress) hooks_.progress({.stage = stage});
  }

  // Appends `items` to `learned`, adding this device's key and the point's date.
  template <class Item>
  void add_learned(std::vector<Item>& items, std::vector<Item>& learned) const {
    for (Item& item : items) {
      item.device = key_;
      item.created = record_.created;
      learned.push_back(item);
    }
  }

  Prepared prepare_checked(const Device& device) {
    Prepared prepared = prepare(config_, device, known_, {.outputs = {.rank = rank()}});
    record_.memory = prepared.memory;
    if (trace_.wanted) result_trace_ = trace_of(prepared.plan);
    prepared.require_fit();
    predict_time(prepared);
    if (hooks_.planned) hooks_.planned(record_);
    return prepared;
  }

  void predict_time(const Prepared& prepared) {
    const auto forecast = TimeForecast::of(prepared.device, known_);
    if (!forecast) return;
    Prediction prediction = predict(*forecast, prepared.plan, forecast->of(prepared.plan), config_.pass);
    if (prepared.device.computes) {
      record_.prediction = std::move(prediction);
    } else {  // the record's times are the prediction itself
      record_.prediction.low = prediction.low;
      record_.prediction.high = prediction.high;
    }
  }

  // After a trial, the point is planned again, because the chosen kernels may need other workspaces. If the new plan
  // recomputes differently, its new signatures are tried, too.
  Prepared prepare_with_trial(const Device& device, Backend& backend) {
    if (rank() != 0) return prepare_as_rank_0(device);
    LapTimer laps(backend);
    report("plan");
    Prepared prepared = prepare_checked(device);
    record_.setup.plan = laps.next();
    report("kernel trial");
    while (backend.computes()) {
      TriedKernels tried = try_kernels(prepared, backend);
      if (tried.empty()) break;
      add_learned(tried.raced, learned_.kernel_choices);
      tried.add_to(known_.kernel_choices);
      prepared = prepare_checked(device);
    }
    record_.setup.kernel_trial = laps.next();
    return hooks_.group == nullptr ? prepared : prepare_as_rank_0(device);
  }

  const RunConfig& config_;
  MachineKnowledge known_;
  const PointHooks& hooks_;
  const TraceRequest& trace_;
  Record& record_;
  MachineKnowledge& learned_;
  std::optional<StepTrace>& result_trace_;
  std::string key_;
};

void fail(Record& record, Status status, const std::string& reason) {
  record.status = status;
  record.reason = reason;
}

// Does a part of the work on the point, and reports its errors as the status and reason of the record.
PointResult result_of(void (Point::*work)(const Device&), const ResolvedPoint& point, const MachineKnowledge& known,
                      const PointHooks& hooks, const TraceRequest& trace, std::optional<Record> described) {
  PointResult result{described ? std::move(*described) : describe_point(point), {}, {}};
  Record& record = result.record;
  const bool is_reported = hooks.group == nullptr || hooks.group->rank() == 0;
  try {
    if (point.device) {
      Point of_config(point.config, known, hooks, trace, result);
      (of_config.*work)(*point.device);
    } else {
      fail(record, Status::kUnsupported, point.refusal);
    }
  } catch (const OutOfMemory& error) {
    if (!is_reported) throw;
    fail(record, Status::kOutOfMemory, error.what());
    if (error.bytes_requested() > 0) record.bytes_requested = error.bytes_requested();  // 0: unknown
    record.bytes_available = error.bytes_available();
  } catch (const std::bad_alloc&) {
    if (!is_reported) throw;
    fail(record, Status::kOutOfMemory,
         "the program itself could not allocate memory; use a smaller model, batch or context");
  } catch (const Error& error) {
    if (!is_reported) throw;
    fail(record, Status::kFailed, error.what());
  }
  return result;
}

}  // namespace

PointResult run_one(const ResolvedPoint& point, const MachineKnowledge& known, const PointHooks& hooks,
                    const TraceRequest& trace, std::optional<Record> described) {
  return result_of(&Point::run, point, known, hooks, trace, std::move(described));
}

PointResult plan_one(const ResolvedPoint& point, const MachineKnowledge& known, const TraceRequest& trace,
                     std::optional<Record> described) {
  return result_of(&Point::plan, point, known, {}, trace, std::move(described));
}

}  // namespace laptime
