// profile_report: where the time of a traced step goes, as tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "record/record.h"
#include "record/step_trace.h"
#include "report/grid.h"
#include "report/profile/launch_sums.h"

namespace laptime {

enum class ProfileView : uint8_t { kSummary, kKernels, kOps, kClasses, kLayers, kAttention };

constexpr auto choices_of(ProfileView) {
  return std::array{
      Choice<ProfileView>{ProfileView::kSummary, "summary"}, Choice<ProfileView>{ProfileView::kKernels, "kernels"},
      Choice<ProfileView>{ProfileView::kOps, "ops"},         Choice<ProfileView>{ProfileView::kClasses, "classes"},
      Choice<ProfileView>{ProfileView::kLayers, "layers"},   Choice<ProfileView>{ProfileView::kAttention, "attention"}};
}

// What a row of the tables of kernels, ops and scopes adds up: all launches of a name, or only those with the same
// shapes, in the same layer or in the same phase.
enum class ProfileBy : uint8_t { kName, kShape, kLayer, kPhase };

constexpr auto choices_of(ProfileBy) {
  return std::array{Choice<ProfileBy>{ProfileBy::kName, "name"}, Choice<ProfileBy>{ProfileBy::kShape, "shape"},
                    Choice<ProfileBy>{ProfileBy::kLayer, "layer"}, Choice<ProfileBy>{ProfileBy::kPhase, "phase"}};
}

// What a profile shows.
struct ProfileQuery {
  ProfileView view = ProfileView::kSummary;
  ProfileBy by = ProfileBy::kName;
  int64_t top = 0;     // rows of a table; 0: all
  std::string sort{};  // column[:asc|:desc] of the view's table; empty: as the view orders its rows
  LaunchTest test{};   // launches that are shown; null: all
};

// "matmul 81.2 % of the step, at 0.94 of ...; optimizer 3.1 %, at ..."
std::string profile_conclusion(const StepTrace& trace);

// "disturbed: ... ": where traced steps took much longer or shorter than the untraced ones beside them, so that shares
// are rough; empty otherwise.
std::string disturbance(const StepTrace& trace);

// The documents' question: softmax against the two products around it in forward. Empty where they are not apart.
std::string softmax_against_products(const StepTrace& trace);
// The ratio of their times in that sentence; none where it is empty.
std::optional<double> softmax_time_over_products(const StepTrace& trace);

// The conclusion, the cost of tracing, phases and residue, and the tables of the view. The trace must have steps.
// Error for an unknown column in `sort`.
PointReport profile_report(const Record& record, const StepTrace& trace, const ProfileQuery& query);

// Two profiles of one model side by side: "eager" and "compile".
struct ComparedProfile {
  std::string title;  // "eager"
  const StepTrace* trace = nullptr;
};
// By what the view shows; the summary by class and by part of the model.
std::vector<Grid> compare_profiles(const ComparedProfile& a, const ComparedProfile& b,
                                   ProfileView view = ProfileView::kSummary);

// A point in two number types.
struct CastComparison {
  std::string name;
  ComparedProfile from, to;
};
// A row for each point: what casts take in the second type, as a share of all its time, and the speed-up in spite of
// them. All have the same two types.
Grid cast_shares(const std::vector<CastComparison>& pairs);

// The documents' question: whether one kernel takes most time in each of these passes, its share and calls, and those
// of all matrix products. Empty for fewer than two passes.
std::string top_kernels_sentence(const std::vector<ComparedProfile>& passes);

// How the share of each class changes from one profile to the next (inference, forward_backward, step).
Grid class_shares(const std::vector<ComparedProfile>& profiles);

}  // namespace laptime
