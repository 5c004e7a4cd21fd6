// ExportFormat: other tools' formats in which stored records can be written.
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

// Which traced steps to write: the one with the median time, or all of them.
enum class ExportedSteps : uint8_t { kOne, kAll };

constexpr auto choices_of(ExportedSteps) { return choices<ExportedSteps>("one", "all"); }

// The supported tables of `nsys stats`.
enum class NsysReport : uint8_t { kKernels, kRanges };

constexpr auto choices_of(NsysReport) { return choices<NsysReport>("cuda_gpu_kern_sum", "nvtx_sum"); }

struct ExportOptions {
  ExportedSteps steps = ExportedSteps::kOne;
  NsysReport report = NsysReport::kKernels;
};

// The input that a format needs.
enum class ExportNeeds : uint8_t {
  kRecords,           // any number of records
  kTimedRecords,      // any number of records; those that has_time() rejects are left out
  kRecordsAndTraces,  // any number of records, with their traces if they have any
  kTrace,             // one record with its trace
  kTimedTrace,        // one record with its trace, which must contain at least one timed step
};

constexpr auto choices_of(ExportNeeds) {
  return choices<ExportNeeds>("records", "records with times", "records, traces if any", "one trace",
                              "one trace with times");
}

// `records` must satisfy the format's ExportNeeds: the number of records, and whether they have traces.
using ExportWriter = std::string(std::span<const TracedRecord> records, const ExportOptions& options);

struct ExportFormat {
  std::string_view name;
  ExportNeeds needs = ExportNeeds::kRecords;
  bool is_text = true;
  std::string_view help;  // one line: the content, and which tool reads it
  ExportWriter* write = nullptr;
};

std::span<const ExportFormat> export_formats();

// Whether a record is ok and has the time of the requested pass.
bool has_time(const Record& record);

// Size limits of the format "trace": the first for one step, the second for all steps (--steps all). A larger trace is
// written with fewer details.
inline constexpr size_t kMaxTraceBytes = 5'000'000;
inline constexpr size_t kMaxLongTraceBytes = 100'000'000;

// One writer per format.
ExportWriter chrome_trace, memory_viz, nsys, folded_stacks, google_benchmark, hyperfine, llama_bench, flat_csv,
    json_lines;

// Serializes a value whose numbers are all integers as a Python pickle. A "frames" list that equals an earlier one is
// written as a reference to it.
std::string pickled(const Json& value);

// For each record, a name suffix that distinguishes it from others with the same name: "/threads:2/build:0123". Options
// that control how long to measure are ignored.
using RecordPointers = std::vector<const Record*>;
std::vector<std::string> distinctions(const RecordPointers& records);

// The trace as JSON. While the text exceeds `max_bytes`, omits one kind of detail after the other, and then merges ever
// longer launches into shared slices; even the shortest form may exceed the limit.
std::string chrome_trace(const TracedRecord& traced, ExportedSteps steps, size_t max_bytes);

}  // namespace laptime
