// The fields of the listing: their paths in the JSON of a record, their places in a Record, and who reads them.
#pragma once

#include <array>
#include <cstddef>
#include <type_traits>

#include "record/listing.h"
#include "record/record.h"

namespace laptime::listed_fields {

// The least extent that has a field, known while compiling.
template <Extent kExtent>
using Within = std::integral_constant<Extent, kExtent>;

inline constexpr Within<Extent::kNames> kInNames;
inline constexpr Within<Extent::kRow> kInRow;
inline constexpr Within<Extent::kListed> kInListed;

// `visit(path, extent, field)` in the order of the listing. They come first, so that whoever needs no more reads a few
// bytes of a row.
template <class Self, class Visit>
void visit_names(Self& record, Visit&& visit) {
  visit("schema_version", kInNames, record.schema_version);
  visit("name", kInNames, record.name);
  visit("label", kInNames, record.label);
  visit("status", kInNames, record.status);
  visit("verdict.rating", kInNames, record.verdict.rating);
}

// The same for the fields behind model, pass and losses.
template <class Self, class Visit>
void visit_fields(Self& record, Visit&& visit) {
  visit("reason", kInRow, record.reason);
  visit("bytes_requested", kInRow, record.bytes_requested);
  visit("bytes_available", kInRow, record.bytes_available);
  visit("op", kInRow, record.op);
  visit("scope", kInRow, record.scope);
  visit("math_mode", kInNames, record.math_mode);
  visit("phases", kInListed, record.phases);
  visit("tokens_per_second", kInRow, record.tokens_per_second);
  visit("flops.model_flops_per_second", kInRow, record.flops.model_flops_per_second);
  visit("flops.mfu_measured", kInRow, record.flops.mfu_measured);
  visit("flops.mfu_datasheet", kInRow, record.flops.mfu_datasheet);
  visit("memory.predicted_peak_bytes", kInRow, record.memory.predicted_peak_bytes);
  visit("memory.peak_bytes", kInRow, record.memory.peak_bytes);
  visit("memory.peak_rss_bytes", kInRow, record.memory.peak_rss_bytes);
  visit("memory.resident_bytes", kInRow, record.memory.resident_bytes);
  visit("memory.after_forward_bytes", kInRow, record.memory.after_forward_bytes);
  visit("memory.after_backward_bytes", kInRow, record.memory.after_backward_bytes);
  visit("prediction.time", kInRow, record.prediction.time);
  visit("setup.plan", kInListed, record.setup.plan);
  visit("setup.kernel_trial", kInListed, record.setup.kernel_trial);
  visit("setup.memory", kInListed, record.setup.memory);
  visit("setup.weights", kInListed, record.setup.weights);
  visit("setup.data", kInListed, record.setup.data);
  visit("setup.total", kInListed, record.setup.total);
  visit("transient.excess", kInListed, record.transient.excess);
  visit("transient.page_faults", kInListed, record.transient.page_faults);
  visit("flops.above_peak", kInRow, record.flops.above_peak);
  visit("transient.rest", kInListed, record.transient.rest);
  visit("stopping.rule", kInListed, record.stopping.rule);
  visit("stopping.steps_per_sample", kInListed, record.stopping.steps_per_sample);
  visit("verdict.reasons", kInListed, record.verdict.reasons);
  visit("fingerprint", kInRow, record.fingerprint);
  visit("binary.commit", kInRow, record.binary.commit);
  visit("sweep", kInListed, record.sweep);
  visit("run", kInRow, record.run);
  visit("created", kInRow, record.created);
}

// The times that are listed, in the order of the listing, and `visit(name, field)` for what is listed of each.
inline constexpr std::array<const char*, 6> kPhases{"forward", "backward",         "optimizer",
                                                    "step",    "forward_backward", "inference"};

inline constexpr size_t kFigureCount = 9;

template <class Self, class Visit>
void visit_figures(Self& time, Visit&& visit) {
  visit("count", time.count);
  visit("mean", time.mean);
  visit("median", time.median);
  visit("std", time.std);
  visit("std_population", time.std_population);
  visit("min", time.min);
  visit("max", time.max);
  visit("ci_low", time.ci_low);
  visit("ci_high", time.ci_high);
}

// What of the configuration every row has, beside the model and the pass of Extent::kNames. The configuration is the
// end of the listing, and few columns need more of it.
inline constexpr const char* kDeviceKey = "device";

}  // namespace laptime::listed_fields
