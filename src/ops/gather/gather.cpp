// Cards of gather and scatter along the last axis.
#include "ops/gather/gather.h"

namespace laptime {
namespace {

std::vector<TensorType> infer_gather(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(in[0].dtype, in[1].shape())};
}
std::vector<TensorType> infer_gather_backward(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(in[1].dtype, in[1].shape())};
}
std::vector<TensorType> infer_scatter(const Attributes& attributes, std::span<const TensorType> in) {
  Shape shape = in[0].shape();
  shape[-1] = attributes.as<ScatterAttributes>().size;
  return {contiguous_type(in[0].dtype, shape)};
}

void reference_gather(const OpCall& call) {
  const int64_t columns = call.in[0].shape().back();
  for (int64_t row = 0; row < call.out[0].numel(); ++row) {
    call.out[0].put(row, call.in[0].at(row * columns + static_cast<int64_t>(call.in[1].at(row))));
  }
}

// (grad [..., 1], [x,] index [..., 1]) -> out [..., C]: grad at the index of each row, and zeros elsewhere
void reference_scatter(const OpCall& call) {
  const TensorView& grad = call.in[0];
  const TensorView& out = call.out[0];
  const int64_t columns = out.shape().back();
  for (int64_t i = 0; i < out.numel(); ++i) out.put(i, 0);
  for (int64_t row = 0; row < grad.numel(); ++row)
    out.put(row * columns + static_cast<int64_t>(call.in.back().at(row)), grad.at(row));
}

// Forward reads only one element of each row. Backward copies one element of each row from grad.
int64_t gather_bytes(const Signature& s) { return (Size(s.out[0].bytes()) * 2 + s.in[1].bytes()).value(); }
int64_t gather_backward_bytes(const Signature& s) {
  return (Size(s.in[0].bytes()) + s.in[2].bytes() + s.out[0].bytes()).value();
}

void gradient_gather(GradientContext& c) {
  c.grad_in[0] = c.build.emit_one(kGatherBackward, {}, {c.grad_out[0], c.in[0], c.in[1]});
}

}  // namespace

const OpCard kGather = {.name = "gather",
                        .kind = OpKind::kCopy,
                        .infer = infer_gather,
                        .gradient = gradient_gather,
                        .bytes = gather_bytes,
                        .reference = reference_gather};
const OpCard kGatherBackward = {.name = "gather_backward",
                                .kind = OpKind::kCopy,
                                .infer = infer_gather_backward,
                                .bytes = gather_backward_bytes,
                                .reference = reference_scatter};
const OpCard kScatter = {
    .name = "scatter", .kind = OpKind::kCopy, .infer = infer_scatter, .reference = reference_scatter};

std::span<const OpCard* const> gather_cards() {
  static constexpr const OpCard* kCards[] = {&kGather, &kGatherBackward, &kScatter};
  return kCards;
}

ValueId gather(Builder& build, ValueId x, ValueId index) { return build.emit_one(kGather, {}, {x, index}); }
ValueId scatter(Builder& build, ValueId grad, ValueId index, int64_t size) {
  return build.emit_one(kScatter, ScatterAttributes{size}, {grad, index});
}

}  // namespace laptime
