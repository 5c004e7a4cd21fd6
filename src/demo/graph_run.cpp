// Plans a graph for the CPU and copies numbers in and out.
#include "demo/graph_run.h"

#include <cmath>
#include <limits>

#include "prepare/device.h"
#include "prepare/kernel_choice.h"

namespace laptime {
namespace {

std::vector<double> numbers_of(std::vector<std::byte> bytes, DType dtype) {
  const int64_t count = static_cast<int64_t>(bytes.size()) / size_of(dtype);
  const TensorView view{bytes.data(), contiguous_type(dtype, {count})};
  std::vector<double> numbers(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) numbers[static_cast<size_t>(i)] = view.at(i);
  return numbers;
}

}  // namespace

GraphRun::GraphRun(const Graph& graph) {
  RunConfig config;
  config.device = "cpu";
  config.threads = 1;
  const Device device = find_device(config);
  backend_ = device.open(0);
  executor_ = std::make_unique<Executor>(make_plan(graph, chooser(*device.kernels, {})), *backend_);
}

void GraphRun::write(const std::string& source, const std::vector<double>& values) {
  const Plan& plan = executor_->plan();
  const int buffer = plan.find_source(source);
  LAPTIME_CHECK(buffer >= 0, "no source {}", source);
  const TensorType& type = plan.buffers[static_cast<size_t>(buffer)].type;
  std::vector<std::byte> bytes(static_cast<size_t>(type.bytes()));
  const TensorView view{bytes.data(), type};
  for (size_t i = 0; i < values.size(); ++i) view.put(static_cast<int64_t>(i), values[i]);
  executor_->write(buffer, 0, bytes);
}

std::vector<double> GraphRun::output(const std::string& name) const {
  const Operand* const operand = executor_->plan().find_output(name);
  LAPTIME_CHECK(operand != nullptr, "no output {}", name);
  return numbers_of(executor_->read_output(name), operand->type.dtype);
}

std::vector<double> GraphRun::source(const std::string& name) const {
  const Plan& plan = executor_->plan();
  const int buffer = plan.find_source(name);
  LAPTIME_CHECK(buffer >= 0, "no source {}", name);
  return numbers_of(executor_->read_source(name), plan.buffers[static_cast<size_t>(buffer)].type.dtype);
}

double relative_error(const std::vector<double>& values, const std::vector<double>& truth) {
  double error = 0;
  double norm = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    if (!std::isfinite(values[i])) return std::numeric_limits<double>::infinity();
    error += (values[i] - truth[i]) * (values[i] - truth[i]);
    norm += truth[i] * truth[i];
  }
  return error == 0 ? 0 : std::sqrt(error / norm);
}

}  // namespace laptime
