// Benchmarks of the matrix products of a training step on 4 x 256 tokens, each as a fraction of the peak measured just
// before and after it. As in a step, operands are not cached.
//   bench_matmul [--threads 2] [--rounds 11] [--model small|medium] [--dtype float32|bfloat16|all]
#include <fmt/format.h>

#include <map>

#include "base/cores.h"
#include "kernel_runs.h"
#include "ops/matmul/matmul.h"

namespace laptime::bench {
namespace {

constexpr int64_t kTokens = 1024;

// A weight (outer, inner) of the model, and the number of weights of this shape.
struct Weight {
  int64_t inner = 0, outer = 0;
  int count = 1;
};
std::vector<Weight> weights_of(const std::string& model) {
  const bool medium = model == "medium";
  const int64_t d_model = medium ? 1024 : 768;
  const int64_t d_ff = 4 * d_model;
  const int layers = medium ? 24 : 12;
  return {{d_model, d_model, 4 * layers}, {d_model, d_ff, 2 * layers}, {d_ff, d_model, layers}, {d_model, 10000, 1}};
}

TensorType factor(DType dtype, Shape shape, bool transposed) {
  if (!transposed) return contiguous_type(dtype, shape);
  std::swap(shape[-1], shape[-2]);
  Dims axes = shape.rank() == 3 ? Dims{0, 2, 1} : Dims{1, 0};
  return {dtype, permuted(Layout::contiguous(shape), axes)};
}

// One of the products y = x W^T (NT), grad_x = grad_y W (NN) and grad_W = grad_y^T x (TN); `layout` is the pair of BLAS
// transposition flags.
struct Product {
  const char* layout;
  int64_t m, n, k;
  bool a_transposed, b_transposed;

  // Weights and their gradients are float32 whatever `dtype` is, as in compile mode under autocast.
  Signature signature(DType dtype) const {
    const TensorType a = factor(dtype, {m, k}, a_transposed);
    ProductAttributes attributes;
    if (a_transposed) {  // the gradient of a weight
      attributes.output = DType::kFloat32;
      return signature_of(kMatmul, attributes, {a, factor(dtype, {k, n}, b_transposed)});
    }
    attributes.compute = dtype;
    return signature_of(kMatmul, attributes, {a, factor(DType::kFloat32, {k, n}, b_transposed)});
  }
};
std::vector<Product> products_of(const Weight& weight) {
  return {{"NT", kTokens, weight.outer, weight.inner, false, true},
          {"NN", kTokens, weight.inner, weight.outer, false, false},
          {"TN", weight.outer, weight.inner, kTokens, true, false}};
}

// Prints each kernel's fraction of the peak: one line per product, and one line per kernel for the whole step.
class Table {
 public:
  Table(Machine& machine, DType dtype, int rounds)
      : machine_(machine), rounds_(rounds), peak_(machine.flops_peak(dtype)) {}

  void add(const std::string& label, const Signature& signature, int count) {
    const double flops = flops_of(signature);
    std::string line = fmt::format("{:<24}", label);
    for (const KernelTimes& times : interleaved_times(machine_, signature, rounds_)) {
      line += fmt::format("  {} {:.3f} ({:.3f})", times.kernel, times.fraction(), flops / times.best() / peak_);
      scaled_flops_[times.kernel] += count * flops / times.fraction();
      best_seconds_[times.kernel] += count * times.best();
      flops_[times.kernel] += count * flops;
    }
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  void total() const {
    for (const auto& [kernel, flops] : flops_) {
      fmt::print("{:<24}  {} {:.3f} ({:.3f}) of {} FLOP\n", "whole step", kernel, flops / scaled_flops_.at(kernel),
                 flops / best_seconds_.at(kernel) / peak_, flops);
    }
  }

 private:
  Machine& machine_;
  int rounds_;
  double peak_;
  // Sums over the step, keyed by kernel: FLOPs divided by the fraction of the peak, best seconds, and FLOPs.
  std::map<std::string, double> scaled_flops_, best_seconds_, flops_;
};

void run(int threads, int rounds, const std::string& model, DType dtype) {
  Machine machine(threads);
  fmt::print(
      "{}, {}: median fraction of the peak measured before and after each launch (in parentheses: best launch / best "
      "peak); "
      "{}\n",
      model, name_of(dtype), machine.text());
  Table table(machine, dtype, rounds);
  for (const Weight& weight : weights_of(model)) {
    for (const Product& product : products_of(weight)) {
      table.add(fmt::format("{} {}x{}x{}", product.layout, product.m, product.n, product.k), product.signature(dtype),
                weight.count);
    }
  }
  table.total();
}

// Benchmarks the two matrix products of the attention forward pass, with 12 heads and a batch of 4.
void run_attention(int threads, int rounds, DType dtype) {
  Machine machine(threads);
  Table table(machine, dtype, rounds);
  table.add("scores 48x256x256x64",
            signature_of(kMatmul, {}, {factor(dtype, {48, 256, 64}, false), factor(dtype, {48, 64, 256}, true)}), 1);
  table.add("values 48x256x64x256",
            signature_of(kMatmul, {}, {factor(dtype, {48, 256, 256}, false), factor(dtype, {48, 256, 64}, false)}), 1);
}

int run_command(const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> options{{"--threads", std::to_string(default_threads().threads)},
                                             {"--rounds", "11"},
                                             {"--model", "small"},
                                             {"--dtype", "all"}};
  for (size_t i = 0; i < arguments.size(); i += 2) {
    if (!options.contains(arguments[i]) || i + 1 == arguments.size()) {
      fmt::print(stderr,
                 "bench_matmul: {} is not an option or has no value; options: --threads N, --rounds N, "
                 "--model small|medium, --dtype float32|bfloat16|all\n",
                 arguments[i]);
      return 2;
    }
    options[arguments[i]] = arguments[i + 1];
  }
  const int threads = std::max(1, std::atoi(options["--threads"].c_str()));
  const int rounds = std::max(1, std::atoi(options["--rounds"].c_str()));
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    if (options["--dtype"] != "all" && options["--dtype"] != name_of(dtype)) continue;
    run(threads, rounds, options["--model"], dtype);
    run_attention(threads, rounds, dtype);
  }
  return 0;
}

}  // namespace
}  // namespace laptime::bench

int main(int argc, char** argv) { return laptime::bench::run_command({argv + 1, argv + argc}); }
