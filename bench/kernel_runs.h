// Benchmarks of every kernel that runs a signature, beside the peaks measured in the same run.
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

// The machine, its kernels, and what it can do at most.
class Machine {
 public:
  explicit Machine(int threads);
  ~Machine();

  cpu::CpuBackend& backend() { return backend_; }
  // FLOP/s of all threads: of float32 multiply-adds, or of the faster way to multiply bfloat16.
  double flops_peak(DType dtype) const { return dtype == DType::kBFloat16 ? std::max(float32_, bfloat16_) : float32_; }
  double bandwidth() const { return bandwidth_; }
  // FLOP/s that the peak's loops reach now, sustained for a few milliseconds.
  double flops_rate_now(DType dtype);
  std::string text() const;
  // The operands of a signature's launches: made once for all its kernels, kept until another signature comes.
  const std::vector<Operands>& operands(const Signature& signature, const std::function<std::vector<Operands>()>& make);

 private:
  cpu::Isa isa_ = cpu::widest_isa();
  int threads_;
  cpu::CpuBackend backend_;
  double float32_ = 0, split_ = 0, bfloat16_ = 0, bandwidth_ = 0;
  std::string operands_of_;
  std::vector<Operands> operands_;
};

// What a kernel's time is compared with. Operands of a kernel that is bound by bytes are cold: each launch has others,
// until all caches have seen more than they hold.
enum class Bound : uint8_t { kFlops, kBytes };

// One benchmark for each kernel of the signature's op that does not refuse, the reference apart. Operands are random
// (never zeros: they multiply faster); outputs that update an input stand in its place. `work` is what counts as FLOPs
// or bytes of one launch; 0: what the card says.
void add_benchmarks(Machine& machine, const Signature& signature, const std::string& label, Bound bound,
                    double work = 0);

// The signature of an op with these inputs.
Signature signature_of(const OpCard& op, const Attributes& attributes, const std::vector<TensorType>& in);

// Each kernel that does not refuse, the reference apart: one launch of each in turn, the peak's loops before and after
// each launch, so that whatever else the machine does hits all alike.
struct KernelTimes {
  std::string kernel;
  std::vector<double> seconds = {};    // of each launch, ascending
  std::vector<double> fractions = {};  // of the rate of the peak's loops beside each launch, ascending
  double best() const { return seconds.front(); }
  double fraction() const { return fractions[fractions.size() / 2]; }
};
std::vector<KernelTimes> interleaved_times(Machine& machine, const Signature& signature, int rounds);

// main of a benchmark program: its arguments are Google Benchmark's.
int run_benchmarks(int argc, char** argv, void (*add)(Machine&));

}  // namespace laptime::bench
