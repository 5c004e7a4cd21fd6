// Operands are rounded into the workspace, line by line.
#include "backend/cpu/gemm/narrowed_gemm.h"

#include <algorithm>
#include <optional>

#include "backend/cpu/gemm/onednn/onednn_gemm.h"
#include "backend/cpu/gemm/tiles/tiles_words.h"

namespace laptime::LAPTIME_ISA {
namespace {

// Matrices as lines without gaps: rows, or columns of transposed ones.
struct Lines {
  int64_t batches = 1, count = 0, size = 0;
  int64_t batch_stride = 0, stride = 0;
  bool transposed = false;

  int64_t elements() const { return batches * count * size; }
  cpu::MatrixLayout packed() const { return {count * size, transposed ? 1 : size, transposed ? size : 1}; }
};
std::optional<Lines> lines_of(const cpu::MatrixLayout& layout, int64_t batches, int64_t rows, int64_t columns) {
  const std::optional<cpu::BlasLayout> blas = cpu::blas_layout(layout, rows, columns);
  if (!blas) return std::nullopt;
  if (blas->transposed) std::swap(rows, columns);
  return Lines{batches, rows, columns, layout.batch_stride, blas->leading, blas->transposed};
}

bool rounds(const cpu::GemmOperand& operand) { return operand.present && operand.dtype == DType::kFloat32; }
int64_t bytes_of(int64_t elements) { return align_up(elements * size_of(DType::kBFloat16), 64); }

void round_line(const float* from, int64_t size, Brain* to) {
  int64_t i = 0;
  for (; i + kLanes <= size; i += kLanes) store(to + i, load(from + i));
  for (; i < size; ++i) to[i] = narrowed<Brain>(from[i]);
}

// The operand in bfloat16 at `to`.
void round_operand(cpu::Team& team, cpu::GemmOperand& operand, const Lines& lines, std::byte* to) {
  const auto* const from = reinterpret_cast<const float*>(operand.data);
  auto* const narrow = reinterpret_cast<Brain*>(to);
  const int64_t grain = std::max<int64_t>(1, 32768 / std::max<int64_t>(1, lines.size));
  team.parallel_blocks(lines.batches * lines.count, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const float* const line = from + i / lines.count * lines.batch_stride + i % lines.count * lines.stride;
      round_line(line, lines.size, narrow + i * lines.size);
    }
  });
  operand.dtype = DType::kBFloat16;
  operand.data = to;
}

struct Operands {
  std::optional<Lines> a, b;
  explicit Operands(const cpu::GemmShape& shape)
      : a(lines_of(shape.a, shape.batches, shape.m, shape.k)), b(lines_of(shape.b, shape.batches, shape.k, shape.n)) {}
};

// With the operands' layouts as they are once rounded.
cpu::GemmShape rounded_shape(const cpu::Gemm& gemm, const Operands& of) {
  cpu::GemmShape shape = gemm.shape;
  if (rounds(gemm.a)) shape.a = of.a->packed();
  if (rounds(gemm.b)) shape.b = of.b->packed();
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
  team.parallel_blocks(shape.batches * shape.m, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::copy_n(from + i / shape.m * layout.batch_stride + i % shape.m * layout.row_stride, shape.n,
                  to + i * shape.n);
  });
}

}  // namespace

std::string narrowed_refusal(const cpu::Gemm& gemm) {
  for (const cpu::GemmOperand* operand : {&gemm.a, &gemm.b, &gemm.bias}) {
    if (operand->present && operand->dtype != DType::kBFloat16 &&
        (operand->dtype != DType::kFloat32 || gemm.compute != DType::kBFloat16))
      return fmt::format("a {} operand: all must be bfloat16", name_of(operand->dtype));
  }
  if (gemm.compute != DType::kBFloat16) return fmt::format("a product in {}", name_of(gemm.compute));
  if (gemm.c_dtype != DType::kBFloat16 && gemm.c_dtype != DType::kFloat32)
    return fmt::format("a {} result", name_of(gemm.c_dtype));
  if (gemm.addend.present && (gemm.addend.dtype != DType::kFloat32 || gemm.c_dtype != DType::kFloat32))
    return "an addend that is not float32 as its result is";
  if (std::string reason = cpu::onednn_layout_refusal(gemm.shape); !reason.empty()) return reason;
  return cpu::onednn_bfloat16_refusal(rounded_shape(gemm, Operands(gemm.shape)), form_of(gemm));
}

int64_t narrowed_workspace(const cpu::Gemm& gemm) {
  const Operands of(gemm.shape);
  if (gemm.compute != DType::kBFloat16 || !of.a || !of.b) return 0;
  return (rounds(gemm.a) ? bytes_of(of.a->elements()) : 0) + (rounds(gemm.b) ? bytes_of(of.b->elements()) : 0) +
         (rounds(gemm.bias) ? bytes_of(gemm.shape.n) : 0);
}

void prepare_narrowed(cpu::Team& team, const cpu::Gemm& gemm) {
  cpu::prepare_onednn_bfloat16(team, rounded_shape(gemm, Operands(gemm.shape)), form_of(gemm));
}

void narrowed_gemm(cpu::Team& team, const cpu::Gemm& gemm) {
  const Operands of(gemm.shape);
  cpu::Gemm narrow = gemm;
  narrow.shape = rounded_shape(gemm, of);
  std::byte* free = gemm.workspace;
  const auto round = [&](cpu::GemmOperand& operand, const Lines& lines) {
    if (!rounds(operand)) return;
    round_operand(team, operand, lines, free);
    free += bytes_of(lines.elements());
  };
  round(narrow.a, *of.a);
  round(narrow.b, *of.b);
  round(narrow.bias, {.count = 1, .size = gemm.shape.n});
  if (gemm.addend.present) copy_addend(team, gemm);
  cpu::onednn_bfloat16_gemm(team, narrow);
}

}  // namespace laptime::LAPTIME_ISA
