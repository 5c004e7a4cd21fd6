// Records the kernels and copies that run on a card, using CUPTI, which is loaded at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backend/activities.h"

namespace laptime::cuda {

using CuptiStatus = int;
// The fields at the beginning of the records of kernels, copies and fills, unchanged since CUDA 8
// (CUpti_ActivityKernel4 and later, CUpti_ActivityMemcpy, CUpti_ActivityMemset).
struct ActivityRecord {
  uint32_t kind = 0;
  uint32_t fill_value = 0;  // this and the next field are present only in the record of a fill
  uint64_t fill_bytes = 0;
  uint64_t begin = 0, end = 0;  // nanoseconds
};

// A fill that separates launches in the records: no other fill has this value and size.
constexpr unsigned char kSeparatorValue = 0xA5;
constexpr size_t kSeparatorBytes = 1;

// Each member is named after a function of libcupti.
struct Cupti {
  // NOLINTBEGIN(readability-identifier-naming): the names of libcupti
  CuptiStatus (*cuptiActivityRegisterCallbacks)(void (*requested)(uint8_t** buffer, size_t* bytes,
                                                                  size_t* most_records),
                                                void (*completed)(void* context, uint32_t stream, uint8_t* buffer,
                                                                  size_t bytes, size_t valid_bytes)) = nullptr;
  CuptiStatus (*cuptiActivityEnable)(int kind) = nullptr;
  CuptiStatus (*cuptiActivityDisable)(int kind) = nullptr;
  CuptiStatus (*cuptiActivityFlushAll)(uint32_t flag) = nullptr;
  CuptiStatus (*cuptiActivityGetNextRecord)(uint8_t* buffer, size_t valid_bytes, ActivityRecord** record) = nullptr;
  CuptiStatus (*cuptiGetResultString)(CuptiStatus status, const char** text) = nullptr;
  // NOLINTEND(readability-identifier-naming)
};

// Runs `work`, which must wait until the card is idle, and returns what ran on the card during that time, without
// separators. If the library is missing or cannot record, `work` runs without records, and `is_recorded` is false.
Activities watch_card(const std::function<void(bool is_recorded)>& work);

}  // namespace laptime::cuda
