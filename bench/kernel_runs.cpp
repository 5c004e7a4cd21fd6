// The operands, launches and counters of kernel benchmarks.
#include "kernel_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <random>

#include "base/cores.h"
#include "base/units.h"
#include "ops/kernels_cpu.h"

namespace laptime::bench {

// Memory and views of one launch.
struct Operands {
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::vector<TensorView> in, out;
  int64_t bytes = 0;
};

namespace {

// Exceeds any last-level cache: launches that cycle through operands of this total size never find them cached.
constexpr int64_t kColdBytes = int64_t{512} << 20;

// Fills a tensor with values that every op accepts: random numbers in [0.1, 1], or 1 if the type is an integer.
void fill(const TensorView& view) {
  std::minstd_rand random(7);
  for (int64_t i = 0; i < view.numel(); ++i) {
    view.put(i, is_floating(view.type.dtype) ? 0.1 + 0.9 * static_cast<double>(random() % 65536) / 65536 : 1);
  }
}

// Copies the values of `from`, or generates random ones if it is null.
Operands make_operands(Backend& backend, const Signature& signature, const Operands* from) {
  Operands operands;
  const auto place = [&](const TensorType& type) {
    const int64_t bytes = type.layout.extent() * size_of(type.dtype);
    operands.memory.push_back(backend.allocate(bytes));
    operands.bytes += bytes;
    return TensorView{operands.memory.back()->data(), type};
  };
  for (size_t k = 0; k < signature.in.size(); ++k) {
    operands.in.push_back(place(signature.in[k]));
    const TensorView& to = operands.in.back();
    if (from == nullptr) {
      fill(to);
    } else {
      std::memcpy(to.data, from->in[k].data, static_cast<size_t>(to.type.layout.extent() * size_of(to.type.dtype)));
    }
  }
  for (size_t k = 0; k < signature.out.size(); ++k) {
    const int state = signature.op->updated_input(static_cast<int>(k));
    operands.out.push_back(state < 0 ? place(signature.out[k]) : operands.in[static_cast<size_t>(state)]);
  }
  return operands;
}

std::vector<Operands> make_operands(Backend& backend, const Signature& signature, Bound bound) {
  std::vector<Operands> operands;
  operands.push_back(make_operands(backend, signature, nullptr));
  if (bound != Bound::kBytes) return operands;
  for (int64_t bytes = operands[0].bytes; bytes < kColdBytes; bytes += operands[0].bytes) {
    operands.push_back(make_operands(backend, signature, &operands[0]));
  }
  return operands;
}

// The type whose peak applies: bfloat16 if any input has this type, otherwise float32.
DType factor_type(const Signature& signature) {
  const bool narrow = std::any_of(signature.in.begin(), signature.in.end(),
                                  [](const TensorType& type) { return type.dtype == DType::kBFloat16; });
  return narrow ? DType::kBFloat16 : DType::kFloat32;
}

void run(benchmark::State& state, Machine& machine, const Kernel& kernel, const Signature& signature,
         const std::vector<Operands>& operands, Bound bound, double work) {
  const std::unique_ptr<DeviceMemory> workspace = machine.backend().allocate(kernel.workspace_bytes(signature));
  std::vector<Launch> launches;
  launches.reserve(operands.size());
  for (const Operands& turn : operands) {
    launches.push_back({.kernel = &kernel,
                        .attributes = &signature.attributes,
                        .in = turn.in,
                        .out = turn.out,
                        .workspace = workspace->data()});
  }
  machine.backend().prepare(kernel, signature);
  for (int i = 0; i < 2; ++i) machine.backend().launch(launches[0]);  // warm-up
  size_t turn = launches.size() - 1;
  double best = std::numeric_limits<double>::infinity();
  double total = 0;
  for (auto _ : state) {
    const Seconds begin = machine.backend().now();
    machine.backend().launch(launches[turn]);
    const double seconds = (machine.backend().now() - begin).count();
    best = std::min(best, seconds);
    total += seconds;
    state.SetIterationTime(seconds);
    turn = (turn == 0 ? launches.size() : turn) - 1;  // the least recently used operands come next
  }
  const bool flops = bound == Bound::kFlops;
  if (work == 0) work = flops ? flops_of(signature) : static_cast<double>(bytes_of(signature));
  const double peak = flops ? machine.flops_peak(factor_type(signature)) : machine.bandwidth();
  const double mean = total / static_cast<double>(state.iterations());
  state.counters[flops ? "GFLOP/s" : "GB/s"] = work / mean * 1e-9;
  state.counters["of_peak"] = work / mean / peak;
  state.counters["best_of_peak"] = work / best / peak;
}

}  // namespace

Machine::Machine(int threads) : threads_(threads), backend_(cpu_kernels(isa_), threads) {
  float32_ = cpu::measure_float32_peak(backend_.team(), isa_).all_threads;
  bfloat16_ = cpu::measure_bfloat16_peak(backend_.team()).all_threads;
  split_ = cpu::measure_split_float32_peak(backend_.team()).all_threads;
  bandwidth_ = cpu::measure_bandwidth(backend_.team(), isa_);
}

Machine::~Machine() = default;

double Machine::flops_rate_now(DType dtype) {
  constexpr Seconds kTime{3e-3};
  return cpu::sustained_rate(backend_.team(), isa_, dtype == DType::kBFloat16, kTime);
}

const std::vector<Operands>& Machine::operands(const Signature& signature,
                                               const std::function<std::vector<Operands>()>& make) {
  if (operands_signature_ != signature.text()) {
    operands_.clear();  // frees the old operands before new ones are allocated
    operands_ = make();
    operands_signature_ = signature.text();
  }
  return operands_;
}

std::string Machine::text() const {
  const std::string by_tiles = split_ == 0 ? "" : fmt::format(" ({}/s by tiles)", format_flops(split_));
  return fmt::format("{}, {} threads: float32 {}/s{}, bfloat16 {}/s, memory {}/s", cpu::name_of(isa_), threads_,
                     format_flops(float32_), by_tiles, format_flops(bfloat16_),
                     format_bytes(static_cast<int64_t>(bandwidth_)));
}

Signature signature_of(const OpCard& op, const Attributes& attributes, const std::vector<TensorType>& in) {
  return {&op, attributes, in, op.infer(attributes, in)};
}

void add_benchmarks(Machine& machine, const Signature& signature, const std::string& label, Bound bound, double work) {
  for (const Kernel& kernel : machine.backend().kernels(*signature.op)) {
    if (kernel.name == kReferenceName || !kernel.refusal(signature).empty()) continue;
    const std::string name = fmt::format("{}/{}/{}", signature.op->name, label, kernel.name);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&machine, &kernel, signature, bound, work](benchmark::State& state) {
                                   const auto& operands = machine.operands(
                                       signature, [&] { return make_operands(machine.backend(), signature, bound); });
                                   run(state, machine, kernel, signature, operands, bound, work);
                                 })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
}

std::vector<KernelTimes> interleaved_times(Machine& machine, const Signature& signature, int rounds) {
  const std::vector<Operands> operands = make_operands(machine.backend(), signature, Bound::kBytes);
  std::vector<KernelTimes> times;
  std::vector<const Kernel*> kernels;
  int64_t workspace_bytes = 0;
  for (const Kernel& kernel : machine.backend().kernels(*signature.op)) {
    if (kernel.name == kReferenceName || !kernel.refusal(signature).empty()) continue;
    kernels.push_back(&kernel);
    machine.backend().prepare(kernel, signature);
    times.push_back({kernel.name});
    workspace_bytes = std::max(workspace_bytes, kernel.workspace_bytes(signature));
  }
  const std::unique_ptr<DeviceMemory> workspace = machine.backend().allocate(workspace_bytes);
  const double flops = flops_of(signature);
  const DType dtype = factor_type(signature);
  constexpr int kWarmup = 2;
  size_t turn = 0;
  for (int round = -kWarmup; round < rounds; ++round) {
    double before = machine.flops_rate_now(dtype);
    for (size_t i = 0; i < kernels.size(); ++i) {
      const Operands& cold = operands[turn++ % operands.size()];
      const Seconds begin = machine.backend().now();
      machine.backend().launch({.kernel = kernels[i],
                                .attributes = &signature.attributes,
                                .in = cold.in,
                                .out = cold.out,
                                .workspace = workspace->data()});
      const double seconds = (machine.backend().now() - begin).count();
      const double after = machine.flops_rate_now(dtype);
      if (round >= 0) {
        times[i].seconds.push_back(seconds);
        times[i].fractions.push_back(flops / seconds / (0.5 * (before + after)));
      }
      before = after;
    }
  }
  for (KernelTimes& kernel : times) {
    std::sort(kernel.seconds.begin(), kernel.seconds.end());
    std::sort(kernel.fractions.begin(), kernel.fractions.end());
  }
  return times;
}

int run_benchmarks(int argc, char** argv, void (*add)(Machine&)) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  Machine machine(default_threads().threads);
  fmt::print("{}\n", machine.text());
  add(machine);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::ClearRegisteredBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace laptime::bench
