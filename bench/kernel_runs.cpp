// Operands, launches and counters of kernel benchmarks.
#include "kernel_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <random>

#include "backend/cpu/cores.h"
#include "base/units.h"
#include "ops/kernels_cpu.h"

namespace laptime::bench {
namespace {

// Memory and views of one launch, shared by the kernels of a signature.
struct Operands {
  std::vector<std::unique_ptr<DeviceMemory>> memory;
  std::vector<TensorView> in, out;
};

// Values that every op here accepts: 0.1 to 1; whole numbers: 1.
void fill(const TensorView& view) {
  std::minstd_rand random(7);
  for (int64_t i = 0; i < view.numel(); ++i) {
    view.put(i, is_floating(view.type.dtype) ? 0.1 + 0.9 * static_cast<double>(random() % 65536) / 65536 : 1);
  }
}

std::shared_ptr<Operands> make_operands(Backend& backend, const Signature& signature) {
  auto operands = std::make_shared<Operands>();
  const auto place = [&](const TensorType& type) {
    operands->memory.push_back(backend.allocate(type.layout.extent() * size_of(type.dtype)));
    return TensorView{operands->memory.back()->data(), type};
  };
  for (const TensorType& type : signature.in) {
    operands->in.push_back(place(type));
    fill(operands->in.back());
  }
  for (size_t k = 0; k < signature.out.size(); ++k) {
    const int state = signature.op->updated_input(static_cast<int>(k));
    operands->out.push_back(state < 0 ? place(signature.out[k]) : operands->in[static_cast<size_t>(state)]);
  }
  return operands;
}

void run(benchmark::State& state, Machine& machine, const Kernel& kernel, const Signature& signature,
         const Operands& operands, Bound bound, double work) {
  const std::unique_ptr<DeviceMemory> workspace = machine.backend().allocate(kernel.workspace_bytes(signature));
  const Launch launch{.kernel = &kernel,
                      .attributes = &signature.attributes,
                      .in = operands.in,
                      .out = operands.out,
                      .workspace = workspace->data()};
  for (int i = 0; i < 2; ++i) machine.backend().launch(launch);  // warm
  double best = std::numeric_limits<double>::infinity();
  double total = 0;
  for (auto _ : state) {
    const Seconds begin = machine.backend().now();
    machine.backend().launch(launch);
    const double seconds = (machine.backend().now() - begin).count();
    best = std::min(best, seconds);
    total += seconds;
    state.SetIterationTime(seconds);
  }
  const bool flops = bound == Bound::kFlops;
  if (work == 0) work = flops ? flops_of(signature) : static_cast<double>(bytes_of(signature));
  const double peak = flops ? machine.flops_peak(signature.in.back().dtype) : machine.bandwidth();
  const double mean = total / static_cast<double>(state.iterations());
  state.counters[flops ? "GFLOP/s" : "GB/s"] = work / mean * 1e-9;
  state.counters["of_peak"] = work / mean / peak;
  state.counters["best_of_peak"] = work / best / peak;
}

}  // namespace

Machine::Machine(int threads) : threads_(threads), backend_(cpu_kernels(isa_), threads) {
  float32_ = cpu::measure_float32_peak(backend_.team(), isa_).all_threads;
  bfloat16_ = cpu::measure_bfloat16_peak(backend_.team(), isa_).all_threads;
  bandwidth_ = cpu::measure_bandwidth(backend_.team(), isa_);
}

std::string Machine::text() const {
  return fmt::format("{}, {} threads: float32 {}/s, bfloat16 {}/s, memory {}/s", cpu::name_of(isa_), threads_,
                     format_flops(float32_), format_flops(bfloat16_), format_bytes(static_cast<int64_t>(bandwidth_)));
}

Signature signature_of(const OpCard& op, const Attributes& attributes, const std::vector<TensorType>& in) {
  return {&op, attributes, in, op.infer(attributes, in)};
}

void add_benchmarks(Machine& machine, const Signature& signature, const std::string& label, Bound bound, double work) {
  // Made when first run, so that a filter saves the time; kept for the other kernels.
  auto operands = std::make_shared<std::shared_ptr<Operands>>();
  for (const Kernel& kernel : machine.backend().kernels(*signature.op)) {
    if (kernel.name == kReferenceName || !kernel.refusal(signature).empty()) continue;
    const std::string name = fmt::format("{}/{}/{}", signature.op->name, label, kernel.name);
    benchmark::RegisterBenchmark(name.c_str(),
                                 [&machine, &kernel, signature, operands, bound, work](benchmark::State& state) {
                                   if (*operands == nullptr) *operands = make_operands(machine.backend(), signature);
                                   run(state, machine, kernel, signature, **operands, bound, work);
                                 })
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
}

int run_benchmarks(int argc, char** argv, void (*add)(Machine&)) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  Machine machine(cpu::default_threads());
  fmt::print("{}\n", machine.text());
  add(machine);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::ClearRegisteredBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace laptime::bench
