// Benchmarks of all kernels that support a signature, compared with peaks measured in the same run.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/peak/peak.h"
#include "base/isa.h"

namespace laptime::bench {

struct Operands;

// This machine's CPU backend with all kernels, and its measured peaks.
class Machine {
 public:
  explicit Machine(int threads);
  ~Machine();

  cpu::CpuBackend& backend() { return backend_; }
  // Peak FLOP/s of all threads: float32 multiply-adds for float32, and the faster of float32 and bfloat16 instructions
  // for bfloat16.
  double flops_peak(DType dtype) const { return dtype == DType::kBFloat16 ? std::max(float32_, bfloat16_) : float32_; }
  // Bytes per second of memory.
  double bandwidth() const { return bandwidth_; }
  // Runs the peak loops for a few milliseconds, and returns the FLOP/s that they reach now.
  double flops_rate_now(DType dtype);
  std::string text() const;
  // The operands of a signature, made once for all its kernels and kept until another signature is requested.
  const std::vector<Operands>& operands(const Signature& signature, const std::function<std::vector<Operands>()>& make);

 private:
  cpu::Isa isa_ = cpu::widest_isa();
  int threads_;
  cpu::CpuBackend backend_;
  double float32_ = 0, split_ = 0, bfloat16_ = 0, bandwidth_ = 0;
  std::string operands_signature_;
  std::vector<Operands> operands_;
};

// Selects the peak that a kernel is compared with. With kBytes, operands are never cached: launches cycle
// through enough copies of the operands to exceed the caches.
enum class Bound : uint8_t { kFlops, kBytes };

// Registers one benchmark for each kernel, except the reference, that supports the signature. Operands are random and
// never zero, because zeros multiply faster; outputs that update an input share its memory. `work` is the FLOPs or
// bytes of one launch; 0 means the number that the op's card states.
void add_benchmarks(Machine& machine, const Signature& signature, const std::string& label, Bound bound,
                    double work = 0);

// The signature of an op with inputs of these types.
Signature signature_of(const OpCard& op, const Attributes& attributes, const std::vector<TensorType>& in);

// Measurements of the launches of one kernel.
struct KernelTimes {
  std::string kernel;
  std::vector<double> seconds = {};    // seconds of each launch, ascending
  std::vector<double> fractions = {};  // FLOP/s of each launch relative to the peak loops around it, ascending
  double best() const { return seconds.front(); }
  // The median of the fractions.
  double fraction() const { return fractions[fractions.size() / 2]; }
};
// Launches all kernels, except the reference, that support the signature. In each round every kernel is launched once,
// with the peak loops before and after, so that other load on the machine affects all kernels alike. Operands are never
// cached.
std::vector<KernelTimes> interleaved_times(Machine& machine, const Signature& signature, int rounds);

// The main function of a benchmark program. It takes the arguments of Google Benchmark.
int run_benchmarks(int argc, char** argv, void (*add)(Machine&));

}  // namespace laptime::bench
