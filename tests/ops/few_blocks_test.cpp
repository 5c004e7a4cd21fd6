// CUDA kernels with fewer threads than elements: each thread must process several elements, as for very large tensors,
// for which launch_elements() limits the number of blocks.
#include <gtest/gtest.h>

#include <algorithm>

#include "ops/dropout/dropout.h"
#include "ops/gather/gather.h"
#include "ops/kernels_cuda.h"
#include "ops/rope/rope.h"
#include "support/conformance_point.h"
#include "support/cuda/host_queue.h"
#include "support/operand.h"

namespace laptime::test {
namespace {

constexpr HostGridOptions kUnchecked{.turns = Turns::kForward, .checked = false};

class OneBlockQueue : public HostQueue {
 public:
  OneBlockQueue() : HostQueue(kUnchecked) {}
  void launch(const cuda::GridLaunch& launch) override {
    cuda::GridLaunch one = launch;
    one.blocks = 1;
    HostQueue::launch(one);
  }
};

std::vector<GuardedTensor> results(const Kernel& kernel, const Attributes& attributes,
                                   const std::vector<Operand>& operands, Queue& queue) {
  std::vector<GuardedTensor> inputs;
  std::vector<TensorType> types;
  for (const Operand& operand : operands) {
    types.push_back(contiguous_type(operand.dtype.value_or(DType::kFloat32), operand.shape));
    inputs.emplace_back(types.back()).fill(operand, types.size());
  }
  std::vector<GuardedTensor> outputs;
  for (const TensorType& type : kernel.op->infer(attributes, types)) outputs.emplace_back(type);
  const std::vector<TensorView> in = views_of(inputs);
  const std::vector<TensorView> out = views_of(outputs);
  kernel.launch({.op = *kernel.op, .attributes = attributes, .in = in, .out = out, .queue = queue});
  return outputs;
}

void expect_every_element(const OpCard& op, const Attributes& attributes, const std::vector<Operand>& operands) {
  size_t compared = 0;
  for (const Kernel& kernel : cuda_kernels()) {
    if (kernel.op != &op) continue;
    ++compared;
    HostQueue all_blocks(kUnchecked);
    OneBlockQueue one_block;
    const std::vector<GuardedTensor> whole = results(kernel, attributes, operands, all_blocks);
    const std::vector<GuardedTensor> looped = results(kernel, attributes, operands, one_block);
    for (size_t i = 0; i < whole.size(); ++i)
      EXPECT_TRUE(std::ranges::equal(whole[i].bytes(), looped[i].bytes())) << op.name << ", output " << i;
  }
  EXPECT_GT(compared, 0U) << op.name;
}

TEST(FewBlocks, ProcessEveryElement) {
  constexpr int64_t kRows = 1000;
  const Operand index{.shape = {kRows, 1}, .values = Values::kIndices, .dtype = DType::kInt64, .bound = 3};
  const Operand step{.shape = {}, .values = Values::kConstant, .dtype = DType::kInt64, .bound = 3};
  expect_every_element(kGather, {}, {{.shape = {kRows, 3}}, index});
  expect_every_element(kScatter, ScatterAttributes{3}, {{.shape = {kRows, 1}}, index});
  expect_every_element(kRopeTable, RopeTableAttributes{100, 34}, {});
  expect_every_element(kDropout, DropoutAttributes{0.1, 42, 7}, {{.shape = {kRows}}, step});
}

}  // namespace
}  // namespace laptime::test
