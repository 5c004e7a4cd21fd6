// profile_report: where the time of a traced step goes, as tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analysis/launch_sums.h"
#include "analysis/trace_findings.h"
#include "record/record.h"
#include "record/step_trace.h"
#include "report/grid.h"

namespace laptime {

enum class ProfileView : uint8_t { kSummary, kKernels, kOps, kClasses, kLayers, kAttention };

constexpr auto choices_of(ProfileView) {
  return std::array{
      Choice<ProfileView>{ProfileView::kSummary, "summary"}, Choice<ProfileView>{ProfileView::kKernels, "kernels"},
      Choice<ProfileView>{ProfileView::kOps, "ops"},         Choice<ProfileView>{ProfileView::kClasses, "classes"},
      Choice<ProfileView>{ProfileView::kLayers, "layers"},   Choice<ProfileView>{ProfileView::kAttention, "attention"}};
}

// What a row of the tables of kernels, ops, classes and scopes adds up: all launches of a name, or only those with the
// same shapes, in the same layer or in the same phase.
enum class ProfileBy : uint8_t { kName, kShape, kLayer, kPhase };

constexpr auto choices_of(ProfileBy) {
  return std::array{Choice<ProfileBy>{ProfileBy::kName, "name"}, Choice<ProfileBy>{ProfileBy::kShape, "shape"},
                    Choice<ProfileBy>{ProfileBy::kLayer, "layer"}, Choice<ProfileBy>{ProfileBy::kPhase, "phase"}};
}

// Whether `by` decides what a row of the view is, or names what its rows are anyway (the phase of an op).
bool splits(ProfileView view, ProfileBy by);

// What a profile shows.
struct ProfileQuery {
  ProfileView view = ProfileView::kSummary;
  ProfileBy by = ProfileBy::kName;
  int64_t top = 0;     // rows of a table; 0: all
  std::string sort{};  // column[:asc|:desc] of the view's table; empty: as the view orders its rows
  LaunchTest test{};   // launches that are shown; null: all
  // `test` in the words of the command ("'class = matmul'"), and the columns of launches that it reads.
  std::string selection{};
  std::vector<std::string> selection_columns{};
};

// "matmul 81.2 % of the step, at 0.94 of ...; optimizer 3.1 %, at ..."
std::string profile_conclusion(const StepTrace& trace);

// "disturbed: ... ": where traced steps took much longer or shorter than the untraced ones beside them, so that shares
// are rough; empty otherwise.
std::string disturbance(const StepTrace& trace);

// The documents' question: how their times and FLOPs compare, in a sentence. Empty where they are not apart.
std::string softmax_against_products(const StepTrace& trace);

// The conclusion, the cost of tracing, phases and residue, and the tables of the view. Where the query selects no
// launch, the first sentence says so, with the values that its columns have, and there are no tables of the view. The
// trace must have steps. Error for an unknown column in `sort`.
PointReport profile_report(const Record& record, const StepTrace& trace, const ProfileQuery& query);

}  // namespace laptime
