// Profiles side by side: what a mode, a number type or a pass changes.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "analysis/trace_findings.h"
#include "record/step_trace.h"
#include "report/grid.h"
#include "report/profile/profile_report.h"

namespace laptime {

// Two of them, by what the view shows; the summary by class and by part of the model.
std::vector<Grid> compare_profiles(const ComparedProfile& a, const ComparedProfile& b,
                                   ProfileView view = ProfileView::kSummary);

// Points in two number types each. A row for each pair: what casts take in the type that casts more, as a share of all
// its time, and the speed-up over the other type in spite of them.
Grid cast_shares(const std::vector<std::pair<ComparedProfile, ComparedProfile>>& pairs);

// How many of these profiles are disturbed (disturbance() of report/profile/profile_report.h), in a sentence; none
// where none is.
std::vector<std::string> disturbed_profiles(const std::vector<ComparedProfile>& profiles);

// The documents' question: whether one kernel takes most time in each of these passes, its share and calls, and those
// of all matrix products. Empty for fewer than two passes.
std::string top_kernels_sentence(const std::vector<ComparedProfile>& passes);

// How the share of each class changes from one profile to the next (inference, forward_backward, step).
Grid class_shares(const std::vector<ComparedProfile>& profiles);

}  // namespace laptime
