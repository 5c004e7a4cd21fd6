// Searches for a card in a separate process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backend/cuda/driver.h"

namespace laptime::cuda {

// The first card that the driver reports, or the reason why none can be used; also the versions of libraries.
struct CardSearch {
  std::optional<Card> card;
  std::string missing;
  int64_t blas_version = 0;  // version of cuBLASLt, 130002 for 13.0.2; 0 if it is not installed
  int64_t dnn_version = 0;   // version of cuDNN, 91900 for 9.19.0; 0 if it is not installed or is too old
  int64_t nccl_version = 0;  // version of NCCL, 22703 for 2.27.3; 0 if it is not installed or is too old
  int64_t cards = 0;         // number of cards that the driver reports
};

// Queries the driver in a short-lived process. If this process initialised the driver, the processes that it forks
// later could not use the driver. Every configuration is measured in such a process.
CardSearch search_card();

}  // namespace laptime::cuda
