// Cards of the embedding and of the index constant.
#include "ops/embedding/embedding.h"

namespace laptime {
namespace {

std::vector<TensorType> infer_embedding(const Attributes&, std::span<const TensorType> in) {
  Shape shape = in[1].shape();
  shape.push_back(in[0].shape()[1]);
  return {contiguous_type(in[0].dtype, shape)};
}
std::vector<TensorType> infer_backward(const Attributes& attributes, std::span<const TensorType> in) {
  const auto& a = attributes.as<EmbeddingBackwardAttributes>();
  const TensorType result = contiguous_type(in[0].dtype, {a.rows, in[0].shape().back()});
  LAPTIME_CHECK(in.size() == (a.addend ? 3U : 2U), "wrong number of inputs: {}", in.size());
  if (a.addend)
    LAPTIME_CHECK(in[2].shape() == result.shape(), "addend {} does not match result {}", in[2].shape().text(),
                  result.shape().text());
  return {result};
}
std::vector<TensorType> infer_arange(const Attributes& attributes, std::span<const TensorType>) {
  return {contiguous_type(DType::kInt64, {attributes.as<ArangeAttributes>().size})};
}

void reference_embedding(const OpCall& call) {
  const int64_t columns = call.in[0].shape()[1];
  for (int64_t row = 0; row < call.in[1].numel(); ++row) {
    const auto id = static_cast<int64_t>(call.in[1].at(row));
    for (int64_t i = 0; i < columns; ++i) call.out[0].put(row * columns + i, call.in[0].at(id * columns + i));
  }
}

void reference_backward(const OpCall& call) {
  const int64_t columns = call.out[0].shape()[1];
  const int64_t pad = call.attributes.as<EmbeddingBackwardAttributes>().pad;
  std::vector<double> sums(static_cast<size_t>(call.out[0].numel()), 0.0);
  if (call.in.size() > 2) {
    for (int64_t i = 0; i < call.out[0].numel(); ++i) sums[static_cast<size_t>(i)] = call.in[2].at(i);
  }
  for (int64_t row = 0; row < call.in[1].numel(); ++row) {
    const auto id = static_cast<int64_t>(call.in[1].at(row));
    if (id == pad) continue;
    for (int64_t i = 0; i < columns; ++i)
      sums[static_cast<size_t>(id * columns + i)] += call.in[0].at(row * columns + i);
  }
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, sums[static_cast<size_t>(i)]);
}

void reference_arange(const OpCall& call) {
  for (int64_t i = 0; i < call.out[0].numel(); ++i) call.out[0].put(i, static_cast<double>(i));
}

// Only the rows that the ids select are read.
int64_t embedding_bytes(const Signature& s) { return (Size(s.out[0].bytes()) * 2 + s.in[1].bytes()).value(); }

// If the result overwrites the addend, only the rows that the ids select are read and written.
int64_t backward_bytes(const Signature& s) {
  const bool addend = s.attributes.as<EmbeddingBackwardAttributes>().addend;
  const Size rows(s.in[0].bytes());
  return (rows + s.in[1].bytes() + (addend ? rows * 2 : Size(s.out[0].bytes()))).value();
}

std::optional<Attributes> fold_addend(const Attributes& attributes) {
  auto folded = attributes.as<EmbeddingBackwardAttributes>();
  if (folded.addend) return std::nullopt;
  folded.addend = true;
  return Attributes(folded);
}

void gradient(GradientContext& c) {
  const EmbeddingBackwardAttributes attributes{.rows = c.build.shape(c.in[0])[0],
                                               .pad = c.attributes.as<EmbeddingAttributes>().pad};
  if (c.wanted[0]) c.grad_in[0] = c.build.emit_one(kEmbeddingBackward, attributes, {c.grad_out[0], c.in[1]});
}

}  // namespace

const OpCard kEmbedding = {.name = "embedding",
                           .kind = OpKind::kCopy,
                           .infer = infer_embedding,
                           .gradient = gradient,
                           .bytes = embedding_bytes,
                           .reference = reference_embedding};
const OpCard kEmbeddingBackward = {.name = "embedding_backward",
                                   .kind = OpKind::kReduction,
                                   .infer = infer_backward,
                                   .flops = [](const Signature& s) { return static_cast<double>(s.in[0].numel()); },
                                   .bytes = backward_bytes,
                                   .reference = reference_backward,
                                   .fold_addend = fold_addend,
                                   .may_overwrite = {{0, 2}}};
const OpCard kArange = {
    .name = "arange", .kind = OpKind::kConstant, .infer = infer_arange, .reference = reference_arange};

std::span<const OpCard* const> embedding_cards() {
  static constexpr const OpCard* kCards[] = {&kEmbedding, &kEmbeddingBackward, &kArange};
  return kCards;
}

ValueId embedding(Builder& build, ValueId weight, ValueId ids, int64_t pad) {
  return build.emit_one(kEmbedding, EmbeddingAttributes{pad}, {weight, ids});
}
ValueId arange(Builder& build, int64_t size) { return build.emit_one(kArange, ArangeAttributes{size}, {}); }

}  // namespace laptime
