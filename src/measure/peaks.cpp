// Peaks by name in what is known of the machine.
#include "measure/peaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/page_fault.h"
#include "backend/cpu/peak/peak.h"
#include "base/isa.h"

namespace laptime {
namespace {

constexpr const char* kPageFault = "page_fault_seconds";

std::string flops_peak_name(const Device& device) {
  return fmt::format("{}_product_flops_per_second/threads:{}", device.autocast ? "bfloat16" : "float32",
                     device.threads);
}

// Of products, by the fastest path: float32's multiply-adds; for bfloat16 operands its own instructions; for float32
// the latter on several terms of each operand.
double measure_flops_peak(const Device& device, cpu::Team& team) {
  const double float32 = cpu::measure_float32_peak(team, cpu::widest_isa()).all_threads;
  const cpu::ComputePeak narrow =
      device.autocast ? cpu::measure_bfloat16_peak(team) : cpu::measure_split_float32_peak(team);
  return std::max(float32, narrow.all_threads);
}

std::optional<double> find(const std::vector<MeasuredPeak>& peaks, const std::string& name) {
  const auto found =
      std::find_if(peaks.begin(), peaks.end(), [&](const MeasuredPeak& peak) { return peak.name == name; });
  if (found == peaks.end()) return std::nullopt;
  return found->value;
}

std::optional<double> find(const MachineKnowledge& known, const MachineKnowledge& learned, const std::string& name) {
  const auto value = find(known.peaks, name);
  return value ? value : find(learned.peaks, name);
}

}  // namespace

void learn_peaks(const Device& device, const Record& record, const MachineKnowledge& known, MachineKnowledge& learned) {
  auto* const cpu = dynamic_cast<cpu::CpuBackend*>(device.backend.get());
  if (cpu == nullptr) return;
  const auto learn = [&](const std::string& name, const char* unit, const std::function<double()>& measure) {
    if (!find(known, learned, name))
      learned.peaks.push_back({record.fingerprint, name, measure(), unit, record.created});
  };
  learn(flops_peak_name(device), "FLOP/s", [&] { return measure_flops_peak(device, cpu->team()); });
  learn(kPageFault, "s", [] { return cpu::measure_page_fault().count(); });
}

std::optional<double> measured_flops_peak(const Device& device, const MachineKnowledge& known,
                                          const MachineKnowledge& learned) {
  return find(known, learned, flops_peak_name(device));
}

double measured_page_fault(const MachineKnowledge& known, const MachineKnowledge& learned) {
  return find(known, learned, kPageFault).value_or(0);
}

}  // namespace laptime
