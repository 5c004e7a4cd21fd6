// The texts of a page: title, headline, a sentence below each chart of a point, and answers to questions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "page/points.h"

namespace laptime {

// "small GPT, 2 layers, batch 2: one training step on AMD EPYC, 2 threads"
std::string page_title(const PagePoints& points);

// "bfloat16 compile is fastest: 353 ms, 2.6x float32 eager (2.4-2.9)", for the point that the page opens with.
std::string page_headline(const PagePoints& points);

// Bytes at the peak by purpose, from a trace's ledger or from the roles in a record; empty if neither is known.
using NamedBytes = std::pair<std::string, int64_t>;
std::vector<NamedBytes> peak_parts(const Record& record, const TraceSums* sums);

// Bytes at the peak; none if unknown.
std::optional<int64_t> peak_bytes(const Record& record, const TraceSums* sums);

// "bfloat16 compile saves 433 ms of the 785 ms of float32 eager, most in the optimizer, which takes 257 ms less."
std::string time_sentence(const PagePoints& points, const PagePoint& point);
// "10B tokens: 77,000 steps, 3.2 days (2.9 days to 3.5 days)."; empty if no training was requested, for a pass other
// than a step, and for a point without a time.
std::string training_sentence(const PagePoints& points, const PagePoint& point);
// "The median of 77 samples is known to ±5 %; ..."
std::string trust_sentence(const PagePoint& point);
// "581 MiB at the peak, in the optimizer, by adamw: optimizer state 261 MiB 45 %, all else 320 MiB 55 %."
std::string memory_sentence(const PagePoint& point, const TraceSums* sums);
// "1.10 s per step: matmul 66 %, optimizer 27 %, all else 7 %; backward: matmul:tiles takes the most time, ..."
// Empty without times.
std::string work_sentence(const TraceSums& sums);
// "At these rates the launches take at least 200 ms, 61 % of the step (90 % of it arithmetic); ..."
// Empty if the step has no time or no bound is known.
std::string bound_sentence(const TraceSums& sums);

// A short answer to a question that the source documents ask about the time and memory of a step.
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
