// Compares the states of loss scaling with those before the step.
#include "measure/loss_scale_history.h"

#include <cstring>

#include "model/train_step.h"

namespace laptime {
namespace {

template <class T>
T number_in(const std::vector<std::byte>& bytes) {
  T value{};
  std::memcpy(&value, bytes.data(), sizeof(value));
  return value;
}

}  // namespace

void LossScaleHistory::add_step(const Executor& executor) {
  const std::vector<std::byte> scale_bytes = executor.read_source(source::kLossScale);
  const std::vector<std::byte> applied_bytes = executor.read_source(source::kAppliedSteps);
  if (scale_bytes.empty()) return;
  const double scale = number_in<float>(scale_bytes);
  ++steps_;
  if (steps_ == 1) use_ = {scale_, scale_, 0, 0, 0, {}};
  *use_.growths += scale > scale_ ? 1 : 0;
  *use_.backoffs += scale < scale_ ? 1 : 0;
  use_.last = scale_ = scale;
  if (applied_bytes.empty()) return;  // a pass without optimizer
  const auto applied = number_in<int64_t>(applied_bytes);
  if (applied == applied_) use_.skipped.push_back(steps_);
  *use_.skipped_steps += applied == applied_ ? 1 : 0;
  applied_ = applied;
}

}  // namespace laptime
