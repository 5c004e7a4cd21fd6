// The straight line of one point: device, prepare, trial, measure, record.
#include "measure/run_one.h"

#include <new>
#include <utility>

#include "base/error.h"
#include "measure/describe.h"
#include "measure/kernel_trial.h"
#include "measure/laps.h"
#include "measure/limits.h"
#include "measure/make_record.h"

namespace laptime {
namespace {

class Point {
 public:
  Point(const RunConfig& config, const MachineKnowledge& known, const PointHooks& hooks, PointResult& result)
      : config_(config), known_(known), hooks_(hooks), record_(result.record), learned_(result.learned) {}

  void run(const Device& device) {
    key_ = device_key(device);
    describe_device(device, record_);
    const std::unique_ptr<Backend> backend = device.open();
    const Prepared prepared = prepare_and_try(device, *backend);
    Measurement measurement = measure(prepared, *backend, hooks_);
    if (measurement.finite && !measurement.sampling.interrupted) {
      std::vector<MeasuredPeak> peaks;
      measurement.limits = measure_limits(*backend, device.product_factors, known_.peaks, peaks);
      keep(peaks, learned_.peaks);
    }
    record_ = make_record(std::move(record_), prepared, measurement);
  }

 private:
  void tell(const std::string& stage) const {
    if (hooks_.progress) hooks_.progress({.stage = stage});
  }

  // Adds what was learned to `learned`, under this device's key and the point's date.
  template <class Item>
  void keep(std::vector<Item>& items, std::vector<Item>& learned) const {
    for (Item& item : items) {
      item.device = key_;
      item.created = record_.created;
      learned.push_back(item);
    }
  }

  Prepared prepare_checked(const Device& device) {
    Prepared prepared = prepare(config_, device, known_);
    record_.memory = prepared.memory;
    prepared.require_fit();
    if (hooks_.planned) hooks_.planned(record_);
    return prepared;
  }

  // Kernels that a trial chooses have other workspaces, so what has been chosen is planned and checked again; where
  // another recomputation fits then, its signatures are tried too.
  Prepared prepare_and_try(const Device& device, Backend& backend) {
    Laps laps(backend);
    tell("plan");
    Prepared prepared = prepare_checked(device);
    record_.setup.plan = laps.next();
    tell("kernel trial");
    while (backend.computes()) {
      std::vector<KernelChoice> choices = try_kernels(prepared, backend);
      if (choices.empty()) break;
      keep(choices, learned_.kernel_choices);
      known_.kernel_choices.insert(known_.kernel_choices.end(), choices.begin(), choices.end());
      prepared = prepare_checked(device);
    }
    record_.setup.kernel_trial = laps.next();
    return prepared;
  }

  const RunConfig& config_;
  MachineKnowledge known_;
  const PointHooks& hooks_;
  Record& record_;
  MachineKnowledge& learned_;
  std::string key_;
};

void fail(Record& record, Status status, const std::string& reason) {
  record.status = status;
  record.reason = reason;
}

}  // namespace

PointResult run_one(const SweepPoint& point, const MachineKnowledge& known, const PointHooks& hooks,
                    const FindDevice& find) {
  PointResult result{describe_point(point), {}};
  Record& record = result.record;
  try {
    const std::string reason = point.invalid.empty() ? unsupported_reason(point.config) : point.invalid;
    if (reason.empty()) {
      Point(point.config, known, hooks, result).run(find(point.config));
    } else {
      fail(record, Status::kUnsupported, reason);
    }
  } catch (const OutOfMemory& error) {
    fail(record, Status::kOutOfMemory, error.what());
    record.bytes_requested = error.bytes_requested();
    record.bytes_available = error.bytes_available();
  } catch (const std::bad_alloc&) {
    fail(record, Status::kOutOfMemory, "an allocation of the program itself was refused");
  } catch (const Error& error) {
    fail(record, Status::kFailed, error.what());
  }
  return result;
}

}  // namespace laptime
