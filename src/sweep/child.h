// A point in a process of its own: whatever becomes of it, the sweep gets a record and goes on.
#pragma once

#include <functional>
#include <string_view>

#include "base/units.h"
#include "measure/run_one.h"
#include "record/record.h"
#include "sweep/stop_signals.h"

namespace laptime {

// What runs in the child. An exception that leaves it is a `failed` point.
using PointBody = std::function<PointResult(const PointHooks&)>;

struct ChildCallbacks {
  std::function<void(const PointProgress&, Seconds elapsed)> progress;  // on the host's clock, since the start
  std::function<void(std::string_view)> output;  // what the child wrote to its standard output and error
};

// Forks; the caller must have a single thread and no open store. Returns once the child is gone, its memory with it.
//
// The result is the child's, or `described` (describe_point) with what became of it: out_of_memory where the kernel
// killed it, timeout, interrupted, or failed with the name of its signal, its exit code or its own last words. At the
// first stop signal the child ends its current step, or is killed if it has not finished any; at the second it is
// killed. It dies with this process.
PointResult run_in_child(const Record& described, const PointBody& body, Seconds timeout, StopSignals& signals,
                         const ChildCallbacks& callbacks = {});

}  // namespace laptime
