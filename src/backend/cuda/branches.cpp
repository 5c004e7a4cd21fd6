// Distributes the launches of a recording to streams, and orders the streams by events.
#include "backend/cuda/branches.h"

#include <algorithm>

#include "base/error.h"

namespace laptime::cuda {

CudaBackend::Branches::Branches(CudaBackend& owner) : owner_(owner) {
  targets_.push_back(owner.stream_->own_target());
  while (targets_.size() < kMostBranches && owner.free_bytes() >= kLeastFree) {
    targets_.push_back({.stream = owner.new_stream()});
    if (owner.stream_->has_products()) targets_.back().workspace = owner.allocate_bytes(BlasProducts::kWorkspaceBytes);
  }
}

CudaBackend::Branches::~Branches() {
  for (const EventHandle event : events_) owner_.driver_->cuEventDestroy(event);
  for (size_t i = 1; i < targets_.size(); ++i) {
    if (targets_[i].workspace != 0) owner_.driver_->cuMemFree(targets_[i].workspace);
    owner_.driver_->cuStreamDestroy(targets_[i].stream);
  }
}

void CudaBackend::Branches::begin() {
  points_.resize(1);
  known_ = {};
  start_ = 0;
  hazards_.clear();
}

LaunchTarget CudaBackend::Branches::wait_for_operands(const Launch& launch) {
  if (start_ == 0) {
    add_point(0);
    start_ = points_.size() - 1;
  }
  // Latest first: after a wait for a later point, waits for the points that precede it are unnecessary.
  std::vector<size_t> awaited{start_};
  for (const size_t number : hazards_.add(launch)) awaited.push_back(start_ + 1 + number);
  std::ranges::reverse(awaited);
  const auto last_of = [&](size_t branch) { return known_[branch][branch]; };
  const auto tail =
      std::ranges::find_if(awaited, [&](size_t point) { return last_of(points_[point].branch) == point; });
  current_ = 0;
  if (tail != awaited.end()) {
    current_ = points_[*tail].branch;
  } else {
    for (size_t branch = 1; branch < targets_.size(); ++branch) {
      if (last_of(branch) < last_of(current_)) current_ = branch;
    }
  }
  for (const size_t point : awaited) wait_for(point, current_);
  return targets_[current_];
}

void CudaBackend::Branches::add() { add_point(current_); }

void CudaBackend::Branches::join() {
  for (size_t branch = 1; branch < targets_.size(); ++branch) {
    if (known_[branch][branch] != 0) wait_for(known_[branch][branch], 0);
  }
  start_ = 0;
  hazards_.clear();
}

void CudaBackend::Branches::wait_for(size_t point, size_t branch) {
  const Point& awaited = points_[point];
  LatestPoints& known = known_[branch];
  if (known[awaited.branch] >= point) return;
  owner_.wait_for(events_[point], targets_[branch].stream);
  for (size_t i = 0; i < kMostBranches; ++i) known[i] = std::max(known[i], awaited.precedes[i]);
}

void CudaBackend::Branches::add_point(size_t branch) {
  const size_t number = points_.size();
  known_[branch][branch] = number;
  points_.push_back({branch, known_[branch]});
  while (events_.size() <= number) events_.push_back(owner_.new_event());
  owner_.record(events_[number], targets_[branch].stream);
}

}  // namespace laptime::cuda
