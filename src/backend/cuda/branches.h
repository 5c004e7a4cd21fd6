// Branches: the streams in which a step is recorded, so that independent launches may run concurrently.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "backend/cuda/cuda_backend.h"
#include "backend/hazards.h"

namespace laptime::cuda {

// The first branch is the kernels' stream, in which a recording begins and ends. A launch continues a branch if it
// depends on the last launch of that branch. If there is no such branch, it continues the branch whose last launch is
// oldest. For example, the gradient of a weight may run concurrently with the gradient of activations. Events become
// edges of the CUDA graph.
class CudaBackend::Branches {
 public:
  // Creates fewer branches if the card has little free memory, which the graph also needs.
  explicit Branches(CudaBackend& owner);
  ~Branches();
  Branches(const Branches&) = delete;
  Branches& operator=(const Branches&) = delete;

  void begin();
  // Chooses the branch of a launch, and makes the branch wait for all launches on which this launch depends. The caller
  // enqueues the launch in the returned target, and then calls add().
  LaunchTarget wait_for_operands(const Launch& launch);
  void add();
  // Makes the first branch wait for all other branches. Launches added later wait for everything that the first branch
  // contains so far.
  void join();

 private:
  static constexpr size_t kMostBranches = 4;
  static constexpr int64_t kLeastFree = int64_t{256} << 20;  // free bytes on the GPU that adding a branch requires
  // For each branch, the number of its latest point that precedes a given point; 0 if there is none.
  using LatestPoints = std::array<size_t, kMostBranches>;
  // A place in a branch: after a launch, or before the first launch since begin() or join().
  struct Point {
    size_t branch = 0;
    LatestPoints precedes{};  // points that precede this one, and the point itself
  };

  void wait_for(size_t point, size_t branch);
  void add_point(size_t branch);

  CudaBackend& owner_;
  std::vector<LaunchTarget> targets_;
  std::vector<EventHandle> events_;                  // indexed by point number; reused by later recordings
  std::vector<Point> points_;                        // indexed by point number; number 0 is unused
  std::array<LatestPoints, kMostBranches> known_{};  // points that precede the next launch of each branch
  size_t current_ = 0;                               // branch of the latest launch
  size_t start_ = 0;  // number of the point before the launches since the last begin() or join(); 0 if there are none
  Hazards hazards_;   // among the launches since the last begin() or join()
};

}  // namespace laptime::cuda
