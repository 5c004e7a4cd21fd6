// Rounds float32 operands into the workspace, one contiguous row or column after the other, copies the addend to C, and
// multiplies with oneDNN.
#include "backend/cpu/gemm/narrowed_gemm.h"

#include <algorithm>
#include <optional>

#include "backend/cpu/gemm/onednn/onednn_gemm.h"
#include "backend/cpu/vector/vectors.h"

namespace laptime::LAPTIME_ISA {
namespace {

// A batch of matrices as contiguous lines: their rows or, if transposed, their columns.
struct Lines {
  int64_t batches = 1, count = 0, size = 0;
  int64_t batch_stride = 0, stride = 0;
  bool transposed = false;

  int64_t elements() const { return batches * count * size; }
  // The layout of the matrices after their lines have been stored without gaps between them.
  cpu::MatrixLayout packed() const { return {count * size, transposed ? 1 : size, transposed ? size : 1}; }
};
std::optional<Lines> lines_of(const cpu::MatrixLayout& layout, int64_t batches, int64_t rows, int64_t columns) {
  const std::optional<cpu::BlasLayout> blas = cpu::blas_layout(layout, rows, columns);
  if (!blas) return std::nullopt;
  if (blas->transposed) std::swap(rows, columns);
  return Lines{batches, rows, columns, layout.batch_stride, blas->leading, blas->transposed};
}

bool needs_rounding(const cpu::GemmOperand& operand) { return operand.present && operand.dtype == DType::kFloat32; }
int64_t rounded_bytes(int64_t elements) { return align_up(elements * size_of(DType::kBFloat16), 64); }

void round_line(const float* from, int64_t size, BFloat16* to) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) store(to + i, load(from + i));
  for (; i < size; ++i) to[i] = narrowed<BFloat16>(from[i]);
}

// Rounds an operand, stores the result at `to` and makes the operand point to it.
void round_operand(cpu::Team& team, cpu::GemmOperand& operand, const Lines& lines, std::byte* to) {
  const auto* const from = reinterpret_cast<const float*>(operand.data);
  auto* const narrow = reinterpret_cast<BFloat16*>(to);
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, lines.size));
  const auto round = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* const line = from + i / lines.count * lines.batch_stride + i % lines.count * lines.stride;
      round_line(line, lines.size, narrow + i * lines.size);
    }
  };
  team.parallel_blocks(lines.batches * lines.count, grain, round, moving(2 * lines.elements()));
  operand.dtype = DType::kBFloat16;
  operand.data = to;
}

// The factors as lines; empty for a factor with neither contiguous rows nor contiguous columns.
struct FactorLines {
  std::optional<Lines> a, b;
  explicit FactorLines(const cpu::GemmShape& shape)
      : a(lines_of(shape.a, shape.batches, shape.m, shape.k)), b(lines_of(shape.b, shape.batches, shape.k, shape.n)) {}
};

// The shape of the product, with the layouts of the rounded factors.
cpu::GemmShape rounded_shape(const cpu::Gemm& gemm, const FactorLines& lines) {
  cpu::GemmShape shape = gemm.shape;
  if (needs_rounding(gemm.a)) shape.a = lines.a->packed();
  if (needs_rounding(gemm.b)) shape.b = lines.b->packed();
  return shape;
}

cpu::BfloatForm form_of(const cpu::Gemm& gemm) {
  return {gemm.bias.present, gemm.c_dtype == DType::kFloat32, gemm.addend.present};
}

void copy_addend(cpu::Team& team, const cpu::Gemm& gemm) {
  if (gemm.addend.data == gemm.c) return;
  const cpu::GemmShape& shape = gemm.shape;
  const cpu::MatrixLayout& layout = gemm.addend_layout;
  const auto* const from = reinterpret_cast<const float*>(gemm.addend.data);
  auto* const to = reinterpret_cast<float*>(gemm.c);
  const int64_t grain = std::max<int64_t>(1, 32768 / shape.n);
  const int64_t rows = shape.batches * shape.m;
  const auto copy = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::copy_n(from + i / shape.m * layout.batch_stride + i % shape.m * layout.row_stride, shape.n,
                  to + i * shape.n);
  };
  team.parallel_blocks(rows, grain, copy, moving(2 * rows * shape.n));
}

}  // namespace

std::string narrowed_refusal(const cpu::Gemm& gemm) {
  for (const cpu::GemmOperand* operand : {&gemm.a, &gemm.b, &gemm.bias}) {
    if (operand->present && operand->dtype != DType::kBFloat16 &&
        (operand->dtype != DType::kFloat32 || gemm.compute != DType::kBFloat16))
      return fmt::format("an operand is {}; all must be bfloat16", name_of(operand->dtype));
  }
  if (gemm.compute != DType::kBFloat16) return fmt::format("the product is computed in {}", name_of(gemm.compute));
  if (gemm.c_dtype != DType::kBFloat16 && gemm.c_dtype != DType::kFloat32)
    return fmt::format("the result is {}", name_of(gemm.c_dtype));
  if (gemm.addend.present && (gemm.addend.dtype != DType::kFloat32 || gemm.c_dtype != DType::kFloat32))
    return "the addend or its sum is not float32";
  if (std::string reason = cpu::onednn_layout_refusal(gemm.shape); !reason.empty()) return reason;
  return cpu::onednn_bfloat16_refusal(rounded_shape(gemm, FactorLines(gemm.shape)), form_of(gemm));
}

int64_t narrowed_workspace(const cpu::Gemm& gemm) {
  const FactorLines lines(gemm.shape);
  if (gemm.compute != DType::kBFloat16 || !lines.a || !lines.b) return 0;
  return (needs_rounding(gemm.a) ? rounded_bytes(lines.a->elements()) : 0) +
         (needs_rounding(gemm.b) ? rounded_bytes(lines.b->elements()) : 0) +
         (needs_rounding(gemm.bias) ? rounded_bytes(gemm.shape.n) : 0);
}

void prepare_narrowed(cpu::Team& team, const cpu::Gemm& gemm) {
  cpu::prepare_onednn_bfloat16(team, rounded_shape(gemm, FactorLines(gemm.shape)), form_of(gemm));
}

void narrowed_gemm(cpu::Team& team, const cpu::Gemm& gemm) {
  const FactorLines lines(gemm.shape);
  cpu::Gemm narrow = gemm;
  narrow.shape = rounded_shape(gemm, lines);
  std::byte* free = gemm.workspace;
  const auto round = [&](cpu::GemmOperand& operand, const Lines& source) {
    if (!needs_rounding(operand)) return;
    round_operand(team, operand, source, free);
    free += rounded_bytes(source.elements());
  };
  round(narrow.a, *lines.a);
  round(narrow.b, *lines.b);
  round(narrow.bias, {.count = 1, .size = gemm.shape.n});
  if (gemm.addend.present) copy_addend(team, gemm);
  cpu::onednn_bfloat16_gemm(team, narrow);
}

}  // namespace laptime::LAPTIME_ISA
