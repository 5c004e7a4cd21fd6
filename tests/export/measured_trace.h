// A traced record of steps that have been run.
#pragma once

#include <string>
#include <utility>

#include "export/formats.h"
#include "measure/run_one.h"
#include "support/points.h"

namespace laptime::test {

// Two traced steps of a model with two layers.
inline TracedRecord measured_trace(const std::string& mode) {
  const SweepPoint point = point_of({{"d-model", "32"},
                                     {"d-ff", "64"},
                                     {"num-layers", "2"},
                                     {"num-heads", "2"},
                                     {"vocab", "64"},
                                     {"batch", "1"},
                                     {"context", "16"},
                                     {"mode", mode},
                                     {"warmup", "1"},
                                     {"steps", "2"}});
  PointResult result = run_one(point, {}, {}, TraceRequest{true, 2});
  return {std::move(result.record), std::move(result.trace)};
}

}  // namespace laptime::test
