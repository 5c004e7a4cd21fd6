// profile_answer: shows where the time of a traced step goes, for `laptime profile`.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "analysis/launch_sums.h"
#include "analysis/trace_findings.h"
#include "config/option.h"
#include "record/record.h"
#include "record/step_trace.h"
#include "report/answer.h"

namespace laptime {

enum class ProfileView : uint8_t { kSummary, kKernels, kOps, kClasses, kLayers, kAttention, kAll };

constexpr auto choices_of(ProfileView) {
  return choices<ProfileView>("summary", "kernels", "ops", "classes", "layers", "attention", "all");
}

// How launches are grouped into rows in the tables of kernels, ops, classes and scopes: by name, or also by shape,
// layer or phase.
enum class ProfileBy : uint8_t { kName, kShape, kLayer, kPhase };

constexpr auto choices_of(ProfileBy) { return choices<ProfileBy>("name", "shape", "layer", "phase"); }

// Whether `by` applies to the view. Also true if the view always splits its rows this way (ops by phase).
bool splits(ProfileView view, ProfileBy by);

struct ProfileQuery {
  ProfileView view = ProfileView::kSummary;
  ProfileBy by = ProfileBy::kName;
  int64_t top = 0;     // rows per table; 0: all
  std::string sort{};  // column[:asc|:desc] of the view's table; empty: the view's order
  LaunchTest test{};   // selects launches; null: all
  // `test` as written on the command line ("'class = matmul'"), and the launch columns that it reads.
  std::string selection{};
  std::vector<std::string> selection_columns{};
  bool verbose = false;
};

// A headline, the phases, and the tables of the view. If the query selects no launch, the first line says so and lists
// the values in the query's columns. The trace must have steps. Throws Error for an unknown column in `sort`.
PointAnswer profile_answer(const Record& record, const StepTrace& trace, const ProfileQuery& query);

// The tables of a view; shares are relative to the whole step. Kernels and ops are sorted by total, largest first. The
// first table is the one named by the view.
std::vector<Table> profile_tables(const StepTrace& trace, const ProfileQuery& query);

// Compares two profiles: the speed-up in the first line, then tables part by part, the largest saving first; `top`
// keeps the parts that differ most. The summary compares classes and parts of the model.
PointAnswer compared_answer(const ComparedProfile& a, const ComparedProfile& b, const ProfileQuery& query);

// One row per pair of points in two number types: the time of casts, and the speed-up that remains despite the casts.
Table cast_table(const std::vector<std::pair<ComparedProfile, ComparedProfile>>& pairs);

// How the share of each class changes from one profile to the next (inference, forward_backward, step). Shares are
// relative to each profile's whole step.
Table class_share_table(const std::vector<ComparedProfile>& profiles, const ProfileQuery& query);

// "! 1 of 2 profiles is disturbed: trust shares, not times"; empty if none is disturbed.
std::string disturbed_line(const std::vector<ComparedProfile>& profiles);

}  // namespace laptime
