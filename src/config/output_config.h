// OutputConfig: where the records of a sweep are stored and how they are shown, and options (--resume, --ablate) that
// change which points run.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "config/option.h"

namespace laptime {

// kTable is aligned text for a terminal; the other formats are for documents and programs. kSamples is CSV with one
// line per sample.
enum class OutputFormat : uint8_t { kTable, kMarkdown, kCsv, kJson, kJsonl, kSamples };

constexpr auto choices_of(OutputFormat) {
  return choices<OutputFormat>("table", "markdown", "csv", "json", "jsonl", "samples");
}

// How FLOPs are counted for the mfu in tables and answers (docs/measurement.md): all of them, all with attention's
// products at half (as with a causal mask), or six per parameter per token.
enum class MfuRule : uint8_t { kFull, kCausal, k6n };

constexpr auto choices_of(MfuRule) { return choices<MfuRule>("full", "causal", "6n"); }

// Returns the pattern unchanged; throws Error unless make_label (label.h) accepts it.
std::string canonical_label_pattern(std::string_view where, std::string_view pattern);

// Heading for the options of every command with tabular output.
inline constexpr std::string_view kOutput = "Output";

struct OutputConfig {
  OutputFormat output = OutputFormat::kTable;
  std::string output_file;          // empty or "-": standard output
  std::string sort;                 // "column[:desc]"; empty: the order of the sweep
  std::string columns = "default";  // names of column sets and columns, joined by commas
  MfuRule mfu = MfuRule::kFull;
  bool verbose = false;  // also show set-up, first steps, reasons for verdicts and the machine
  bool quiet = false;    // print only rows
  std::string store;     // path, "none", or empty: the user's data directory
  bool resume = false;   // skip points that are already in the store
  bool ablate = false;   // run compile mode without lowering, with each composite lowered in turn, and with all lowered
  bool explain = false;  // compare times and bytes with their predictions
  std::string label;     // pattern of the rows' labels; empty: no labels
  bool operator==(const OutputConfig&) const = default;

  // clang-format off
  template <class Self, class Visit>
  static void visit_fields(Self& self, Visit&& visit) {
    constexpr std::string_view kSweep = "Sweep";
    visit(Option{.flag = "output", .key = "output", .group = kOutput,
                 .help = "output format; csv and jsonl have few columns unless --columns all is given; samples is one line "
                         "of CSV per sample", .axis = false, .changes_result = false}, self.output);
    visit(Option{.flag = "output-file", .key = "output_file", .group = kOutput, .help = "file for the records",
                 .otherwise = "-, standard output", .axis = false, .changes_result = false, .value = "FILE"},
          self.output_file);
    visit(Option{.flag = "sort", .key = "sort", .group = kOutput, .help = "order of the rows",
                 .otherwise = "the order of the sweep", .axis = false, .changes_result = false,
                 .value = "COLUMN[:desc]"}, self.sort);
    visit(Option{.flag = "columns", .key = "columns", .group = kOutput,
                 .help = "column sets (default, all, attention, mean_std, first_steps, ...), speedup, gain, or single "
                         "columns by header or name, such as mean, std (divided by n - 1) or std_population (by n); see "
                         "laptime list columns",
                 .axis = false, .joins_list = true, .changes_result = false, .value = "NAME,..."}, self.columns);
    visit(Option{.flag = "mfu", .key = "mfu", .group = kOutput,
                 .help = "FLOPs counted for MFU: full (all), causal (attention counted at half) or 6n (6 per parameter "
                         "per token)", .axis = false, .changes_result = false}, self.mfu);
    visit(Option{.flag = "verbose", .key = "verbose", .group = kOutput,
                 .help = "also print set-up, first steps, reasons for verdicts and the machine", .axis = false,
                 .changes_result = false}, self.verbose);
    visit(Option{.flag = "quiet", .key = "quiet", .group = kOutput, .help = "print only the rows", .axis = false,
                 .changes_result = false}, self.quiet);
    visit(Option{.flag = "store", .key = "store", .group = kOutput,
                 .help = "SQLite file for the records, or none",
                 .otherwise = "in the user's data directory", .axis = false, .changes_result = false,
                 .value = "FILE|none"}, self.store);
    visit(Option{.flag = "resume", .key = "resume", .group = kSweep,
                 .help = "skip points that are already in the store", .axis = false, .changes_result = false},
          self.resume);
    visit(Option{.flag = "ablate", .key = "ablate", .group = kSweep,
                 .help = "measure the gain of each fusion: compile mode without lowering, with one composite "
                         "lowered at a time, and with all lowered", .axis = false, .changes_result = false}, self.ablate);
    visit(Option{.flag = "explain", .key = "explain", .group = kOutput,
                 .help = "compare each point with its prediction, by phase and class of work, and show where the error "
                         "comes from", .axis = false, .changes_result = false}, self.explain);
    visit(Option{.flag = "label", .key = "label", .group = kSweep,
                 .help = "label of each row, such as {model}_{pass}_warmup_{warmup}", .otherwise = "none",
                 .axis = false, .changes_result = false, .value = "PATTERN",
                 .canonical = canonical_label_pattern}, self.label);
  }
  // clang-format on
};

}  // namespace laptime
