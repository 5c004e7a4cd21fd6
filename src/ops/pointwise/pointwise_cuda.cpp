// Launches the CUDA kernels of the pointwise primitives.
#include "ops/pointwise/pointwise_cuda.h"
#include "ops/pointwise/pointwise.h"
#include "ops/walks_cuda.h"

namespace laptime::cuda {
namespace {

template <Formula formula>
void launch_formula(const KernelCall& call) {
  const bool has_value = !call.attributes.empty();
  const float value = has_value ? static_cast<float>(call.attributes.as<ScalarAttributes>().value) : 0.0F;
  const Elements<3> elements = elements_of_call<3>(call.out, call.in);
  const bool in_walked_fours =
      elements.groups == Groups::kNone && walks_in_fours(elements, static_cast<int>(call.out.size() + call.in.size()));
  const Pointwise::Args args{elements, formula, value, in_walked_fours};
  if (!in_walked_fours) return launch_mapped<Pointwise>(call, elements, args);
  launch_elements<Pointwise>(call, threads_for_groups(elements.count / kFour, kWalkedInFlight), args);
}

template <Formula formula>
Kernel kernel(const OpCard& op, std::string (*supports)(const Signature&) = nullptr) {
  return {.op = &op, .name = "elements", .supports = supports, .launch = launch_formula<formula>};
}

}  // namespace

std::vector<Kernel> pointwise_kernels() {
  return {
      kernel<Formula::kAdd>(kAdd),         kernel<Formula::kSub>(kSub),
      kernel<Formula::kMul>(kMul),         kernel<Formula::kDiv>(kDiv),
      kernel<Formula::kAdd>(kAddScalar),   kernel<Formula::kMul>(kMulScalar),
      kernel<Formula::kDiv>(kDivScalar),   kernel<Formula::kPow>(kPow, exponent_refusal),
      kernel<Formula::kNeg>(kNeg),         kernel<Formula::kExp>(kExp),
      kernel<Formula::kLog>(kLog),         kernel<Formula::kSqrt>(kSqrt),
      kernel<Formula::kRsqrt>(kRsqrt),     kernel<Formula::kSquare>(kSquare),
      kernel<Formula::kSigmoid>(kSigmoid), kernel<Formula::kSigmoidBackward>(kSigmoidBackward),
      kernel<Formula::kSilu>(kSilu),       kernel<Formula::kSiluBackward>(kSiluBackward),
      kernel<Formula::kWhere>(kWhere),
  };
}

}  // namespace laptime::cuda
