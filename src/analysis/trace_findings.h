// Findings from the launches of a trace: where the time of a step goes, and how much tracing changes it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/finding.h"
#include "analysis/launch_sums.h"
#include "record/record.h"
#include "record/step_trace.h"

namespace laptime {

// All findings about the trace of one point, in this order; a kind is omitted if the trace lacks its data.
//   pass_time          total_s, residue_s, launches
//   class_share        of each class of work, largest first: total_s, share, of_bound, bound ("compute", "memory"),
//                      in_cache
//   phase_time         of each phase: total_s, share, launches, class, class_share (its largest class), of_bound
//   rates              peak_flops_per_second, bandwidth_bytes_per_second: used for the bounds; from: for a prediction
//   pass_bound         arithmetic_s, memory_s, of_bound: minimum time of all launches
//   tracing            traced_s, untraced_s, ratio with its interval, traced_steps, untraced_steps, mean_ratio,
//                      is_disturbed
//   launch_sum         launches_s, untraced_s, ratio with its interval: the sum of launches against an untraced step
//   marks              mark_s, launches, share: cost of the timestamps after launches
//   launch_starts      floor_s, share, launches: for a data-sheet prediction, the minimum time of all launches, and the
//                      share of the rest, which is spent starting kernels
//   data_sheet_floor   floor_s, share, peak_flops_per_second, bandwidth_bytes_per_second: minimum time according to the
//                      data sheet
//   device_idle        share, is_launch_bound, kernels, copies, graph_s, is_graph, records, missing, watched_steps
//   communication      total_s, exposed_s, exposed_share, bytes, launches: between ranks, as in the record
//   softmax_against_products  time_ratio, flops_ratio, steps; softmax_... and products_...: s, flops, bytes, bound
std::vector<Finding> trace_findings(const Record& record, const StepTrace& trace);

// The minimum time of a pass's launches in seconds, split by what limits each launch.
struct PassBound {
  double arithmetic = 0;
  double memory = 0;

  double seconds() const { return arithmetic + memory; }
};
// The minimum time of the trace's launches; none if the machine's rates are unknown.
std::optional<PassBound> bound_of_pass(const StepTrace& trace);

// The kernel that takes the most time in a pass: kernel, total_s, share, calls and, if there are matrix products,
// products_share, products_calls. The subject is `pass`. None for a trace without launches or traced steps.
std::optional<Finding> top_kernel(const std::string& pass, const StepTrace& trace);

// One of several profiles of one model.
struct ComparedProfile {
  std::string title;  // "eager"
  const StepTrace* trace = nullptr;
  std::string point{};  // name of the profiled record
};

// A part of the step in two profiles. Times are means over the traced steps, so that the parts add up to the step.
struct ComparedPart {
  std::string part;                  // "backward matmul"; "residue" and "step" at the end
  std::optional<double> a, b;        // seconds; none if a profile has no such launch
  std::optional<double> ratio;       // a / b
  std::optional<Interval> interval;  // interval of the ratio; none for a prediction or too few steps

  double saved() const { return a.value_or(0) - b.value_or(0); }
};
// Compares two profiles part by part; launches with the same key are one part. The part with the largest saving is
// first; "residue" (if there is one, and unless `test` selects launches) and "step" are last.
std::vector<ComparedPart> compared_parts(const StepTrace& a, const StepTrace& b, const LaunchKey& key,
                                         const LaunchTest& test = {});

// Given two profiles in different number types, describes the one that casts more, its casts as a share of its step,
// and its speed-up over the other: from, to, casts_s, cast_share, from_s, to_s, speedup with its interval. The
// subject is the point that casts more.
Finding cast_cost(const ComparedProfile& a, const ComparedProfile& b);

}  // namespace laptime
