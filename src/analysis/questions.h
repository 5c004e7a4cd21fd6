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
  const StepTrace* trace = nullptr;  // null without one
  std::string name;
};

struct Answer {
  std::string_view question;  // a heading of docs/tutorial.md, which has a command for it
  std::string text;
};

// One answer for each question that the points answer, in the order of docs/tutorial.md. The first point with what a
// question is about stands for the others where a single one must.
std::vector<Answer> answer_questions(std::span<const QuestionedPoint> points);

}  // namespace laptime
