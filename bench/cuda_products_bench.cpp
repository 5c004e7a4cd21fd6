// Benchmark of the matrix products of training steps with cuBLASLt on a GPU. Compares the kernel that trial runs choose
// with the fastest algorithm that the library proposes, deterministic or not.
//   bench_cuda_products [--models small,...,2.7B] [--dtypes bfloat16,tf32,float32] [--tokens 2048] [--rounds 15]
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "base/error.h"
#include "base/proc_text.h"
#include "base/units.h"
#include "config/model_presets.h"
#include "distribution/median.h"
#include "exec/race.h"
#include "exec/trial.h"
#include "ops/kernels_cuda.h"
#include "ops/matmul/matmul.h"
#include "ops/product_cuda.h"

namespace laptime::bench {
namespace {

constexpr int kProposals = 32;
constexpr int64_t kVocabulary = 10'000;

cuda::Product product_of(const Attributes&, std::span<const TensorView> in, std::span<const TensorView> out) {
  return {.a = in[0], .b = in[1], .c = out[0], .compute = promote(in[0].type.dtype, in[1].type.dtype)};
}

// The first kProposals algorithms that the library proposes, deterministic or not, as kernels.
template <bool kTf32>
std::vector<Kernel> proposals() {
  std::vector<Kernel> kernels;
  [&]<int... kAlgorithms>(std::integer_sequence<int, kAlgorithms...>) {
    (kernels.push_back(cuda::BlasKernel<product_of, kAlgorithms, kTf32, true>::of(kMatmul)), ...);
  }
  (std::make_integer_sequence<int, kProposals>());
  return kernels;
}

// One of the products y = x W^T, grad_x = grad_y W and grad_W = grad_y^T x.
struct GemmShape {
  std::string name;
  int64_t m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;
};

std::vector<GemmShape> products_of(const std::string& model, int64_t tokens) {
  const ModelPreset* const size = find_preset(model, Edition::k2025);
  if (size == nullptr) throw Error::format("bench_cuda_products: --models: unknown model '{}'", model);
  struct Weight {
    const char* name;
    int64_t outer, inner;
  };
  const Weight weights[] = {{"attention", size->d_model, size->d_model},
                            {"ffn up", size->d_ff, size->d_model},
                            {"ffn down", size->d_model, size->d_ff},
                            {"head", kVocabulary, size->d_model}};
  std::vector<GemmShape> products;
  for (const auto& [name, outer, inner] : weights) {
    products.push_back({fmt::format("{} {} forward", model, name), tokens, outer, inner, false, true});
    products.push_back({fmt::format("{} {} grad_x", model, name), tokens, inner, outer, false, false});
    products.push_back({fmt::format("{} {} grad_w", model, name), outer, inner, tokens, true, false});
  }
  return products;
}

TensorType factor(DType dtype, int64_t rows, int64_t columns, bool transposed) {
  if (!transposed) return contiguous_type(dtype, {rows, columns});
  return {dtype, permuted(Layout::contiguous({columns, rows}), {1, 0})};
}

Signature signature_of(const GemmShape& shape, DType dtype) {
  return {
      .op = &kMatmul,
      .attributes = {},
      .in = {factor(dtype, shape.m, shape.k, shape.a_transposed), factor(dtype, shape.k, shape.n, shape.b_transposed)},
      .out = {contiguous_type(dtype, {shape.m, shape.n})}};
}

// The kernels that support the signature on this device.
std::vector<const Kernel*> ready(const std::vector<Kernel>& kernels, const Signature& signature, Backend& backend) {
  std::vector<const Kernel*> found;
  for (const Kernel& kernel : kernels) {
    if (!kernel.refusal(signature).empty()) continue;
    try {
      backend.prepare(kernel, signature);
      found.push_back(&kernel);
    } catch (const Error&) {
      // The library proposes too few algorithms for this kernel's index.
    }
  }
  return found;
}

class Comparison {
 public:
  Comparison(const std::string& dtype, int rounds)
      : dtype_(dtype), factors_(dtype == "bfloat16" ? DType::kBFloat16 : DType::kFloat32), rounds_(rounds) {
    if (dtype != "bfloat16" && dtype != "tf32" && dtype != "float32")
      throw Error::format("bench_cuda_products: --dtypes: unknown type '{}'; known: bfloat16, tf32, float32", dtype);
    const bool tf32 = dtype == "tf32";
    for (Kernel& kernel : cuda_kernels()) {
      if (kernel.op != &kMatmul) continue;
      // As in prepare/kernel_rules.cpp: with tf32, every product is computed in tf32.
      const bool is_tf32 = kernel.name.find("tf32") != std::string::npos;
      if (is_tf32 == tf32) candidates_.push_back(std::move(kernel));
    }
    proposals_ = tf32 ? proposals<true>() : proposals<false>();
    const cuda::FoundDriver found = cuda::find_driver();
    if (found.driver == nullptr) throw Error::format("bench_cuda_products: {}", found.missing);
    const cuda::CudaLibraries libraries = cuda::find_libraries();
    if (libraries.blas == nullptr) throw Error("bench_cuda_products: cuBLASLt is not installed");
    const cuda::Card card = cuda::nth_card(*found.driver, 0);
    card_ = card.name;
    backend_ = std::make_unique<cuda::CudaBackend>(found.driver, libraries, card,
                                                   std::make_shared<KernelTable>(cuda_kernels()), cuda_image());
  }

  const std::string& card() const { return card_; }

  // Prints a line for the product, and returns the speed of the chosen kernel as a fraction of the best.
  double compare(const GemmShape& shape) {
    const Signature signature = signature_of(shape, factors_);
    const std::vector<const Kernel*> candidates = ready(candidates_, signature, *backend_);
    const std::vector<const Kernel*> all = ready(proposals_, signature, *backend_);
    int64_t bytes = 0;
    for (const auto* const kernels : {&candidates, &all}) {
      for (const Kernel* kernel : *kernels) bytes = std::max(bytes, Trial::bytes(signature, {}, *kernel));
    }
    const std::unique_ptr<DeviceMemory> memory = backend_->allocate(bytes);
    Trial trial(*backend_, signature, {}, *memory);
    const auto raced = [&](const std::vector<const Kernel*>& kernels) {
      return race(kernels.size(), [&](size_t candidate) { return trial.time(*kernels[candidate]); });
    };
    const Kernel& chosen = *candidates[clear_winner(
        raced(candidates), [&](size_t candidate) { return candidates[candidate]->reproducible; })];
    const Kernel& best = *all[raced(all).winner];
    std::vector<double> chosen_seconds;
    std::vector<double> best_seconds;
    for (int round = 0; round < rounds_; ++round) {
      chosen_seconds.push_back(trial.time(chosen).count());
      best_seconds.push_back(trial.time(best).count());
    }
    const double seconds = median(chosen_seconds);
    const double fraction = median(best_seconds) / seconds;
    fmt::print(
        "{:<8}  {:<24}  {:>6} x {:<6} x {:<6} {:<16} {:>10}  {:>16}  {:6.1f} % of the speed of the best of {} "
        "algorithms ({})\n",
        dtype_, shape.name, shape.m, shape.n, shape.k, chosen.name, format_seconds(seconds),
        format_flops(flops_of(signature) / seconds) + "/s", 100 * fraction, all.size(), best.name);
    std::fflush(stdout);
    return fraction;
  }

 private:
  std::string dtype_;
  DType factors_;
  int rounds_;
  std::vector<Kernel> candidates_, proposals_;
  std::string card_;
  std::unique_ptr<cuda::CudaBackend> backend_;
};

int64_t number(const std::string& flag, const std::string& text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1)
    throw Error::format("bench_cuda_products: {}: '{}' is not a whole number above 0", flag, text);
  return value;
}

int run(const std::vector<std::string>& words) {
  std::map<std::string, std::string> options{{"--models", "small,medium,large,xl,2.7B"},
                                             {"--dtypes", "bfloat16,tf32,float32"},
                                             {"--tokens", "2048"},
                                             {"--rounds", "15"}};
  for (size_t i = 0; i < words.size(); i += 2) {
    if (!options.contains(words[i]) || i + 1 == words.size())
      throw Error::format(
          "bench_cuda_products: {} is not an option or has no value; options: --models, --dtypes, "
          "--tokens, --rounds",
          words[i]);
    options[words[i]] = words[i + 1];
  }
  const int64_t tokens = number("--tokens", options["--tokens"]);
  const auto rounds = static_cast<int>(number("--rounds", options["--rounds"]));
  double least = 1;
  std::string where;
  int products = 0;
  int below = 0;
  for (const std::string_view dtype : split(options["--dtypes"], ',')) {
    Comparison comparison(std::string(dtype), rounds);
    if (products == 0) fmt::print("{}\n", comparison.card());
    for (const std::string_view model : split(options["--models"], ',')) {
      for (const GemmShape& shape : products_of(std::string(model), tokens)) {
        const double fraction = comparison.compare(shape);
        ++products;
        below += fraction < 0.95 ? 1 : 0;
        if (products > 1 && fraction >= least) continue;
        least = fraction;
        where = fmt::format("{} {}", dtype, shape.name);
      }
    }
  }
  fmt::print("{} products, {} below 95.0 % of the best; least {:.1f} % ({})\n", products, below, 100 * least, where);
  return 0;
}

}  // namespace
}  // namespace laptime::bench

int main(int argc, char** argv) try {
  return laptime::bench::run({argv + 1, argv + argc});
} catch (const laptime::Error& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 2;
}
