// Matrix products: kernels compared with the reference, exact results on whole numbers, identical bits for any number
// of threads, and no page faults.
#include "ops/matmul/matmul.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>

#include "backend/cpu/cpu_backend.h"
#include "base/isa.h"
#include "base/random.h"
#include "ops/kernels_cpu.h"
#include "support/conformance.h"
#include "support/kernel_devices.h"
#include "support/products.h"

namespace laptime::test {
namespace {

// The slack is large, because long sums add more rounding error than small changes of the factors cause.
constexpr double kSlack = 24;

struct Sizes {
  int64_t batches = 0;  // 0 if there is no batch axis
  int64_t m = 0, n = 0, k = 0;

  Shape a() const { return batches == 0 ? Shape{m, k} : Shape{batches, m, k}; }
  Shape b() const { return batches == 0 ? Shape{k, n} : Shape{batches, k, n}; }
};

std::vector<ConformanceCase> matmul_rows(const OpCard& op) {
  std::vector<Sizes> sizes{{0, 1, 1, 1},   {0, 5, 3, 7},   {0, 17, 65, 33}, {0, 1, 50, 40},
                           {0, 40, 50, 1}, {0, 33, 1, 20}, {0, 15, 9, 385}, {0, 29, 19, 50}};
  if (&op == &kMatmul) {
    sizes.insert(sizes.end(), {{1, 9, 10, 8}, {3, 9, 11, 17}, {2, 5, 6, 1}, {5, 1, 7, 3}, {2, 20, 35, 40}});
  }
  std::vector<ConformanceCase> rows;
  for (const Sizes& of : sizes) {
    ConformanceCase row{.op = &op,
                        .may_refuse = all_arrangements(),
                        .slack = kSlack,
                        .plain = &op == &kMatmul ? plain_matmul : plain_addmm};
    if (of.k > 300) {  // the reference is slow
      row.arrangements = {Arrangement::kContiguous, Arrangement::kTransposed, Arrangement::kPadded};
    }
    if (&op == &kAddmm) row.inputs.push_back({.shape = {of.n}});
    row.inputs.push_back({.shape = of.a()});
    row.inputs.push_back({.shape = of.b()});
    rows.push_back(row);
  }
  return rows;
}

LAPTIME_CONFORMANCE(Matmul, matmul_rows(kMatmul));
LAPTIME_CONFORMANCE(Addmm, matmul_rows(kAddmm));

// The CPU kernels for all instruction sets.
std::vector<Kernel> kernels_of(const OpCard& op) {
  std::vector<Kernel> kernels;
  for (const auto& [kernel, device] : kernels_to_check(op)) {
    if (device == &on_cpu()) kernels.push_back(kernel);
  }
  return kernels;
}

// The layout of the factors: contiguous rows or columns, dense or cut out of a larger matrix.
struct Placement {
  bool a_transposed = false, b_transposed = false, padded = false;
};
std::vector<Placement> placements() {
  std::vector<Placement> all;
  for (const bool padded : {false, true}) {
    for (const bool a : {false, true}) {
      for (const bool b : {false, true}) all.push_back({a, b, padded});
    }
  }
  return all;
}

Layout placed(Shape shape, bool transposed, bool padded) {
  if (transposed) std::swap(shape[-1], shape[-2]);
  const Layout layout = arranged(shape, padded ? Arrangement::kPadded : Arrangement::kContiguous, 0);
  if (!transposed) return layout;
  Dims axes;
  for (int axis = 0; axis < shape.rank(); ++axis) axes.push_back(axis);
  std::swap(axes[-1], axes[-2]);
  return permuted(layout, axes);
}

// Random bits for element `i` (in row-major order) of input `k`, and the element in [-1, 1) made from them.
uint64_t bits_of(size_t k, int64_t i) { return hash_combine(k + 1, static_cast<uint64_t>(i)); }
double number(size_t k, int64_t i) { return static_cast<double>(bits_of(k, i) >> 40U) * 0x1p-23 - 1; }

// Whole numbers whose sums of products are below 2^24, so that float32 sums are exact in any order: either numbers from
// -3 to 3, or numbers of 17 or 23 bits in one factor and a few -1 and 1 in the other. Numbers of 17 and 23 bits need
// all three bfloat16 terms.
enum class Whole : uint8_t { kSmall, k17BitsInA, k17BitsInB, k23BitsInA, k23BitsInB };

// Element `i` of input `k`. A bias is input 0.
int32_t whole_number(Whole kind, const Sizes& of, bool has_bias, size_t k, int64_t i) {
  const uint64_t bits = bits_of(k, i);
  const bool bias = has_bias && k == 0;
  if (kind == Whole::kSmall || bias) return static_cast<int32_t>(bits % 7) - 3;
  const bool is_a = k == (has_bias ? 1U : 0U);
  const bool few_bits = kind == Whole::k17BitsInA || kind == Whole::k17BitsInB;
  if (is_a == (kind == Whole::k17BitsInA || kind == Whole::k23BitsInA)) {
    const int32_t limit = few_bits ? 1 << 17 : 1 << 23;
    return static_cast<int32_t>(bits % static_cast<uint64_t>(2 * limit - 1)) - limit + 1;
  }
  const int32_t sign = (bits & 1U) != 0 ? 1 : -1;
  if (few_bits) return (bits >> 8U) % 16 == 0 ? sign : 0;  // at most 127 nonzero elements for each K that is tested
  const int64_t at = is_a ? i % of.k : i / of.n % of.k;
  const int64_t line = is_a ? i / of.k : i % of.n;
  return at == static_cast<int64_t>(bits_of(3, line) % static_cast<uint64_t>(of.k)) ? sign : 0;
}

// The exact product of whole numbers.
std::vector<int32_t> exact_sums(Whole kind, const Sizes& of, bool has_bias) {
  const size_t first = has_bias ? 1 : 0;
  std::vector<int32_t> sums;
  for (int64_t batch = 0; batch < std::max<int64_t>(1, of.batches); ++batch) {
    std::vector<int32_t> b(static_cast<size_t>(of.k * of.n));
    for (size_t i = 0; i < b.size(); ++i)
      b[i] = whole_number(kind, of, has_bias, first + 1, batch * of.k * of.n + static_cast<int64_t>(i));
    for (int64_t i = 0; i < of.m; ++i) {
      std::vector<int32_t> row;
      for (int64_t j = 0; j < of.n; ++j) row.push_back(has_bias ? whole_number(kind, of, has_bias, 0, j) : 0);
      for (int64_t k = 0; k < of.k; ++k) {
        const int32_t factor = whole_number(kind, of, has_bias, first, (batch * of.m + i) * of.k + k);
        const int32_t* const line = b.data() + k * of.n;
        for (size_t j = 0; j < row.size(); ++j) row[j] += factor * line[j];
      }
      sums.insert(sums.end(), row.begin(), row.end());
    }
  }
  return sums;
}

// One product whose operands have separate memory.
class Product {
 public:
  Product(const OpCard& op, DType dtype, const Sizes& sizes, const Placement& at)
      : sizes_(sizes), signature_{&op, {}, {}, {}} {
    if (&op == &kAddmm) signature_.in.push_back(contiguous_type(dtype, {sizes.n}));
    signature_.in.push_back({dtype, placed(sizes.a(), at.a_transposed, at.padded)});
    signature_.in.push_back({dtype, placed(sizes.b(), at.b_transposed, at.padded)});
    signature_.out = op.infer({}, signature_.in);
    for (const TensorType& type : signature_.in) inputs_.emplace_back(type);
    for (GuardedTensor& input : inputs_) in_.push_back(input.view());
  }

  void fill() {
    for (size_t k = 0; k < in_.size(); ++k) {
      for (int64_t i = 0; i < in_[k].numel(); ++i) in_[k].put(i, number(k, i));
    }
  }
  void fill(Whole kind) {
    for (size_t k = 0; k < in_.size(); ++k) {
      for (int64_t i = 0; i < in_[k].numel(); ++i)
        in_[k].put(i, whole_number(kind, sizes_, signature_.op == &kAddmm, k, i));
    }
  }

  // Sets the elements of each input, given in row-major order.
  void fill_with(const std::array<std::vector<double>, 2>& values) {
    for (size_t k = 0; k < in_.size(); ++k)
      for (size_t i = 0; i < values[k].size(); ++i) in_[k].put(static_cast<int64_t>(i), values[k][i]);
  }
  // Copies the bits of one element, because a conversion may change a NaN.
  void put(size_t input, int64_t i, float value) {
    std::byte* const to = in_[input].data + in_[input].position(i) * size_of(DType::kFloat32);
    std::memcpy(to, &value, sizeof(value));
  }

  const Signature& signature() const { return signature_; }

  // Returns the bytes of the result. If the kernel writes outside the memory of an operand, `error` says where.
  std::vector<std::byte> run(const Kernel& kernel, cpu::Team& team, std::string& error) {
    GuardedTensor out(signature_.out[0]);
    const TensorView out_view = out.view();
    GuardedTensor workspace(contiguous_type(DType::kBool, {kernel.workspace_bytes(signature_)}));
    if (kernel.prepare != nullptr) kernel.prepare(signature_, team);
    kernel.launch({*signature_.op, signature_.attributes, in_, {&out_view, 1}, workspace.view().data, team});
    if (!out.guards_intact()) error = "writes around the result";
    if (!workspace.guards_intact()) error = "writes around its workspace";
    for (const GuardedTensor& input : inputs_) {
      if (!input.guards_intact()) error = "writes around an input";
    }
    return {out.bytes().begin(), out.bytes().end()};
  }

  // The sums, rounded once to the type of the result.
  std::vector<std::byte> as_result(const std::vector<int32_t>& sums) const {
    std::vector<std::byte> bytes(static_cast<size_t>(signature_.out[0].bytes()));
    const TensorView view{bytes.data(), signature_.out[0]};
    for (size_t i = 0; i < sums.size(); ++i) view.store(static_cast<int64_t>(i), sums[i]);
    return bytes;
  }

 private:
  Sizes sizes_;
  Signature signature_;
  std::vector<GuardedTensor> inputs_;
  std::vector<TensorView> in_;
};

// Sizes with several blocks of rows, of columns and of K for every kernel, with remainders. Also K, N or M of 1, and
// batches.
const std::vector<Sizes>& block_sizes() {
  static const std::vector<Sizes> kSizes{{0, 525, 40, 30}, {0, 40, 790, 30}, {0, 30, 35, 1000}, {0, 345, 530, 390},
                                         {0, 130, 70, 1},  {0, 700, 1, 60},  {0, 700, 75, 401}, {0, 1, 900, 60},
                                         {3, 70, 90, 130}, {2, 1, 1, 1}};
  return kSizes;
}

class MatmulKernel : public testing::TestWithParam<Kernel> {};
std::string kernel_name(const testing::TestParamInfo<Kernel>& parameter) { return parameter.param.name; }
INSTANTIATE_TEST_SUITE_P(Blocks, MatmulKernel, testing::ValuesIn(kernels_of(kMatmul)), kernel_name);
class AddmmKernel : public MatmulKernel {};
INSTANTIATE_TEST_SUITE_P(Blocks, AddmmKernel, testing::ValuesIn(kernels_of(kAddmm)), kernel_name);

void expect_exact(const Kernel& kernel) {
  cpu::Team team(2);
  std::map<DType, int> runs;
  for (const Sizes& sizes : block_sizes()) {
    if (sizes.batches > 0 && kernel.op == &kAddmm) continue;
    const std::vector<int32_t> sums = exact_sums(Whole::kSmall, sizes, kernel.op == &kAddmm);
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16, DType::kFloat16}) {
      for (const Placement& at : placements()) {
        Product product(*kernel.op, dtype, sizes, at);
        if (!kernel.refusal(product.signature()).empty()) continue;
        product.fill(Whole::kSmall);
        std::string error;
        const std::vector<std::byte> result = product.run(kernel, team, error);
        EXPECT_EQ(error, "") << product.signature().text();
        EXPECT_TRUE(result == product.as_result(sums)) << product.signature().text();
        ++runs[dtype];
      }
    }
  }
  // For every type that it supports, a kernel must accept at least this many sizes with contiguous rows or columns.
  const int least = kernel.op == &kAddmm ? 8 : 10;
  EXPECT_FALSE(runs.empty());
  for (const auto& [dtype, count] : runs)
    EXPECT_GE(count, static_cast<int>(placements().size()) * least)
        << "too many rejected products of " << name_of(dtype);
}

TEST_P(MatmulKernel, IsExactOnWholeNumbers) { expect_exact(GetParam()); }
TEST_P(AddmmKernel, IsExactOnWholeNumbers) { expect_exact(GetParam()); }

void expect_exact_on_long_numbers(const Kernel& kernel) {
  cpu::Team team(2);
  for (const Whole kind : {Whole::k17BitsInA, Whole::k17BitsInB, Whole::k23BitsInA, Whole::k23BitsInB}) {
    for (const Sizes& sizes : {Sizes{0, 40, 75, 1000}, Sizes{0, 130, 70, 1}, Sizes{0, 75, 90, 401}}) {
      const std::vector<int32_t> sums = exact_sums(kind, sizes, kernel.op == &kAddmm);
      for (const Placement& at :
           {Placement{false, false, false}, Placement{false, true, true}, Placement{true, false, false}}) {
        Product product(*kernel.op, DType::kFloat32, sizes, at);
        if (!kernel.refusal(product.signature()).empty()) continue;
        product.fill(kind);
        std::string error;
        EXPECT_TRUE(product.run(kernel, team, error) == product.as_result(sums)) << product.signature().text();
      }
    }
  }
}

TEST_P(MatmulKernel, IsExactOnFactorsWithManySignificantBits) { expect_exact_on_long_numbers(GetParam()); }
TEST_P(AddmmKernel, IsExactOnFactorsWithManySignificantBits) { expect_exact_on_long_numbers(GetParam()); }

TEST_P(MatmulKernel, SlowGivesTheSameBitsForEveryThreadCountAndRun) {
  const Kernel& kernel = GetParam();
  std::array<std::unique_ptr<cpu::Team>, 3> teams;
  for (size_t i = 0; i < teams.size(); ++i) teams[i] = std::make_unique<cpu::Team>(static_cast<int>(i) + 1);
  for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
    for (const Sizes& sizes :
         {Sizes{0, 345, 530, 390}, Sizes{0, 128, 400, 1100}, Sizes{5, 70, 90, 130}, Sizes{0, 700, 75, 401}}) {
      for (const Placement& at :
           {Placement{false, false, false}, Placement{false, true, false}, Placement{true, false, true}}) {
        Product product(kMatmul, dtype, sizes, at);
        if (!kernel.refusal(product.signature()).empty()) continue;
        product.fill();
        std::string error;
        const std::vector<std::byte> first = product.run(kernel, *teams[0], error);
        const size_t runs = at.b_transposed ? 20 : 5;
        for (size_t run = 0; run < runs; ++run) {
          ASSERT_TRUE(product.run(kernel, *teams[run % 3], error) == first)
              << product.signature().text() << ": run " << run << " on " << run % 3 + 1 << " threads";
        }
      }
    }
  }
}

// The split of K depends on K alone, so register tiles of all shapes give the same bits. The kernels compared here all
// use fused multiply-adds.
TEST(MatmulTiles, AllShapesGiveTheSameBits) {
  cpu::Team team(2);
  std::string error;
  std::vector<Kernel> tiles;
  for (const Kernel& kernel : kernels_of(kMatmul)) {
    if (kernel.name.starts_with("tiles_") && kernel.name.find("_avx") != std::string::npos) tiles.push_back(kernel);
  }
  for (const Placement& at : placements()) {
    for (const Sizes& sizes : {Sizes{0, 90, 75, 1000}, Sizes{0, 700, 75, 401}}) {
      Product product(kMatmul, DType::kFloat32, sizes, at);
      product.fill();
      for (const Kernel& kernel : tiles) {
        if (!kernel.refusal(product.signature()).empty()) continue;
        EXPECT_TRUE(product.run(kernel, team, error) == product.run(tiles[0], team, error)) << kernel.name;
      }
    }
  }
}

TEST(MatmulKernels, StateTheReasonForRejection) {
  Signature mixed{
      &kMatmul, {}, {contiguous_type(DType::kBFloat16, {4, 5}), contiguous_type(DType::kFloat32, {5, 6})}, {}};
  mixed.out = kMatmul.infer({}, mixed.in);
  Signature wide = mixed;
  for (TensorType* type : {&wide.in[0], &wide.in[1], &wide.out[0]}) type->dtype = DType::kFloat64;
  Signature gaps{
      &kMatmul,
      {},
      {{DType::kFloat32, arranged({4, 5}, Arrangement::kStrided, 0)}, contiguous_type(DType::kFloat32, {5, 6})},
      {}};
  gaps.out = kMatmul.infer({}, gaps.in);
  Signature narrow = mixed;
  for (TensorType* type : {&narrow.in[1], &narrow.out[0]}) type->dtype = DType::kBFloat16;
  Signature folded = narrow;
  folded.attributes = ProductAttributes{.compute = {}, .output = DType::kFloat32, .addend = false};
  folded.out[0].dtype = DType::kFloat32;
  for (const Kernel& kernel : kernels_of(kMatmul)) {
    if (kernel.name == "amx_bf16x6") {
      EXPECT_NE(kernel.refusal(wide).find("an operand is float64"), std::string::npos);
      EXPECT_EQ(kernel.refusal(folded), "the product is computed in bfloat16, not float32");
      EXPECT_EQ(kernel.refusal(mixed), "a factor is bfloat16");
      EXPECT_EQ(kernel.refusal(gaps), "");
      continue;
    }
    const bool dot = kernel.name == "tiles_dot_bf16" || kernel.name == "amx_bf16";
    EXPECT_NE(kernel.refusal(wide).find("an operand is float64"), std::string::npos) << kernel.name;
    EXPECT_EQ(kernel.refusal(folded), "") << kernel.name;
    EXPECT_EQ(kernel.refusal(mixed), dot ? "the product is computed in float32, not bfloat16" : "") << kernel.name;
    EXPECT_EQ(kernel.refusal(gaps), dot ? "the product is computed in float32, not bfloat16" : "") << kernel.name;
  }
}

// The L2 norm of the error of a float32 result, divided by the norm of the exact result.
double relative_error(const std::vector<std::byte>& result, const std::vector<double>& exact) {
  double error = 0;
  double square = 0;
  for (size_t i = 0; i < exact.size(); ++i) {
    float value = 0;
    std::memcpy(&value, result.data() + i * sizeof(float), sizeof(float));
    error += (value - exact[i]) * (value - exact[i]);
    square += exact[i] * exact[i];
  }
  return std::sqrt(error / square);
}

const Kernel* kernel_named(const std::vector<Kernel>& kernels, const std::string& name) {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& k) { return k.name == name; });
  return found == kernels.end() ? nullptr : &*found;
}

// A product whose factors are split into three bfloat16 terms, computed as six products of terms, is more accurate than
// fused float32 multiply-adds. If the magnitudes of elements differ by up to 2^40, the rounding error of the sum of the
// six products may be slightly larger.
TEST(MatmulSplit, IsAsAccurateAsFloat32) {
  const std::vector<Kernel> kernels = kernels_of(kMatmul);
  const Kernel* const split = kernel_named(kernels, "amx_bf16x6");
  if (split == nullptr) GTEST_SKIP() << "this machine has no AMX";
  const Kernel* const tiles = kernel_named(kernels, "tiles_avx512");
  ASSERT_NE(tiles, nullptr);
  cpu::Team team(2);
  std::string error;
  for (const Sizes& of : {Sizes{0, 70, 60, 40}, Sizes{0, 70, 60, 1500}}) {
    for (const int spread : {0, 20}) {
      for (const Placement& at : placements()) {
        Product product(kMatmul, DType::kFloat32, of, at);
        std::array<std::vector<double>, 2> values;
        for (size_t k = 0; k < 2; ++k) {
          for (int64_t i = 0; i < of.m * of.k + (k == 0 ? 0 : (of.n - of.m) * of.k); ++i) {
            const int64_t exponent = spread == 0 ? 0 : static_cast<int64_t>(bits_of(k + 7, i) % 40) - spread;
            values[k].push_back(static_cast<float>(std::ldexp(number(k, i), static_cast<int>(exponent))));
          }
        }
        product.fill_with(values);
        std::vector<double> exact(static_cast<size_t>(of.m * of.n));
        for (int64_t i = 0; i < of.m; ++i)
          for (int64_t j = 0; j < of.n; ++j)
            for (int64_t k = 0; k < of.k; ++k)
              exact[static_cast<size_t>(i * of.n + j)] +=
                  values[0][static_cast<size_t>(i * of.k + k)] * values[1][static_cast<size_t>(k * of.n + j)];
        const double ours = relative_error(product.run(*split, team, error), exact);
        const double theirs = relative_error(product.run(*tiles, team, error), exact);
        EXPECT_LT(ours, (spread == 0 ? 1.0 : 1.5) * theirs) << product.signature().text() << ", spread " << spread;
        EXPECT_LT(ours, 3e-7) << product.signature().text();
      }
    }
  }
}

// An infinite factor may give NaN. The largest finite number gives a finite result.
TEST(MatmulSplit, OnlyNonFiniteFactorsGiveNonFiniteResults) {
  const std::vector<Kernel> kernels = kernels_of(kMatmul);
  const Kernel* const split = kernel_named(kernels, "amx_bf16x6");
  if (split == nullptr) GTEST_SKIP() << "this machine has no AMX";
  cpu::Team team(1);
  std::string error;
  const Sizes of{0, 40, 35, 50};
  for (const Placement& at : placements()) {
    for (const uint32_t bits :
         {0x7FC00000U, 0xFFFFFFFFU, 0x7FFFFFFFU, 0x7F800001U, 0x7F800000U, 0xFF800000U, 0x7F7FFFFFU}) {
      Product product(kMatmul, DType::kFloat32, of, at);
      std::array<std::vector<double>, 2> values{std::vector<double>(static_cast<size_t>(of.m * of.k), 0.25),
                                                std::vector<double>(static_cast<size_t>(of.k * of.n), 0.5)};
      const auto value = std::bit_cast<float>(bits);
      product.fill_with(values);
      product.put(0, 3 * of.k + 7, value);
      const std::vector<std::byte> result = product.run(*split, team, error);
      for (int64_t i = 0; i < of.m; ++i) {
        float got = 0;
        std::memcpy(&got, result.data() + i * of.n * 4, sizeof(got));
        EXPECT_EQ(std::isfinite(got), i != 3 || std::isfinite(value)) << std::hex << bits << " row " << i;
      }
    }
  }
}

int64_t page_faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt + usage.ru_majflt;
}

// After warm-up, a launch must not need new memory, not even for the buffers of a library.
TEST(MatmulKernels, AllocateNoBuffersAfterWarmup) {
#ifdef LAPTIME_SANITIZES_MEMORY
  GTEST_SKIP() << "sanitizers cause page faults of their own";
#endif
  cpu::CpuBackend backend(cpu_kernels(cpu::widest_isa()), 2);
  const Attributes attributes;
  for (const Kernel& kernel : backend.kernels(kMatmul)) {
    if (kernel.name == kReferenceName) continue;
    for (const DType dtype : {DType::kFloat32, DType::kBFloat16}) {
      for (const Placement& at :
           {Placement{false, true, false}, Placement{false, false, false}, Placement{true, false, false}}) {
        const Product product(kMatmul, dtype, {0, 600, 800, 500}, at);
        if (!kernel.refusal(product.signature()).empty()) continue;
        std::vector<std::unique_ptr<DeviceMemory>> memory;
        std::vector<TensorView> views;
        for (const TensorType& type :
             {product.signature().in[0], product.signature().in[1], product.signature().out[0]}) {
          memory.push_back(backend.allocate(type.bytes()));
          views.push_back({memory.back()->data(), type});
        }
        memory.push_back(backend.allocate(kernel.workspace_bytes(product.signature())));
        const std::span<const TensorView> all(views);
        const Launch launch{.kernel = &kernel,
                            .attributes = &attributes,
                            .in = all.first(2),
                            .out = all.last(1),
                            .workspace = memory.back()->data()};
        backend.prepare(kernel, product.signature());
        for (int i = 0; i < 3; ++i) backend.launch(launch);
        constexpr int kLaunches = 10;
        const int64_t before = page_faults();
        for (int i = 0; i < kLaunches; ++i) backend.launch(launch);
        // The heap may need a new page once in a while, for the lists of a launch.
        EXPECT_LT(page_faults() - before, kLaunches) << kernel.name << " of " << product.signature().text();
      }
    }
  }
}

}  // namespace
}  // namespace laptime::test
