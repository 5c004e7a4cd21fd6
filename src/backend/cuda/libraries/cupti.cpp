// Loads libcupti, and adds up its records.
#include "backend/cuda/libraries/cupti.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <utility>
#include <vector>

#include "backend/cuda/libraries/library.h"

namespace laptime::cuda {
namespace {

// Library versions that have the functions of Cupti, newest first. The loader does not always search the toolkit's
// folder.
constexpr const char* kCuptiLibraries[] = {"libcupti.so.13", "libcupti.so.12", "/usr/local/cuda/lib64/libcupti.so",
                                           "/usr/local/cuda/extras/CUPTI/lib64/libcupti.so"};
constexpr CuptiStatus kCuptiDone = 0;
constexpr int kCopy = 1, kFill = 2, kKernel = 10;  // CUPTI_ACTIVITY_KIND_MEMCPY, _MEMSET, _CONCURRENT_KERNEL
constexpr std::array kKinds{kKernel, kCopy, kFill};
constexpr uint32_t kAlsoUnfinishedBuffers = 1;  // CUPTI_ACTIVITY_FLAG_FLUSH_FORCED

// State of the library's callbacks: one object per process, because the callbacks have no user argument and run on
// threads of the library.
struct Collected {
  std::mutex mutex;
  Cupti functions;
  std::string missing;  // why the library cannot be used; empty if it can
  std::vector<ActivityRecord> records;
  bool is_open = false;
};

Collected& collected() {
  static Collected& all = *new Collected;  // outlives the library's threads
  return all;
}

struct alignas(8) Buffer {
  std::array<uint8_t, size_t{1} << 20> bytes;
};

void request_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = (new Buffer)->bytes.data();
  *bytes = sizeof(Buffer);
  *most_records = 0;  // 0 means as many as fit
}

void take_buffer(void*, uint32_t, uint8_t* buffer, size_t, size_t valid_bytes) {
  const std::lock_guard lock(collected().mutex);
  ActivityRecord* record = nullptr;
  while (collected().functions.cuptiActivityGetNextRecord(buffer, valid_bytes, &record) == kCuptiDone) {
    if (std::ranges::find(kKinds, static_cast<int>(record->kind)) != kKinds.end())
      collected().records.push_back(*record);
  }
  delete reinterpret_cast<Buffer*>(buffer);
}

bool find_functions(Library& library, Cupti& functions) {
  if (!library.is_loaded()) return false;
  library.find(functions.cuptiActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks");
  library.find(functions.cuptiActivityEnable, "cuptiActivityEnable");
  library.find(functions.cuptiActivityDisable, "cuptiActivityDisable");
  library.find(functions.cuptiActivityFlushAll, "cuptiActivityFlushAll");
  library.find(functions.cuptiActivityGetNextRecord, "cuptiActivityGetNextRecord");
  library.find(functions.cuptiGetResultString, "cuptiGetResultString");
  return library.missing() == nullptr;
}

std::string refusal_of(const Cupti& functions, CuptiStatus status) {
  const char* text = nullptr;
  const bool is_known = functions.cuptiGetResultString(status, &text) == kCuptiDone && text != nullptr;
  return fmt::format("CUPTI failed: {} (status {})", is_known ? text : "unknown", status);
}

// Loads the library once. Returns the reason if it cannot be used, otherwise an empty string.
std::string open_library() {
  Collected& all = collected();
  if (std::exchange(all.is_open, true)) return all.missing;
  all.missing = "libcupti is not installed";
  for (const char* const name : kCuptiLibraries) {
    Library library(name);
    Cupti functions;
    if (!find_functions(library, functions)) continue;
    all.functions = functions;
    const CuptiStatus status = functions.cuptiActivityRegisterCallbacks(request_buffer, take_buffer);
    all.missing = status == kCuptiDone ? "" : refusal_of(functions, status);
    break;
  }
  return all.missing;
}

// Enables all kinds of records. Returns the error, or an empty string.
std::string begin_records(const Cupti& functions) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    const CuptiStatus status = functions.cuptiActivityEnable(kKinds.at(i));
    if (status == kCuptiDone) continue;
    while (i > 0) functions.cuptiActivityDisable(kKinds.at(--i));
    return refusal_of(functions, status);
  }
  return "";
}

bool is_separator(const ActivityRecord& record) {
  return record.kind == kFill && record.fill_value == kSeparatorValue && record.fill_bytes == kSeparatorBytes;
}

void add_records(std::vector<ActivityRecord> records, Activities& activities) {
  std::ranges::sort(records, {}, [](const ActivityRecord& record) { return std::pair(record.begin, record.end); });
  uint64_t until = 0;
  for (const ActivityRecord& record : records) {
    const uint64_t begin = std::max(record.begin, until);
    until = std::max(record.end, until);
    if (is_separator(record)) {
      activities.between_marks.emplace_back();
      continue;
    }
    (record.kind == kKernel ? activities.kernels : activities.copies) += 1;
    const Seconds busy{static_cast<double>(until - begin) * 1e-9};
    activities.busy += busy;
    if (!activities.between_marks.empty()) activities.between_marks.back() += busy;
  }
  if (!activities.between_marks.empty()) activities.between_marks.pop_back();  // nothing follows the last mark
}

}  // namespace

Activities watch_card(const std::function<void(bool is_recorded)>& work) {
  Activities activities;
  activities.records = "CUPTI";
  activities.missing = open_library();
  Collected& all = collected();
  const Cupti& functions = all.functions;
  if (activities.missing.empty()) activities.missing = begin_records(functions);
  if (!activities.missing.empty()) {
    work(false);
    return activities;
  }
  // Discards earlier activity, which belongs to no step.
  functions.cuptiActivityFlushAll(kAlsoUnfinishedBuffers);
  {
    const std::lock_guard lock(all.mutex);
    all.records.clear();
  }
  work(true);
  functions.cuptiActivityFlushAll(kAlsoUnfinishedBuffers);
  for (const int kind : kKinds) functions.cuptiActivityDisable(kind);
  const std::lock_guard lock(all.mutex);
  add_records(std::move(all.records), activities);
  all.records.clear();
  if (activities.kernels == 0) activities.missing = "CUPTI recorded no kernels";
  return activities;
}

}  // namespace laptime::cuda
