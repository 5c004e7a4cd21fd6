// The sections of a page. Each is empty where the records do not have its data.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "report/page/page_parts.h"
#include "report/page/page_view.h"

namespace laptime {

// More than these would not be told apart in a chart; its table says how many are left out.
inline constexpr size_t kMostBars = 40;
inline constexpr size_t kMostSeries = 8;
inline constexpr size_t kMostPanels = 6;

inline constexpr std::array<std::string_view, 3> kStepPhases{"forward", "backward", "optimizer"};

// The header of a page: what every figure stands on.
Json page_header(const PageView& view);
// The sentences at its top: the time of the headline and how sure it is, then what explains it.
std::vector<PageAnswer> page_conclusion(const PageView& view);
// How a point compares with the slowest of the same work, with its prediction and with published times; empty where
// there is nothing to compare it with.
std::string comparison_sentence(const PageView& view, const Record& record);

PageSection summary_of_comparisons(const PageView& view);
PageSection questions_section(const PageView& view);
PageSection tables_section(const PageView& view);
PageSection step_time_section(const PageView& view);
PageSection first_steps_section(const PageView& view);
PageSection samples_section(const PageView& view);
PageSection speedup_section(const PageView& view);
PageSection classes_section(const PageView& view);
PageSection kernels_section(const PageView& view);
PageSection roofline_section(const PageView& view);
PageSection timeline_section(const PageView& view);
PageSection memory_section(const PageView& view);
PageSection prediction_section(const PageView& view);
PageSection published_section(const PageView& view);

}  // namespace laptime
