// Fills the sources of a plan: weights, and the inputs of each step.
#include "measure/fill_sources.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <functional>
#include <mutex>
#include <system_error>
#include <thread>

#include "model/model_card.h"
#include "model/parameters.h"
#include "model/train_step.h"

namespace laptime {
namespace {

constexpr int64_t kBlock = 1 << 18;  // elements per unit of work; each copy to a GPU has a fixed cost

// Calls task(index) for every index, on at most `threads` threads: fewer if the system allows no more. Rethrows the
// first exception of a task.
void for_each_index(int64_t count, int64_t threads, const std::function<void(int64_t)>& task) {
  std::atomic<int64_t> next{0};
  std::exception_ptr failure;
  std::mutex mutex;
  const auto work = [&] {
    try {
      for (int64_t i = next.fetch_add(1); i < count; i = next.fetch_add(1)) task(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next = count;  // stops the other threads
    }
  };
  {
    std::vector<std::jthread> others;
    try {
      for (int64_t i = 1; i < std::min(threads, count); ++i) others.emplace_back(work);
    } catch (const std::system_error&) {  // this thread does the rest
    }
    work();
  }
  if (failure) std::rethrow_exception(failure);
}

struct Block {
  const ParameterSpec* parameter;
  int source;
  int64_t begin, size;  // range of elements of the source
  int64_t first;        // index, within the parameter, of the element at `begin`
};

void add_blocks(const Plan& plan, const ParameterSpec& parameter, int64_t rank, std::vector<Block>& blocks) {
  const int source = plan.find_source(parameter.name);
  if (source < 0) return;
  const int64_t elements = plan.buffers[static_cast<size_t>(source)].bytes / static_cast<int64_t>(sizeof(float));
  const bool is_chunk = elements < Shape(std::span(parameter.shape)).product();
  for (int64_t begin = 0; begin < elements; begin += kBlock) {
    const int64_t first = is_chunk ? rank * elements + begin : begin;
    blocks.push_back({&parameter, source, begin, std::min(kBlock, elements - begin), first});
  }
}

}  // namespace

void fill_weights(Executor& executor, const RunConfig& config, const StartingWeights& weights, int64_t threads,
                  int64_t rank) {
  if (!executor.computes()) return;
  const auto loss_scale = static_cast<float>(loss_scaling(config.loss_scale).initial);
  executor.write(source::kLossScale, &loss_scale, sizeof(loss_scale));
  const ModelSummary summary = summarize(config.step_model());
  std::vector<Block> blocks;
  for (const ParameterSpec& parameter : summary.parameters) add_blocks(executor.plan(), parameter, rank, blocks);
  for (const ParameterSpec& input : summary.inputs) add_blocks(executor.plan(), input, rank, blocks);
  for_each_index(static_cast<int64_t>(blocks.size()), threads, [&](int64_t i) {
    const Block& block = blocks[static_cast<size_t>(i)];
    std::vector<float> values(static_cast<size_t>(block.size));
    weights.fill(*block.parameter, block.first, values);
    executor.write(block.source, block.begin * static_cast<int64_t>(sizeof(float)), std::as_bytes(std::span(values)));
  });
}

StepInputs::StepInputs(const RunConfig& config, int64_t rank) : config_(config), rank_(rank) {
  if (!card_of(config.model).is_language_model) return;
  source_ = make_token_source(config);
  const auto ids = static_cast<size_t>((Size(config.model.batch_size) * config.step_context()).value());
  tokens_.resize(ids);
  targets_.resize(ids);
}

void StepInputs::write(Executor& executor, int64_t step) {
  if (!source_) return;
  const int64_t number = step + 1;
  const auto lr = static_cast<float>(config_.lr);
  executor.write(source::kStep, &number, sizeof(number));
  executor.write(source::kLr, &lr, sizeof(lr));
  const int64_t batch = config_.batches == Batches::kFixed ? 0 : step;
  if (batch == held_) return;
  source_->batch(batch, tokens_, targets_);
  write_rows(executor, source::kTokens, tokens_);
  write_rows(executor, source::kTargets, targets_);
  held_ = batch;
}

void StepInputs::write_rows(Executor& executor, const char* source, const std::vector<int64_t>& ids) const {
  const int to = executor.plan().find_source(source);
  if (to < 0) return;
  const std::span<const int64_t> all(ids);
  const int64_t parts = config_.ranks > 1 ? config_.micro_batches : 1;
  const auto whole = static_cast<int64_t>(ids.size()) / parts;  // elements per micro-batch
  const int64_t own = whole / config_.ranks;
  for (int64_t part = 0; part < parts; ++part) {
    const auto begin = static_cast<size_t>(part * whole + rank_ * own);
    executor.write(to, part * own * static_cast<int64_t>(sizeof(int64_t)),
                   std::as_bytes(all.subspan(begin, static_cast<size_t>(own))));
  }
}

}  // namespace laptime
