// ExportFormat: the formats of other tools that stored records can be written in.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

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

struct ExportFormat {
  std::string_view name;
  ExportNeeds needs = ExportNeeds::kRecords;
  bool is_text = true;
  std::string_view help;  // one line: what it is, and which tool reads it
  // The records are as many as `needs` states, and have the trace that it states.
  std::string (*write)(std::span<const TracedRecord> records, const ExportOptions& options) = nullptr;
};

std::span<const ExportFormat> export_formats();

// One writer for each format.

// A trace without --steps all stays below this, if need be with less in it; one of all steps below the other.
inline constexpr size_t kMaxTraceBytes = 5'000'000;
inline constexpr size_t kMaxLongTraceBytes = 100'000'000;

std::string chrome_trace(std::span<const TracedRecord> records, const ExportOptions& options);
std::string memory_viz(std::span<const TracedRecord> records, const ExportOptions& options);
std::string nsys(std::span<const TracedRecord> records, const ExportOptions& options);
std::string folded_stacks(std::span<const TracedRecord> records, const ExportOptions& options);
std::string google_benchmark(std::span<const TracedRecord> records, const ExportOptions& options);
std::string hyperfine(std::span<const TracedRecord> records, const ExportOptions& options);
std::string llama_bench(std::span<const TracedRecord> records, const ExportOptions& options);
std::string flat_csv(std::span<const TracedRecord> records, const ExportOptions& options);
std::string json_lines(std::span<const TracedRecord> records, const ExportOptions& options);

// The trace, with less in it where it would exceed `max_bytes`.
std::string chrome_trace(const TracedRecord& traced, ExportedSteps steps, size_t max_bytes);

}  // namespace laptime
