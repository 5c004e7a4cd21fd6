// Derives bounds on the speed-up from the loops that launches divide among threads.
#include "explain/thread_bounds.h"

#include <algorithm>
#include <array>

#include "backend/launch_loop.h"
#include "base/error.h"

namespace laptime {
namespace {

constexpr std::array<int, 4> kThreads{8, 32, 64, 128};

// Relative time of a launch on one thread, limited by its FLOPs or by its bytes, whichever takes longer.
double weight_of(const Signature& signature) {
  const double elements = static_cast<double>(bytes_of(signature)) / sizeof(float);
  return std::max(flops_of(signature), kFlopsPerElement * elements);
}

// Communication ops and waits have no thread bounds, because they run in a queue of their own and not on the threads of
// the kernels.
bool communicates(const Signature& signature) {
  return signature.op->kind == OpKind::kCommunication || signature.op->kind == OpKind::kWait;
}

}  // namespace

std::vector<ThreadBound> thread_bounds(const Prepared& prepared, const Kernel& kernel, const Signature& signature) try {
  std::vector<ThreadBound> bounds;
  if (prepared.device.launch_loops == nullptr || communicates(signature)) return bounds;
  for (const int threads : kThreads) {
    const std::vector<LaunchLoop> loops = prepared.device.launch_loops(kernel, signature, threads);
    const auto longest = std::max_element(loops.begin(), loops.end(), [](const LaunchLoop& a, const LaunchLoop& b) {
      return a.work.flops < b.work.flops;
    });
    bounds.push_back({.threads = threads,
                      .units = longest == loops.end() ? 1 : longest->units,
                      .largest_unit = largest_unit_share(loops),
                      .speed_up = speed_up_bound(loops, threads)});
  }
  return bounds;
} catch (const Error&) {  // the operands do not fit into the address space
  return {};
}

void ThreadBoundSum::add(const Signature& signature, int64_t launches, const std::vector<ThreadBound>& bounds) {
  if (launches == 0 || communicates(signature)) return;
  is_known_ = is_known_ && !bounds.empty();
  if (!is_known_) return;
  const double work = weight_of(signature) * static_cast<double>(launches);
  work_ += work;
  times_.resize(bounds.size());
  for (size_t i = 0; i < bounds.size(); ++i) times_[i] += work / bounds[i].speed_up;
  if (!largest_.empty() && work <= largest_work_) return;
  largest_work_ = work;
  largest_ = bounds;
}

std::vector<ThreadBound> ThreadBoundSum::of_kernel() const {
  if (!is_known_) return {};
  std::vector<ThreadBound> bounds = largest_;
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (times_[i] > 0) bounds[i].speed_up = work_ / times_[i];
  }
  return bounds;
}

std::vector<ThreadBound> ThreadBoundSum::of_step() const {
  std::vector<ThreadBound> bounds = of_kernel();
  for (ThreadBound& bound : bounds) {
    bound.units.reset();
    bound.largest_unit.reset();
  }
  return bounds;
}

}  // namespace laptime
