// Cards of dropout.
#include "ops/dropout/dropout.h"

namespace laptime {
namespace {

std::vector<TensorType> infer(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(in[0].dtype, in[0].shape()), contiguous_type(DType::kBool, in[0].shape())};
}
std::vector<TensorType> infer_backward(const Attributes&, std::span<const TensorType> in) {
  return {contiguous_type(in[0].dtype, in[0].shape())};
}

void reference(const OpCall& call) {
  const auto& attributes = call.attributes.as<DropoutAttributes>();
  const uint64_t key = attributes.counter().key(static_cast<int64_t>(call.in[1].at(0)));
  for (int64_t i = 0; i < call.out[0].numel(); ++i) {
    const bool kept = dropout_keeps(key, i, attributes.p);
    call.out[0].put(i, kept ? call.in[0].at(i) * dropout_scale(attributes.p) : 0);
    if (call.out[1].data != nullptr) call.out[1].put(i, kept ? 1 : 0);
  }
}

void reference_backward(const OpCall& call) {
  const double scale = dropout_scale(call.attributes.as<DropoutAttributes>().p);
  for (int64_t i = 0; i < call.out[0].numel(); ++i)
    call.out[0].put(i, call.in[1].at(i) != 0 ? call.in[0].at(i) * scale : 0);
}

void gradient(GradientContext& c) {
  c.grad_in[0] = c.build.emit_one(kDropoutBackward, c.attributes, {c.grad_out[0], c.out[1]});
}

double one_flop(const Signature& s) { return static_cast<double>(s.out[0].numel()); }

}  // namespace

const OpCard kDropout = {.name = "dropout",
                         .infer = infer,
                         .gradient = gradient,
                         .flops = one_flop,
                         .reference = reference,
                         .optional_outputs = {1}};
const OpCard kDropoutBackward = {
    .name = "dropout_backward", .infer = infer_backward, .flops = one_flop, .reference = reference_backward};

std::span<const OpCard* const> dropout_cards() {
  static constexpr const OpCard* kCards[] = {&kDropout, &kDropoutBackward};
  return kCards;
}

ValueId dropout(Builder& build, ValueId x, ValueId step, double p, uint64_t seed, int64_t rank) {
  const int64_t first = (Size(rank) * build.type(x).numel()).value();
  return build.emit_one(kDropout, DropoutAttributes{p, seed, fnv1a64(build.current.scope), first}, {x, step});
}

}  // namespace laptime
