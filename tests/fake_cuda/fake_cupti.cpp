// Stands in for libcupti. It has only the functions that laptime calls. It records the kernels, fills and
// device-to-device copies that fake_cuda.cpp runs while records of their kind are enabled, and delivers the records in
// buffers, as CUPTI does. If LAPTIME_FAKE_CUPTI_REFUSES is set, it refuses to record fills and copies, with the error
// of a driver that restricts profiling to administrators.
#include <cstdlib>
#include <cstring>
#include <set>
#include <vector>

#include "backend/cuda/libraries/cupti.h"

extern "C" void watch_fake_card(void (*watcher)(const laptime::cuda::ActivityRecord& ran));

namespace {

using namespace laptime::cuda;

constexpr CuptiStatus kDone = 0, kInvalidKind = 21, kNoMore = 12, kNotPermitted = 35;

struct State {
  void (*requested)(uint8_t**, size_t*, size_t*) = nullptr;
  void (*completed)(void*, uint32_t, uint8_t*, size_t, size_t) = nullptr;
  std::set<int> enabled;
  std::vector<ActivityRecord> records;
};

State& state() {
  static State the_state;
  return the_state;
}

void note(const ActivityRecord& ran) {
  if (state().enabled.contains(static_cast<int>(ran.kind))) state().records.push_back(ran);
}

// Size in bytes of a record. Records have more fields than laptime reads.
size_t size_of_record(uint32_t kind) { return kind == 10 ? 192 : kind == 1 ? 96 : 80; }

}  // namespace

// NOLINTBEGIN(readability-identifier-naming): the names of libcupti
extern "C" {

CuptiStatus cuptiActivityRegisterCallbacks(void (*requested)(uint8_t**, size_t*, size_t*),
                                           void (*completed)(void*, uint32_t, uint8_t*, size_t, size_t)) {
  state().requested = requested;
  state().completed = completed;
  watch_fake_card(note);
  return kDone;
}
CuptiStatus cuptiActivityEnable(int kind) {
  if (std::getenv("LAPTIME_FAKE_CUPTI_REFUSES") != nullptr && kind != 10) return kNotPermitted;
  if (kind != 1 && kind != 2 && kind != 10) return kInvalidKind;
  state().enabled.insert(kind);
  return kDone;
}
CuptiStatus cuptiActivityDisable(int kind) { return state().enabled.erase(kind) == 1 ? kDone : kInvalidKind; }
CuptiStatus cuptiActivityFlushAll(uint32_t) {
  size_t next = 0;
  while (next < state().records.size()) {
    uint8_t* buffer = nullptr;
    size_t bytes = 0;
    size_t most = 0;
    state().requested(&buffer, &bytes, &most);
    size_t used = 0;
    for (; next < state().records.size(); ++next) {
      const ActivityRecord& record = state().records[next];
      const size_t size = size_of_record(record.kind);
      if (used + size > bytes) break;
      std::memset(buffer + used, 0xFF, size);
      std::memcpy(buffer + used, &record, sizeof(record));
      used += size;
    }
    state().completed(nullptr, 0, buffer, bytes, used);
  }
  state().records.clear();
  return kDone;
}
CuptiStatus cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, ActivityRecord** record) {
  uint8_t* const next =
      *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + size_of_record((*record)->kind);
  if (next >= buffer + valid_bytes) return kNoMore;
  *record = reinterpret_cast<ActivityRecord*>(next);
  return kDone;
}
CuptiStatus cuptiGetResultString(CuptiStatus status, const char** text) {
  *text = status == kNotPermitted ? "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES" : "CUPTI_ERROR_UNKNOWN";
  return kDone;
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming)
