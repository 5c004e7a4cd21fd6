// Timeline: when the phases of one step ran, on the device's clock.
#pragma once

#include <optional>
#include <vector>

#include "base/units.h"

namespace laptime {

struct Event {
  int what = 0;  // the caller's number for the kind of event, for example a phase
  Seconds begin{};
  Seconds end{};
};

struct Timeline {
  std::vector<Event> events;  // in order of time
  Seconds begin{};            // start of the whole step, before the first event
  Seconds end{};
  Seconds communication{};        // time during which communication ran
  Seconds exposed{};              // part of `communication` for which computation waited
  std::optional<Seconds> host{};  // the whole step on the host's clock, if the device has its own clock

  Seconds total() const { return end - begin; }
  // The total time of all events of one kind. A phase may have several events, because phases may interleave.
  Seconds total(int what) const {
    Seconds sum{};
    for (const Event& event : events) sum += event.what == what ? event.end - event.begin : Seconds{};
    return sum;
  }
};

}  // namespace laptime
