// Embedding: kernels compared with the references, and gradients.
#include "ops/embedding/embedding.h"

#include "support/conformance.h"
#include "support/gradient_check.h"

namespace laptime::test {
namespace {

std::vector<ConformanceCase> embedding_rows() {
  struct Size {
    Shape ids;
    int64_t vocabulary, columns;
  };
  std::vector<ConformanceCase> rows;
  for (const Size& size :
       std::vector<Size>{{{7}, 5, 3}, {{2, 9}, 11, 40}, {{3, 60}, 300, 65}, {{5, 33}, 7, 1100}, {{2, 1030}, 70, 2}}) {
    const Operand ids{.shape = size.ids,
                      .values = Values::kIndices,
                      .dtype = DType::kInt64,
                      .bound = static_cast<double>(size.vocabulary)};
    Shape grad = size.ids;
    grad.push_back(size.columns);
    rows.push_back({.op = &kEmbedding,
                    .attributes = EmbeddingAttributes{},
                    .inputs = {{.shape = {size.vocabulary, size.columns}}, ids},
                    .may_refuse = kGaps,
                    .slack = 0});
    rows.push_back({.op = &kEmbeddingBackward,
                    .attributes = EmbeddingBackwardAttributes{size.vocabulary},
                    .inputs = {{.shape = grad}, ids},
                    .dtypes = {DType::kFloat32},
                    .may_refuse = kGaps});
    rows.push_back({.op = &kEmbeddingBackward,
                    .attributes = EmbeddingBackwardAttributes{.rows = size.vocabulary, .pad = 2},
                    .inputs = {{.shape = grad}, ids},
                    .dtypes = {DType::kFloat32},
                    .may_refuse = kGaps});
    rows.push_back({.op = &kEmbeddingBackward,
                    .attributes = EmbeddingBackwardAttributes{.rows = size.vocabulary, .addend = true},
                    .inputs = {{.shape = grad}, ids, {.shape = {size.vocabulary, size.columns}}},
                    .dtypes = {DType::kFloat32},
                    .may_refuse = kGaps});
  }
  for (const int64_t size : {1, 3000}) {
    rows.push_back({.op = &kArange,
                    .attributes = ArangeAttributes{size},
                    .dtypes = {DType::kFloat32},
                    .arrangements = {Arrangement::kContiguous},
                    .slack = 0});
  }
  return rows;
}

LAPTIME_CONFORMANCE(Embedding, embedding_rows());

TEST(Embedding, GradientMatchesFiniteDifferences) {
  const Operand ids{.shape = {3, 4}, .values = Values::kIndices, .dtype = DType::kInt64, .bound = 5};
  expect_gradient({.op = &kEmbedding, .attributes = EmbeddingAttributes{}, .inputs = {{.shape = {5, 6}}, ids}});
}

}  // namespace
}  // namespace laptime::test
