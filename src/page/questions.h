// Short answers to the questions that the source documents ask about the time and memory of a step.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "page/points.h"

namespace laptime {

struct Answer {
  std::string_view question;  // a heading of docs/tutorial.md, which shows a command for it
  std::string text;
};

// One answer per question that the points can answer, in the order of docs/tutorial.md. An answer about a single point
// names that point: the one with the extreme value if the question asks for an extreme, otherwise the first one with
// the required data. The point that the page opens with comes first, followed by the points with the same work, then by
// all others.
std::vector<Answer> answer_questions(const PagePoints& points);

}  // namespace laptime
