// run_one: runs one point of a sweep in this process and returns its record. plan_one: only plans it.
#pragma once

#include <optional>

#include "measure/measure.h"
#include "prepare/resolved_point.h"
#include "record/record.h"
#include "record/step_trace.h"

namespace laptime {

struct PointResult {
  Record record;
  MachineKnowledge learned{};        // new measurements, to be stored
  std::optional<StepTrace> trace{};  // none without a request or a plan; no steps if the point did not run
};

// Errors of the point are not thrown, but reported as the record's status and reason. Memory is predicted before it is
// allocated, and again after a trial has chosen other kernels. `known` holds the stored measurements for the device_key
// of the point. The record starts from `described`, the result of describe_point; without `described`, the point is
// described here. With hooks.group, rank 0 tries kernels and makes the record, and errors of other ranks throw.
PointResult run_one(const ResolvedPoint& point, const MachineKnowledge& known, const PointHooks& hooks = {},
                    const TraceRequest& trace = {}, std::optional<Record> described = {});

// Like run_one, but only plans the point. The status is kOk if the point can run.
PointResult plan_one(const ResolvedPoint& point, const MachineKnowledge& known, const TraceRequest& trace = {},
                     std::optional<Record> described = {});

}  // namespace laptime
