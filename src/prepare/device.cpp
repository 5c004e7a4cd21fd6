// Devices by name.
#include "prepare/device.h"

#include <fmt/format.h>

#include "backend/cpu/cores.h"
#include "backend/cpu/cpu_backend.h"
#include "backend/roofline/roofline_backend.h"
#include "base/isa.h"
#include "ops/kernels_cpu.h"
#include "ops/registry.h"

namespace laptime {
namespace {

constexpr std::string_view kRooflinePrefix = "roofline:";

bool is_roofline(std::string_view name) { return name.substr(0, kRooflinePrefix.size()) == kRooflinePrefix; }

std::string math_mode_of(Precision dtype) {
  switch (dtype) {
    case Precision::kFloat32: return "float32";
    case Precision::kTf32: return "tf32";
    case Precision::kBFloat16:
    case Precision::kMixed: return "bfloat16 autocast, float32 accumulation";
    case Precision::kFloat16: return "float16 autocast, float32 accumulation";
  }
  return "";
}

Device make_cpu(const RunConfig& config) {
  Device device;
  const cpu::Isa isa = cpu::widest_isa();
  device.threads = config.threads ? static_cast<int>(*config.threads) : cpu::default_threads();
  device.isa = cpu::name_of(isa);
  device.name = "cpu";
  device.autocast = is_mixed(config.dtype);
  device.math_mode = math_mode_of(config.dtype);
  device.backend = std::make_unique<cpu::CpuBackend>(cpu_kernels(isa), device.threads);
  return device;
}

Device make_roofline(const RunConfig& config, const std::string& name) {
  const roofline::Device& described = roofline::find_device(std::string_view(name).substr(kRooflinePrefix.size()));
  Device device;
  device.name = name;
  device.math_mode = math_mode_of(config.dtype) + ", predicted";
  device.memory_bytes = described.memory;
  const std::optional<DType> lower = autocast_dtype(config.dtype);
  device.datasheet_flops = config.dtype == Precision::kTf32 && described.tf32 > 0
                               ? described.tf32
                               : described.peak(lower.value_or(DType::kFloat32));
  const std::vector<const OpCard*> ops = all_ops();
  device.backend = std::make_unique<roofline::RooflineBackend>(described, ops, config.dtype == Precision::kTf32);
  return device;
}

}  // namespace

std::string device_name(const RunConfig& config) { return config.device == "auto" ? "cpu" : config.device; }

void check_device(const RunConfig& config) {
  const std::string name = device_name(config);
  if (is_roofline(name)) roofline::find_device(std::string_view(name).substr(kRooflinePrefix.size()));
}

std::string unsupported_reason(const RunConfig& config) {
  const std::string name = device_name(config);
  if (name == "cuda") return "this build has no CUDA backend; use --device cpu or roofline:NAME";
  if (is_roofline(name)) return {};
  if (config.dtype == Precision::kTf32)
    return "tf32 is a mode of NVIDIA tensor cores; a CPU has none: use --dtype float32 or bfloat16";
  if (config.dtype == Precision::kFloat16)
    return "the CPU backend has no float16 kernels: use --dtype bfloat16, or mixed";
  return {};
}

Device make_device(const RunConfig& config) {
  const std::string name = device_name(config);
  if (const std::string reason = unsupported_reason(config); !reason.empty()) throw Error(reason);
  return is_roofline(name) ? make_roofline(config, name) : make_cpu(config);
}

}  // namespace laptime
