// Sums many small numbers in different number types, to show how the sums lose precision.
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
constexpr int64_t kDocumentTerms = 1000;  // number of terms in the source documents' loops

TableCell digits(double value) { return {value, fmt::format("{:.6g}", value)}; }

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

PointAnswer demonstrate_accumulation() {
  Table sums = table_of("sums", "sum after N additions of 0.01", text_of_rows("loop", "loop"));
  Table elements = table_of("elements", "0.01 in each type", text_of_rows("dtype", "type"));
  elements.columns.push_back({.key = "element", .title = "0.01 is"});
  for (int64_t terms = 1; terms <= kTerms; terms *= 10)
    sums.columns.push_back({.key = fmt::format("after_{}", terms), .title = fmt::format("{}", terms)});
  sums.columns.push_back({.key = "error", .title = "error", .unit = Unit::kFraction});
  sums.columns[1].drop = 1;  // omitted on narrow terminals, because the second table shows the same values
  std::vector<double> after_document;
  double half_element = 0;
  for (const Loop& loop : loops()) {
    GraphRun run(accumulation_graph(loop.graph));
    std::vector<TableCell> row{loop.name};
    double sum = 0;
    for (int64_t term = 1, shown = 1; term <= kTerms; ++term) {
      run.run();
      if (term != shown) continue;
      sum = run.source("sum").at(0);
      row.push_back(digits(sum));
      if (term == kDocumentTerms) after_document.push_back(sum);
      shown *= 10;
    }
    const double exact = loop.graph.value * static_cast<double>(kTerms);
    row.emplace_back(sum / exact - 1, fmt::format("{:+.2f} %", 100 * (sum / exact - 1)));
    const double element = run.output("element").at(0);
    if (loop.graph.element == DType::kFloat16) half_element = element;
    if (loop.graph.sum == loop.graph.element)
      elements.add({std::string(name_of(loop.graph.element)), {element, fmt::format("{:.10g}", element)}});
    sums.add(std::move(row));
  }
  PointAnswer answer{.name = "demo accumulate"};
  answer.say(
      fmt::format("After {} additions of 0.01: {:.4f} in float32, {:.4f} in float16, {:.4f} in float32 from float16 "
                  "elements, whether they are widened before or during the addition.",
                  kDocumentTerms, after_document[0], after_document[1], after_document[2]));
  answer.say(fmt::format(
      "float16(0.01) is {:.7f}: a float32 sum adds such elements almost exactly, but they are not 0.01. A float16 sum "
      "also rounds every addition, and stops growing once 0.01 is less than half a unit in its last place.",
      half_element));
  answer.show(std::move(sums));
  answer.show(std::move(elements));
  return answer;
}

}  // namespace laptime
