// Runs a point in a child process, so that the sweep gets a record even if the point crashes.
#pragma once

#include <functional>
#include <string_view>

#include "base/units.h"
#include "measure/run_one.h"
#include "record/record.h"
#include "sweep/stop_signals.h"

namespace laptime {

// Runs the point in the child. If the body throws, the status of the point's record is `failed`, or `out_of_memory` if
// an allocation failed.
using PointBody = std::function<PointResult(const PointHooks&)>;

// Limits after which the child is killed. Neither limit counts the time during which this process is suspended.
struct ChildLimits {
  Seconds timeout;      // for the whole point
  Seconds silence{30};  // for a child that uses no CPU time and sends no message
  // Input from the process that wants the result: any bytes count as a stop signal, and end of file kills the child.
  // -1: none.
  int asker = -1;
};

struct ChildCallbacks {
  std::function<void(const PointProgress&, Seconds elapsed)>
      progress;                                  // `elapsed` is measured from the start of the child
  std::function<void(std::string_view)> output;  // text from the child's standard output and error
};

// Forks, so the caller must have a single thread and no open store. Returns after the child has exited.
//
// The result comes from the child. If it sent none, the result is the latest planned record, or `described`
// (describe_point), with a status and a reason: out_of_memory (an allocation failed, or the kernel killed the child),
// timeout (also for a child that hangs), interrupted, or failed with the child's signal, exit code or first line of
// output. The first stop signal lets the child finish its current step, or kills it if it has not finished any; the
// second kills it. The child dies with this process.
PointResult run_in_child(const Record& described, const PointBody& body, const ChildLimits& limits,
                         StopSignals& signals, const ChildCallbacks& callbacks = {});

}  // namespace laptime
