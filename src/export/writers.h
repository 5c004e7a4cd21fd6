// One writer for each format of formats.cpp, each in a source of its own.
#pragma once

#include <span>
#include <string>

#include "export/formats.h"

namespace laptime {

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

// The same trace below a limit of the caller's.
std::string chrome_trace(const TracedRecord& traced, ExportedSteps steps, size_t max_bytes);

}  // namespace laptime
