// Runs layer norm on rows whose values grow until float16 cannot represent their squares.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "base/random.h"
#include "demo/cells.h"
#include "demo/demo.h"
#include "demo/graph_run.h"
#include "model/demonstrations/demonstrations.h"

namespace laptime {
namespace {

constexpr int64_t kWidth = 768;

// `kWidth` numbers between -scale and scale, with the same pattern at every scale.
std::vector<double> row_of(double scale) {
  std::vector<double> row(kWidth);
  for (size_t i = 0; i < row.size(); ++i) row[i] = scale * (static_cast<double>(splitmix64(i) >> 11U) * 0x1p-52 - 1);
  return row;
}

struct Result {
  double error = 0;
  std::optional<double> variance;
};

Result norm_of(DType dtype, NormForm form, const std::vector<double>& row) {
  GraphRun run(layer_norm_graph(dtype, kWidth, form));
  GraphRun exact(layer_norm_graph(DType::kFloat64, kWidth, NormForm::kWrittenOut));
  run.write("x", row);
  exact.write("x", run.source("x"));  // excludes the error of rounding x itself
  run.run();
  exact.run();
  Result result{.error = relative_error(run.output("y"), exact.output("y")), .variance = {}};
  if (form == NormForm::kWrittenOut) result.variance = run.output("variance").at(0);
  return result;
}

TableCell variance_cell(double variance) {
  return {finite(variance), std::isfinite(variance) ? fmt::format("{:.4g}", variance) : "infinite"};
}

struct Form {
  std::string key, title;
  DType dtype;
  NormForm form;
};
const std::array<Form, 5>& forms() {
  static const std::array<Form, 5> kForms{
      Form{"float16", "float16", DType::kFloat16, NormForm::kWrittenOut},
      Form{"bfloat16", "bfloat16", DType::kBFloat16, NormForm::kWrittenOut},
      Form{"float32", "float32", DType::kFloat32, NormForm::kWrittenOut},
      Form{"float16_kernel", "float16, f32 sums", DType::kFloat16, NormForm::kKernel},
      Form{"bfloat16_kernel", "bfloat16, f32 sums", DType::kBFloat16, NormForm::kKernel}};
  return kForms;
}

}  // namespace

PointAnswer demonstrate_layer_norm() {
  const TableColumn largest_column{.key = "largest", .title = "largest |x|"};
  Table errors = table_of("errors", "relative error of y against float64", largest_column);
  Table variances = table_of("variances", "variance, computed op by op in each type", largest_column);
  for (const Form& form : forms()) {
    errors.columns.push_back({.key = form.key, .title = form.title});
    if (form.form == NormForm::kWrittenOut) variances.columns.push_back({.key = form.key, .title = form.title});
  }
  double overflows_at = 0;
  for (const double largest : {1.0, 10.0, 100.0, 200.0, 300.0, 500.0, 1e3, 1e4, 6e4}) {
    const TableCell first(largest, fmt::format("{:g}", largest));
    std::vector<TableCell> error_row{first};
    std::vector<TableCell> variance_row{first};
    for (const Form& form : forms()) {
      const Result result = norm_of(form.dtype, form.form, row_of(largest));
      const bool overflows = result.variance && !std::isfinite(*result.variance);
      error_row.push_back(overflows ? TableCell(nullptr, "overflow") : error_cell(result.error));
      if (result.variance) variance_row.push_back(variance_cell(*result.variance));
      if (overflows && overflows_at == 0) overflows_at = largest;
    }
    errors.add(std::move(error_row));
    variances.add(std::move(variance_row));
  }
  PointAnswer answer{.name = "demo layernorm"};
  answer.say(fmt::format(
      "Layer norm in float16 overflows where |x - mean| exceeds 255.9, here once the largest |x| is {}: "
      "the square is above 65504, the variance is infinite, and y is all zeros. bfloat16 has the exponent range of "
      "float32 and does not overflow, but is less accurate.",
      overflows_at));
  answer.say(
      "Autocast to either type therefore computes layer norm in float32; a kernel with float32 sums may keep x in "
      "float16.");
  answer.show(std::move(errors));
  answer.show(std::move(variances));
  return answer;
}

}  // namespace laptime
