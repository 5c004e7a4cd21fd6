// DataSheet: a machine described by its data sheet, for predictions; one TOML file per machine.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/option.h"

namespace laptime {

// The prefix of the name of a device whose times are predicted, as in "roofline:h100".
inline constexpr std::string_view kMachinePrefix = "roofline:";

inline constexpr size_t kMaxMachineFileBytes = 16'384;

// The program whose time is predicted. It determines which kernels run, and the host time of each launch.
enum class Program : uint8_t { kLaptime, kPyTorchEager, kPyTorchCompile, kMegatron };
constexpr auto choices_of(Program) {
  return choices<Program>("laptime", "pytorch-eager", "pytorch-compile", "megatron");
}

enum class MachineKind : uint8_t { kGpu, kCpu };
constexpr auto choices_of(MachineKind) { return choices<MachineKind>("gpu", "cpu"); }

// How far known times deviate from predictions: 90 % of them are between `low` and `high` times the prediction.
struct KnownRuns {
  int64_t figures = 0;
  double error = 0;  // median error, as a fraction; 0 if unknown, for example if laptime has not run there
  double low = 0, high = 0;

  // With fewer known times there is no 90 % interval, because they say little about the outer 10 %.
  static constexpr int64_t kFewest = 10;
  bool has_interval() const { return figures >= kFewest; }
};

// The figures of one machine. FLOP/s are for dense matrix products; `bandwidth` is that of device memory, in bytes/s.
struct DataSheet {
  std::string name{};  // name of its file: "h100"
  std::string title{};
  std::string source{};       // source of the figures
  std::string driver_name{};  // the device name reported by the driver; empty if unknown
  MachineKind kind = MachineKind::kGpu;
  int64_t memory = 0;  // bytes
  double bandwidth = 0;
  double launch = 0;    // seconds to start a kernel
  double float32 = 0;   // FLOP/s; also for all ops other than matrix products
  double tf32 = 0;      // 0: the machine does not support it
  double bfloat16 = 0;  // 0: the machine does not support it
  double float8 = 0;    // 0: the machine does not support it
  double float4 = 0;    // 0: the machine does not support it
  // The best measured figures. They replace the data sheet's unless the reached rates below are set.
  std::optional<double> measured_float32{}, measured_tf32{}, measured_bfloat16{}, measured_bandwidth{};
  std::string measured_source{};

  // The fields up to reached_source describe how close programs come to the peak rates; all are set or none.
  // tools/fit_machines fits them to published times.
  int64_t processors = 0;  // SMs, which compute tiles of a product in parallel
  int64_t cache = 0;       // bytes of the last-level cache, shared by all processors
  double reached_float32 = 0, reached_tf32 = 0, reached_tensor = 0, reached_bandwidth = 0;  // fractions of the peaks
  double reached_attention = 0;                // fraction of the 16-bit rate that fused attention reaches
  double host_forward = 0, host_compiled = 0;  // PyTorch's host time per launch, in seconds
  std::string reached_source{};
  // Optional: other programs' published runs on one device (eager, compile) and on several, and laptime's own runs.
  KnownRuns eager{}, compile{}, parallel{}, laptime_eager{}, laptime_compile{};

  // Links between devices; all fields set or none.
  double link_bandwidth = 0;     // bytes/s per device and direction, within a node
  int64_t link_devices = 0;      // devices connected by these links; 0: unknown
  double network_bandwidth = 0;  // bytes/s per node and direction, between nodes
  double link_latency = 0;       // seconds per collective operation, in addition to its transfers
  double reached_link = 0;       // fraction of the two bandwidths that collective operations reach
  std::string link_source{};

  bool has_reached_rates() const { return reached_bandwidth > 0; }
  // A device without links counts as a node of its own.
  int64_t devices_of_node() const { return std::max<int64_t>(1, link_devices); }

  double usable_bandwidth() const { return measured_bandwidth.value_or(bandwidth); }
  double usable_float32() const { return measured_float32.value_or(float32); }
};

// Throws Error with `name`, and the line if there is one, for malformed TOML, an unknown or missing key, an incomplete
// group of keys, and a value that has the wrong type or is out of range.
DataSheet parse_machine(std::string_view text, std::string_view name);

// The built-in machines (machines/*.toml), by name.
const std::vector<DataSheet>& known_machines();

// The known machine with this driver name; null if there is none.
const DataSheet* machine_of_driver(std::string_view driver_name);

// "; did you mean roofline:a100 (NVIDIA A100 SXM 80 GB) or roofline:a100-40 (...)?": the known machines whose names
// share the longest prefix (at least 3 letters) with the word, and the nearest name; empty if there is none.
std::string did_you_mean_machine(std::string_view word);

// A known machine, or the machine described in a file if `name` ends in ".toml". Throws Error if there is no such
// machine, suggesting similar names, or if the file cannot be read or parsed (see parse_machine).
DataSheet find_machine(std::string_view name);

// True if the name of a machine or device ("roofline:my.toml") ends with the path of a file that describes the machine.
inline bool is_machine_file(std::string_view name) { return name.ends_with(".toml"); }

}  // namespace laptime
