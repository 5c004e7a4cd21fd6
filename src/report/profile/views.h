// The tables of each view of a profile.
#pragma once

#include <string>
#include <vector>

#include "analysis/launch_sums.h"
#include "report/grid.h"
#include "report/profile/profile_report.h"

namespace laptime {

// Tables of one view, the largest total first; shares are of the whole step.
std::vector<Grid> view_tables(const StepTrace& trace, const ProfileQuery& query);

// Classes as rows, and for each phase, forward + backward and the whole step the seconds and their share. The last row
// is what no launch of the step took, where `test` selects none.
Grid classes_by_phase(const StepTrace& trace, const LaunchTest& test);

// Classes of each phase, drawn as bars as long as their shares of the step.
Grid class_bars(const StepTrace& trace, const LaunchTest& test);

}  // namespace laptime
