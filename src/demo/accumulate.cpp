// Sums of many small numbers.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "demo/cells.h"
#include "demo/demo.h"
#include "demo/graph_run.h"
#include "model/demonstrations/demonstrations.h"

namespace laptime {
namespace {

constexpr int64_t kTerms = 10'000;
constexpr int64_t kDocumentTerms = 1000;  // of the loops in the source documents

std::string digits(const Json& value) { return fmt::format("{:.6g}", value.get<double>()); }

std::string exact_digits(const Json& value) { return fmt::format("{:.10g}", value.get<double>()); }

struct Loop {
  std::string name;
  Accumulation graph;
};

std::vector<Loop> loops() {
  constexpr DType kFloat = DType::kFloat32;
  constexpr DType kHalf = DType::kFloat16;
  return {{"float32 += float32", {.sum = kFloat, .element = kFloat}},
          {"float16 += float16", {.sum = kHalf, .element = kHalf}},
          {"float32 += float16", {.sum = kFloat, .element = kHalf}},
          {"float32 += float32(float16)", {.sum = kFloat, .element = kHalf, .widens = true}},
          {"bfloat16 += bfloat16", {.sum = DType::kBFloat16, .element = DType::kBFloat16}}};
}

}  // namespace

PointReport demonstrate_accumulation() {
  Grid sums = grid_of("sums", "sum after so many additions of 0.01", text_column("loop", "loop"));
  Grid elements = grid_of("elements", "0.01 as each type holds it", text_column("dtype", "type"));
  elements.columns.push_back({.key = "element", .title = "0.01 is", .shown = exact_digits});
  for (int64_t terms = 1; terms <= kTerms; terms *= 10)
    sums.columns.push_back({.key = fmt::format("after_{}", terms), .title = fmt::format("{}", terms), .shown = digits});
  sums.columns.push_back({.key = "error", .title = "error", .shown = [](const Json& value) {
                            return fmt::format("{:+.2f} %", 100 * value.get<double>());
                          }});
  sums.columns[1].optional = 1;  // what one addition gives is 0.01 as the second table has it
  std::vector<double> after_document;
  double half_element = 0;
  for (const Loop& loop : loops()) {
    GraphRun run(accumulation_graph(loop.graph));
    std::vector<Json> row{loop.name};
    double sum = 0;
    for (int64_t term = 1, shown = 1; term <= kTerms; ++term) {
      run.run();
      if (term != shown) continue;
      sum = run.source("sum").at(0);
      row.emplace_back(sum);
      if (term == kDocumentTerms) after_document.push_back(sum);
      shown *= 10;
    }
    const double exact = loop.graph.value * static_cast<double>(kTerms);
    row.emplace_back(sum / exact - 1);
    const double element = run.output("element").at(0);
    if (loop.graph.element == DType::kFloat16) half_element = element;
    if (loop.graph.sum == loop.graph.element)
      elements.rows.push_back({std::string(name_of(loop.graph.element)), element});
    sums.rows.push_back(std::move(row));
  }
  std::vector<std::string> lines{
      fmt::format("After {} additions of 0.01: {:.4f} in float32, {:.4f} in float16, {:.4f} in float32 of float16 "
                  "elements, whether they are widened before or by the addition.",
                  kDocumentTerms, after_document[0], after_document[1], after_document[2]),
      fmt::format(
          "float16(0.01) is {:.7f}: a float32 sum of such elements is nearly exact, but of another number. A float16 "
          "sum also rounds every addition, and stands still once 0.01 is less than half of its last place.",
          half_element)};
  return {"demo accumulate", std::move(lines), {std::move(sums), std::move(elements)}};
}

}  // namespace laptime
