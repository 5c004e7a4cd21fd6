// Peaks of this machine, measured once and kept: what a figure is a fraction of.
#pragma once

#include <optional>

#include "measure/run_one.h"
#include "prepare/device.h"

namespace laptime {

// Measures what `known` does not have yet for this device and thread count; adds it to `learned`, under the
// record's fingerprint and date.
void learn_peaks(const Device& device, const Record& record, const MachineKnowledge& known, MachineKnowledge& learned);

// Peak of the device's threads for the arithmetic that runs, FLOP/s; none for a device that computes nothing.
std::optional<double> measured_flops_peak(const Device& device, const MachineKnowledge& known,
                                          const MachineKnowledge& learned);

// Seconds for the first touch of a page; 0 where it was not measured.
double measured_page_fault(const MachineKnowledge& known, const MachineKnowledge& learned);

}  // namespace laptime
