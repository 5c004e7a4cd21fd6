// run_one: one point of a sweep, from its configuration to its record, in this process.
#pragma once

#include "measure/measure.h"
#include "points/expand.h"
#include "prepare/device.h"
#include "prepare/knowledge.h"
#include "record/record.h"

namespace laptime {

struct PointResult {
  Record record;
  MachineKnowledge learned;  // what this point adds to what is known
};

// Never throws for what a point can do wrong: the record carries status and reason. Memory is predicted before it is
// taken, and again when a trial has chosen other kernels. `known` is what is stored under the point's device_key.
// `name`, `label`, `config`, `config_hash`, `machine`, `fingerprint`, `binary` and `created` are always filled; `sweep`
// and `run` are the caller's.
PointResult run_one(const SweepPoint& point, const MachineKnowledge& known, const PointHooks& hooks = {},
                    const FindDevice& find = find_device);

}  // namespace laptime
