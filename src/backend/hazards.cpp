// Compares the byte ranges of a launch with those of earlier launches.
#include "backend/hazards.h"

#include <algorithm>

namespace laptime {

const std::vector<size_t>& Hazards::add(const Launch& launch) {
  current_.clear();
  awaited_.clear();
  for (const TensorView& view : launch.in) touch(view, false);
  for (const TensorView& view : launch.out) touch(view, true);
  touch(launch.workspace, launch.workspace_bytes, true);
  for (const Access& access : current_) {
    std::erase_if(earlier_, [&](const Access& earlier) {
      if (earlier.end <= access.begin || access.end <= earlier.begin || (!earlier.writes && !access.writes))
        return false;
      awaited_.push_back(earlier.launch);
      return access.writes && access.begin <= earlier.begin && earlier.end <= access.end;
    });
  }
  earlier_.insert(earlier_.end(), current_.begin(), current_.end());
  ++launches_;
  std::ranges::sort(awaited_);
  awaited_.erase(std::unique(awaited_.begin(), awaited_.end()), awaited_.end());
  return awaited_;
}

void Hazards::clear() {
  earlier_.clear();
  launches_ = 0;
}

void Hazards::touch(const std::byte* begin, int64_t bytes, bool writes) {
  if (begin != nullptr && bytes > 0) current_.push_back({begin, begin + bytes, launches_, writes});
}

void Hazards::touch(const TensorView& view, bool writes) {
  const int64_t offset = view.type.layout.offset * size_of(view.type.dtype);
  if (view.data != nullptr) touch(view.data + offset, view.type.storage_bytes() - offset, writes);
}

}  // namespace laptime
