// MpiGroup: the processes that mpirun or srun has started, as a group of ranks.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "backend/group.h"
#include "base/units.h"
#include "comm/mpi_library.h"

namespace laptime {

// Each rank sends a sign of life to the next one twice a second, also while it computes, and hears those of the rank
// before it. A rank that has been silent for kSilence ends the run.
class MpiGroup : public Group {
 public:
  static constexpr Seconds kSilence{6};

  // Initialises MPI, once in a process. `lost` is told that a rank is silent, "rank 1 of 4 has been silent for 6 s",
  // before all ranks are ended.
  MpiGroup(const MpiLibrary& mpi, std::function<void(const std::string&)> lost);
  // Ends MPI. Every rank must come to it.
  ~MpiGroup() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void exchange(std::span<const Message> outgoing, std::span<const Message> incoming) override;
  int64_t sent_bytes() const override { return sent_bytes_; }

  // Ends all ranks.
  void abort() const { mpi_.abort(mpi_.comm_world, 1); }

 private:
  // Sends a sign of life if one is due, and looks for those of the rank before.
  void beat(Seconds now);
  void hear();

  const MpiLibrary& mpi_;
  std::function<void(const std::string&)> lost_;
  int rank_ = 0;
  int size_ = 1;
  int64_t sent_bytes_ = 0;
  std::vector<MpiLibrary::Request> requests_;

  std::mutex mutex_;  // MPI is called by one thread at a time
  std::condition_variable_any ended_;
  char sign_ = 0, heard_ = 0;
  MpiLibrary::Request sending_, hearing_;
  Seconds sent_{}, looked_{}, silent_{};
  std::jthread idle_;  // sends and hears signs of life outside of exchanges
};

}  // namespace laptime
