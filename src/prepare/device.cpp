// Describes the device that a configuration names, and opens its backend.
#include "prepare/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/gemm/bfloat16_pairs.h"
#include "backend/cpu/held_bytes.h"
#include "backend/cpu/launch_loops.h"
#include "backend/cuda/card_search.h"
#include "backend/cuda/cuda_backend.h"
#include "backend/cuda/driver.h"
#include "backend/cuda/libraries/blas.h"
#include "backend/cuda/libraries/dnn.h"
#include "backend/cuda/libraries/nccl.h"
#include "backend/roofline/roofline_backend.h"
#include "base/build_id.h"
#include "base/cores.h"
#include "base/isa.h"
#include "base/ranges.h"
#include "base/units.h"
#include "base/words.h"
#include "comm/mpi_library.h"
#include "config/machine.h"
#include "ops/kernels_cpu.h"
#include "ops/kernels_cuda.h"
#include "ops/registry.h"

namespace laptime {
namespace {

bool is_roofline(std::string_view name) { return name.substr(0, kMachinePrefix.size()) == kMachinePrefix; }

std::string requested_math(Precision dtype) {
  switch (dtype) {
    case Precision::kFloat32: return "float32";
    case Precision::kTf32: return "tf32";
    case Precision::kBFloat16:
    case Precision::kMixed: return "bfloat16 autocast, float32 accumulation";
    case Precision::kFloat16: return "float16 autocast, float32 accumulation";
  }
  return "";
}

DType product_factors_of(Precision dtype) { return autocast_dtype(dtype).value_or(DType::kFloat32); }

// The kernel table is shared by all points.
const std::shared_ptr<const KernelTable>& kernels_of_this_cpu() {
  static const auto kKernels = std::make_shared<const KernelTable>(cpu_kernels(cpu::widest_isa()));
  return kKernels;
}

// Determined once: environment and cores do not change while the program runs.
const DefaultThreads& threads_here() {
  static const DefaultThreads kThreads = default_threads();
  return kThreads;
}

void require_mpi(const RunConfig& config) {
  if (const std::string missing = missing_mpi(); !missing.empty())
    throw Error::format("--ranks {}: {}", config.ranks, missing);
}

// Part of the device's identity: launches take longer while other ranks run, so the times are stored separately for
// each number of ranks.
std::string ranks_key(const RunConfig& config) {
  return config.ranks > 1 ? fmt::format("/ranks:{}", config.ranks) : "";
}

// Returns why this machine has too few cores for the ranks of the configuration; empty if it has enough. Throws Error
// if MPI is missing.
std::string ranks_refusal(const RunConfig& config) {
  if (config.ranks == 1) return {};
  require_mpi(config);
  const int64_t cores = threads_here().threads;
  const int64_t threads = threads_of_rank(config);
  if (config.oversubscribe || config.ranks * threads <= cores) return {};
  return fmt::format(
      "--ranks {} with {} each needs {} cores, but this process may use only {}: lower --ranks or --threads, or "
      "add --oversubscribe",
      config.ranks, counted(threads, "thread"), config.ranks * threads, cores);
}

Device find_cpu(const RunConfig& config) {
  const cpu::Isa isa = cpu::widest_isa();
  const int threads = static_cast<int>(threads_of_rank(config));
  Device device;
  if (!config.threads && threads_here().is_unusual) device.threads_reason = threads_here().reason;
  device.name = "cpu";
  device.rules = rules_of(config);
  // The fastest kernel for one thread need not be the fastest for many.
  device.identity = fmt::format("cpu/{}{}{}/threads:{}/kernels:{}", cpu::name_of(isa), key_of(device.rules),
                                ranks_key(config), threads, kernels_id());
  device.requested_math = requested_math(config.dtype);
  device.product_factors = product_factors_of(config.dtype);
  device.isa = cpu::name_of(isa);
  device.threads = threads;
  device.held_bytes = &cpu::held_bytes;
  device.launch_loops = &cpu::loops_of_launch;
  device.kernels = kernels_of_this_cpu();
  const bool takes_bfloat16 = !device.rules.reproducible;  // bfloat16 sums depend on the processor
  const cpu::ProductPaths paths{
      .bfloat16 = takes_bfloat16,
      .split_float32 = takes_bfloat16 && device.rules.float32_precision != Float32Precision::kIeee};
  device.open = [threads, paths](int) {
    return std::make_unique<cpu::CpuBackend>(kernels_of_this_cpu(), threads, paths);
  };
  return device;
}

// The driver's names for the GPUs on which laptime has been tested, and the date of the last test.
constexpr std::string_view kTestedCards[] = {"NVIDIA H100 80GB HBM3", "NVIDIA H200"};
constexpr const char* kTested = "2026-11-26";

cuda::CardSearch search_cuda() {
  if (cuda_image().empty()) return {std::nullopt, "this program was built without the CUDA toolkit", 0};
  return cuda::search_card();
}

// Queried only once: the driver does not change while the program runs.
const cuda::CardSearch& cuda_here() {
  static const cuda::CardSearch kSearch = search_cuda();
  return kSearch;
}

// Like ranks_refusal, for the GPUs of this machine. Throws Error if MPI or NCCL is missing.
std::string cuda_ranks_refusal(const RunConfig& config) {
  if (config.ranks == 1) return {};
  require_mpi(config);
  if (cuda_here().nccl_version == 0)
    throw Error::format(
        "--ranks {} on --device cuda needs NCCL 2.13 or newer, and libnccl.so.2 cannot be loaded; install libnccl2 "
        "(NVIDIA's Debian repository), or add its folder to LD_LIBRARY_PATH",
        config.ranks);
  if (config.reproducible)
    return "several ranks on --device cuda need NCCL, whose sums are not reproducible: leave out --reproducible";
  if (config.oversubscribe || config.ranks <= cuda_here().cards) return {};
  return fmt::format(
      "--ranks {} takes {} GPUs, and this process has {}: use fewer ranks, or --oversubscribe if the ranks run on "
      "several machines",
      config.ranks, config.ranks, cuda_here().cards);
}

std::string cuda_refusal(const RunConfig& config) {
  if (const std::string& missing = cuda_here().missing; !missing.empty())
    throw Error::format("--device cuda: {}; use --device cpu or roofline:NAME", missing);
  if (std::string refusal = cuda_ranks_refusal(config); !refusal.empty()) return refusal;
  if (config.dtype == Precision::kTf32 && cuda_here().blas_version == 0)
    return "tf32 on --device cuda needs cuBLASLt, which is not installed: use --dtype float32 or bfloat16";
  if (config.dtype == Precision::kTf32 && config.reproducible)
    return "tf32 on --device cuda needs cuBLASLt, whose results are not reproducible: leave out --reproducible";
  if (config.float32_precision == Float32Precision::kSplit)
    return "--float32-precision split needs AMX, a CPU feature: use ieee or auto";
  return {};
}

// Kernels that need no library, or a library that this machine has.
std::vector<Kernel> cuda_kernels_here() {
  std::vector<Kernel> kernels = cuda_kernels();
  std::erase_if(kernels, [](const Kernel& kernel) {
    if (kernel.library == nullptr) return false;
    const std::string_view library = kernel.library;
    return (library == cuda::kBlasName && cuda_here().blas_version == 0) ||
           (library == cuda::kDnnName && cuda_here().dnn_version == 0) ||
           (library == cuda::kNcclName && cuda_here().nccl_version == 0);
  });
  return kernels;
}

// "cuBLASLt 13.0" for 130002; "no cuBLASLt" for 0.
std::string library_text(const char* name, int64_t version) {
  return version == 0 ? fmt::format("no {}", name)
                      : fmt::format("{} {}.{}", name, version / 10'000, version / 100 % 100);
}

DeviceCard card_of(const cuda::CardSearch& found, int64_t ranks) {
  DeviceCard card{
      .name = found.card->name,
      .compute_capability =
          fmt::format("{}.{}", found.card->compute_capability / 10, found.card->compute_capability % 10),
      .driver = fmt::format("{}.{}", found.card->driver_version / 1000, found.card->driver_version / 10 % 100),
      .memory_bytes = found.card->memory_bytes,
      .libraries = {}};
  if (found.blas_version != 0) card.libraries.push_back(library_text(cuda::kBlasName, found.blas_version));
  if (found.dnn_version != 0) card.libraries.push_back(library_text(cuda::kDnnName, found.dnn_version));
  if (ranks > 1) card.libraries.push_back(library_text(cuda::kNcclName, found.nccl_version));
  return card;
}

std::string cuda_text() {
  const cuda::CardSearch& found = cuda_here();
  if (!found.missing.empty()) return "not available: " + found.missing;
  const DeviceCard card = card_of(found, 1);
  const std::string others = found.cards == 1 ? "" : fmt::format(", the first of {} GPUs", found.cards);
  const std::string tested = is_among(card.name, kTestedCards)
                                 ? fmt::format("an earlier build was tested on this GPU model on {}", kTested)
                                 : fmt::format("not tested on this GPU, but on {}", joined(kTestedCards, " and "));
  return fmt::format("{}, compute capability {}, {}{}, {}, {}, {}; {}", card.name, card.compute_capability,
                     format_bytes(card.memory_bytes), others, library_text(cuda::kBlasName, found.blas_version),
                     library_text(cuda::kDnnName, found.dnn_version), library_text(cuda::kNcclName, found.nccl_version),
                     tested);
}

DataSheet described_machine(const std::string& name) {
  return find_machine(std::string_view(name).substr(kMachinePrefix.size()));
}

// FLOP/s of the point's matrix products: from the data sheet and, if available, as measured.
struct ProductPeak {
  double stated = 0;
  double usable = 0;
  bool is_tf32 = false;
};
ProductPeak product_peak(const DataSheet& machine, Precision dtype) {
  const DType factors = product_factors_of(dtype);
  if (is_16_bit_float(factors) && machine.bfloat16 > 0)
    return {machine.bfloat16, machine.measured_bfloat16.value_or(machine.bfloat16)};
  if (dtype == Precision::kTf32 && machine.tf32 > 0)
    return {machine.tf32, machine.measured_tf32.value_or(machine.tf32), true};
  return {machine.float32, machine.usable_float32()};
}

Device find_cuda(const RunConfig& config) {
  static const auto kKernels = std::make_shared<const KernelTable>(cuda_kernels_here());
  const cuda::Card& card = *cuda_here().card;
  Device device;
  device.name = "cuda";
  device.rules = rules_of(config);
  device.identity = fmt::format("cuda/{}/{}/driver:{}/cublaslt:{}/cudnn:{}{}{}/kernels:{}", card.name, card.uuid,
                                card.driver_version, cuda_here().blas_version, cuda_here().dnn_version,
                                key_of(device.rules), ranks_key(config), cuda_kernels_id());
  if (config.ranks > 1) device.identity += fmt::format("/nccl:{}", cuda_here().nccl_version);
  device.requested_math = requested_math(config.dtype);
  device.product_factors = product_factors_of(config.dtype);
  device.memory_bytes = card.memory_bytes;
  device.card = card_of(cuda_here(), config.ranks);
  device.kernels = kKernels;
  // Eager mode launches one op after another and allocates memory as it goes, like a framework.
  const bool is_eager = config.mode == Mode::kEager;
  device.pools_steps = is_eager && card.has_pools;
  const cuda::CudaOptions options{
      .records_steps = !is_eager, .pools_steps = device.pools_steps, .tf32 = config.dtype == Precision::kTf32};
  device.cache_bytes = card.cache_bytes;
  if (const DataSheet* const sheet = machine_of_driver(card.name); sheet != nullptr) {
    device.datasheet_flops = product_peak(*sheet, config.dtype).stated;
    device.datasheet_bandwidth = sheet->bandwidth;
  }
  device.open = [options](int number) {
    cuda::FoundDriver found = cuda::find_driver();
    if (found.driver == nullptr) throw Error("--device cuda: " + found.missing);
    // Slurm may show each rank only its own GPU. NCCL rejects two ranks on one GPU.
    const cuda::Card own = cuda::nth_card(*found.driver, number % cuda::card_count(*found.driver));
    return std::make_unique<cuda::CudaBackend>(std::move(found.driver), cuda::find_libraries(), own, kKernels,
                                               cuda_image(), options);
  };
  return device;
}

Device find_roofline(const RunConfig& config, const std::string& name, Program program) {
  const DataSheet described = described_machine(name);
  static const auto kKernels = std::make_shared<const KernelTable>(roofline::roofline_kernels(all_ops()));
  Device device;
  device.name = device.identity = name;
  device.requested_math = requested_math(config.dtype);
  device.product_factors = product_factors_of(config.dtype);
  device.computes = false;
  device.memory_bytes = described.memory;
  const ProductPeak products = product_peak(described, config.dtype);
  device.datasheet_flops = products.stated;
  const bool is_stated = described.has_reached_rates();  // reached rates are fractions of data-sheet rates
  const double peak = is_stated ? products.stated : products.usable;
  device.launch_times =
      std::make_shared<const LaunchTimes>(described, peak, program, config.mode, config.model.causal, products.is_tf32,
                                          groups_updates(program, config.optimizer));
  device.rates = {peak, is_stated ? described.bandwidth : described.usable_bandwidth()};
  device.kernels = kKernels;
  device.open = [described, times = *device.launch_times](int) {
    return std::make_unique<roofline::RooflineBackend>(described, kKernels, times);
  };
  return device;
}

std::string cpu_text() {
  const DefaultThreads& here = threads_here();
  return fmt::format("this machine: {} ({}), {} kernels", counted(here.threads, "thread"), here.reason,
                     cpu::name_of(cpu::widest_isa()));
}

std::string machine_text(const DataSheet& machine) {
  return fmt::format("{}, predicted: float32 {}/s, bfloat16 {}/s, {}/s, {}; from {}{}", machine.title,
                     format_flops(machine.float32), format_flops(product_peak(machine, Precision::kBFloat16).stated),
                     format_bytes(static_cast<int64_t>(machine.bandwidth)), format_bytes(machine.memory),
                     machine.source, machine.measured_source.empty() ? "" : "; measured: " + machine.measured_source);
}

std::string device_name(const RunConfig& config) { return config.device == "auto" ? "cpu" : config.device; }

}  // namespace

int64_t threads_of_rank(const RunConfig& config) {
  return config.threads.value_or(std::max<int64_t>(1, threads_here().threads / config.ranks));
}

std::vector<DeviceSummary> list_devices() {
  std::vector<DeviceSummary> summaries{{"cpu", cpu_text}, {"cuda", cuda_text}};
  for (const DataSheet& machine : known_machines())
    summaries.push_back(
        {fmt::format("{}{}", kMachinePrefix, machine.name), [machine] { return machine_text(machine); }});
  return summaries;
}

std::string unsupported_reason(const RunConfig& config) {
  const std::string name = device_name(config);
  if (name == "cuda") return cuda_refusal(config);
  if (is_roofline(name)) {
    described_machine(name);
    if (config.ranks > 1) return "to predict a step of several ranks, use laptime plan; otherwise leave out --ranks";
    if (config.float32_precision == Float32Precision::kSplit)
      return "predictions use the data sheet's float32 rate for float32 products; leave out --float32-precision "
             "split";
    return {};
  }
  if (std::string refusal = ranks_refusal(config); !refusal.empty()) return refusal;
  if (config.dtype == Precision::kTf32)
    return "tf32 is a mode of NVIDIA tensor cores, which a CPU lacks: use --dtype float32 or bfloat16";
  if (config.float32_precision != Float32Precision::kSplit) return {};
  if (config.reproducible)
    return "--float32-precision split needs AMX, whose results are not reproducible: leave out --reproducible, or use "
           "--float32-precision ieee";
  if (cpu::bfloat16_pairs() == nullptr || cpu::bfloat16_pairs()->amx_gemm == nullptr)
    return "--float32-precision split needs a processor with AMX: use ieee or auto";
  return {};
}

bool is_gpu(const RunConfig& config) {
  const std::string name = device_name(config);
  return name == "cuda" || (is_roofline(name) && described_machine(name).kind == MachineKind::kGpu);
}

Device find_device(const RunConfig& config) { return find_device_of(config, Program::kLaptime); }

Device find_device_of(const RunConfig& config, Program program) {
  if (const std::string reason = unsupported_reason(config); !reason.empty()) throw Error(reason);
  const std::string name = device_name(config);
  if (name == "cuda") return find_cuda(config);
  return is_roofline(name) ? find_roofline(config, name, program) : find_cpu(config);
}

std::vector<KernelText> list_kernels() {
  RunConfig config;
  config.device = "cpu";
  const Device device = find_device(config);
  std::vector<KernelText> texts;
  for (const OpCard* op : device.kernels->ops()) {
    texts.push_back({op->name, device.name, {}});
    for (const Kernel& kernel : device.kernels->of(*op)) texts.back().kernels.push_back(kernel.name);
  }
  return texts;
}

}  // namespace laptime
