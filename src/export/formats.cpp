// The table of formats.
#include "export/formats.h"

namespace laptime {
namespace {

constexpr std::array kFormats{
    ExportFormat{.name = "trace",
                 .needs = ExportNeeds::kTimedTrace,
                 .help =
                     "launches in nested ranges, and memory, on a timeline: JSON for ui.perfetto.dev, chrome://tracing "
                     "and HTA",
                 .write = chrome_trace},
    ExportFormat{.name = "memory_viz",
                 .needs = ExportNeeds::kTrace,
                 .is_text = false,
                 .help = "every allocation of a step: snapshot for pytorch.org/memory_viz",
                 .write = memory_viz},
    ExportFormat{.name = "nsys",
                 .needs = ExportNeeds::kTimedTrace,
                 .help = "time by kernel or range (--report): CSV as nsys stats writes it",
                 .write = nsys},
    ExportFormat{.name = "folded",
                 .needs = ExportNeeds::kTimedTrace,
                 .help = "nanoseconds by stack of ranges: for flamegraph.pl, inferno and speedscope",
                 .write = folded_stacks},
    ExportFormat{.name = "google_benchmark",
                 .help = "a row for each sample: JSON for compare.py of Google Benchmark",
                 .write = google_benchmark},
    ExportFormat{.name = "hyperfine", .help = "all samples: JSON for the scripts of hyperfine", .write = hyperfine},
    ExportFormat{.name = "llama_bench",
                 .help = "a row for each pass and phase: Markdown table in the manner of llama-bench",
                 .write = llama_bench},
    ExportFormat{.name = "csv",
                 .help = "a row for each record, numbers plain, their units in the names of the columns: for pandas",
                 .write = flat_csv},
    ExportFormat{.name = "jsonl",
                 .needs = ExportNeeds::kRecordsAndTraces,
                 .help = "whole records, one on each line, with their traces",
                 .write = json_lines},
};

}  // namespace

std::string_view name_of(ExportNeeds needs) {
  switch (needs) {
    case ExportNeeds::kRecords: return "records";
    case ExportNeeds::kRecordsAndTraces: return "records, traces if any";
    case ExportNeeds::kTrace: return "one trace";
    case ExportNeeds::kTimedTrace: return "one trace with times";
  }
  return "";
}

std::span<const ExportFormat> export_formats() { return kFormats; }

}  // namespace laptime
