// ExportFormat: the formats of other tools that stored records can be written in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "config/option.h"
#include "record/record.h"
#include "record/step_trace.h"

namespace laptime {

struct TracedRecord {
  Record record;
  std::optional<StepTrace> trace;
};

// Which of the traced steps are written: the one whose time is the median, or all of them.
enum class ExportedSteps : uint8_t { kOne, kAll };

constexpr auto choices_of(ExportedSteps) {
  return std::array{Choice<ExportedSteps>{ExportedSteps::kOne, "one"},
                    Choice<ExportedSteps>{ExportedSteps::kAll, "all"}};
}

// The tables of `nsys stats` that there are.
enum class NsysReport : uint8_t { kKernels, kRanges };

constexpr auto choices_of(NsysReport) {
  return std::array{Choice<NsysReport>{NsysReport::kKernels, "cuda_gpu_kern_sum"},
                    Choice<NsysReport>{NsysReport::kRanges, "nvtx_sum"}};
}

struct ExportOptions {
  ExportedSteps steps = ExportedSteps::kOne;
  NsysReport report = NsysReport::kKernels;
};

// The input that a format needs.
enum class ExportNeeds : uint8_t {
  kRecords,           // any number of records
  kRecordsAndTraces,  // any number of records, with their traces where there are some
  kTrace,             // one record with its trace
  kTimedTrace,        // one record with its trace, in which at least one step was timed
};

std::string_view name_of(ExportNeeds needs);

// The records are as many as the format needs, and have the trace that it needs.
using ExportWriter = std::string(std::span<const TracedRecord> records, const ExportOptions& options);

struct ExportFormat {
  std::string_view name;
  ExportNeeds needs = ExportNeeds::kRecords;
  bool is_text = true;
  std::string_view help;  // one line: what it is, and which tool reads it
  ExportWriter* write = nullptr;
};

std::span<const ExportFormat> export_formats();

// A trace without --steps all stays below this, if need be with less in it; one of all steps below the other.
inline constexpr size_t kMaxTraceBytes = 5'000'000;
inline constexpr size_t kMaxLongTraceBytes = 100'000'000;

// One writer for each format.
ExportWriter chrome_trace, memory_viz, nsys, folded_stacks, google_benchmark, hyperfine, llama_bench, flat_csv,
    json_lines;

// Python's pickle of a value without fractions. A "frames" that equals an earlier one is a reference to it.
std::string pickled(const Json& value);

// For each record what tells it from others of its name, as an end of that name: "/threads:2/build:0123". Options that
// say how long to measure do not count.
using RecordPointers = std::vector<const Record*>;
std::vector<std::string> distinctions(const RecordPointers& records);

// The trace, with less in it where it would exceed `max_bytes`.
std::string chrome_trace(const TracedRecord& traced, ExportedSteps steps, size_t max_bytes);

}  // namespace laptime
