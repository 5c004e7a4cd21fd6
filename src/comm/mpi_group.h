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

// Each rank sends a heartbeat to the next rank twice a second, even while it computes. If a rank receives no heartbeat
// from the previous rank for kSilence, the run ends.
class MpiGroup : public Group {
 public:
  static constexpr Seconds kSilence{6};

  // Initialises MPI, which is possible once per process. Throws Error if the library allows calls from one thread only.
  // If a rank is silent, calls `lost` with a message, "rank 1 of 4 has been silent for 6 s: ...", before ending all
  // ranks.
  MpiGroup(const MpiLibrary& mpi, std::function<void(const std::string&)> lost);
  // Finalises MPI; every rank must destroy its group.
  ~MpiGroup() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void exchange(std::span<const Message> outgoing, std::span<const Message> incoming) override;

  // Ends all ranks.
  void abort() const { mpi_.abort(mpi_.comm_world, 1); }

 private:
  // Sends a heartbeat if one is due, receives heartbeats from the previous rank, and ends all ranks if that rank
  // is silent.
  void check_heartbeats(Seconds now);
  void receive_heartbeat();  // posts a receive for the next heartbeat

  const MpiLibrary& mpi_;
  std::function<void(const std::string&)> lost_;
  int rank_ = 0;
  int size_ = 1;
  std::vector<MpiLibrary::Request> requests_;

  std::mutex mutex_;  // MPI is called by one thread at a time
  std::condition_variable_any ended_;
  char sent_byte_ = 0, received_byte_ = 0;
  MpiLibrary::Request sending_, receiving_;
  Seconds sent_{}, checked_{}, silent_{};
  std::jthread monitor_;  // sends and receives heartbeats outside of exchanges
};

}  // namespace laptime
