// Short answers to the questions that the source documents ask about the time and memory of a step.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "record/step_trace.h"

namespace laptime {

struct QuestionedPoint {
  const Record* record = nullptr;
  const StepTrace* trace = nullptr;  // null if there is none
  std::string name;
};

struct Answer {
  std::string_view question;  // a heading of docs/tutorial.md, which shows a command for it
  std::string text;
};

// One answer per question that the points can answer, in the order of docs/tutorial.md. An answer about a single point
// names that point: the one with the extreme value if the question asks for an extreme, otherwise the first one with
// the required data.
std::vector<Answer> answer_questions(std::span<const QuestionedPoint> points);

}  // namespace laptime
