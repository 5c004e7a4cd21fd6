// The table of export formats.
#include "export/formats.h"

namespace laptime {
namespace {

using enum ExportNeeds;

constexpr auto kFormats = std::to_array<ExportFormat>({
    {"trace", kTimedTrace, true,
     "launches in nested ranges, and memory, on a timeline: JSON for ui.perfetto.dev, chrome://tracing and HTA",
     chrome_trace},
    {"memory_viz", kTrace, false, "every allocation of a step: snapshot for pytorch.org/memory_viz", memory_viz},
    {"nsys", kTimedTrace, true, "time by kernel or range (--report): CSV as nsys stats writes it", nsys},
    {"folded", kTimedTrace, true, "nanoseconds by stack of ranges: for flamegraph.pl, inferno and speedscope",
     folded_stacks},
    {"google_benchmark", kTimedRecords, true, "one row per sample: JSON for Google Benchmark's compare.py",
     google_benchmark},
    {"hyperfine", kTimedRecords, true, "all samples: JSON for hyperfine's scripts", hyperfine},
    {"llama_bench", kTimedRecords, true, "one row per pass and phase: Markdown table in llama-bench's style",
     llama_bench},
    {"csv", kRecords, true, "one row per record, with plain numbers and units in the column names: for pandas",
     flat_csv},
    {"jsonl", kRecordsAndTraces, true, "complete records, one per line, with their traces", json_lines},
});

}  // namespace

std::span<const ExportFormat> export_formats() { return kFormats; }

}  // namespace laptime
