// Benchmarks of every kernel that runs a signature, beside the peaks measured in the same run.
#pragma once

#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "backend/cpu/cpu_backend.h"
#include "backend/cpu/isa.h"
#include "backend/cpu/peak.h"

namespace laptime::bench {

// The machine, its kernels, and what it can do at most.
class Machine {
 public:
  explicit Machine(int threads);

  cpu::CpuBackend& backend() { return backend_; }
  // FLOP/s of all threads: of float32, or of the faster way to multiply bfloat16.
  double flops_peak(DType dtype) const { return dtype == DType::kBFloat16 ? std::max(float32_, bfloat16_) : float32_; }
  double bandwidth() const { return bandwidth_; }
  std::string text() const;

 private:
  cpu::Isa isa_ = cpu::detect_isa();
  int threads_;
  cpu::CpuBackend backend_;
  double float32_ = 0, bfloat16_ = 0, bandwidth_ = 0;
};

// What a kernel's time is compared with.
enum class Bound : uint8_t { kFlops, kBytes };

// One benchmark for each kernel of the signature's op that does not refuse, the reference apart. Operands are random
// (never zeros: they multiply faster); outputs that update an input stand in its place. `work` is what counts as FLOPs
// or bytes of one launch; 0: what the card says.
void add_benchmarks(Machine& machine, const Signature& signature, const std::string& label, Bound bound,
                    double work = 0);

// The signature of an op with these inputs.
Signature signature_of(const OpCard& op, const Attributes& attributes, const std::vector<TensorType>& in);

// main of a benchmark program: its arguments are Google Benchmark's.
int run_benchmarks(int argc, char** argv, void (*add)(Machine&));

}  // namespace laptime::bench
