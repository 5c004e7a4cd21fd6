// Words of a page that its reader need not know, with what they mean in its records.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "record/record.h"
#include "report/page/page_parts.h"
#include "report/page/page_view.h"

namespace laptime {

// "no steady state": the verdict on a record as people read it, kPredicted for a prediction; empty where there is none.
std::string verdict_text(const Record& record);

// Seconds of all steps in order, warm-up first.
std::vector<double> whole_series(const Record& record);

// How far and in which direction steps still went while sampled, where that makes the verdict "no steady state": by the
// median of the last five steps, or of the first five samples, over that of the five steps before ("last 5 steps -1.5
// %"), or else along their trend ("drifts +6.1 % over 60 samples"). Empty where they went less than the limits.
std::string drift_text(const Record& record);

// The verdict; of one that is not stable with its reason in a few words: "unstable: interval +-6.1 %", "no steady
// state: last 5 steps -1.5 %", "noisy: two modes".
std::string verdict_and_reason(const Record& record);

// What the step's products are held against: "measured float32 peak of matrix products", "data sheet's ..." for a
// prediction.
std::string peak_name(const Record& record);
// The two rates that a step is held against under the roofline: of products, and of main memory.
std::string bounding_peak_name(const Record& record);
std::string bandwidth_name(const Record& record);

// A published time against one of the page's, both in seconds: "18.7 times as fast as here (18.5 .. 18.8)", where the
// brackets have what the 95 % interval of `own` allows; "roughly 1.30 times as slow as here" where the verdict on its
// record speaks against comparing. `as` follows the ratio: " as here".
std::string published_against(double published, const Record& record, const TimeStats& own, std::string_view as);

// Of a published arithmetic against which the throughput or the source speaks (PublishedFigure::certainty).
inline constexpr std::string_view kDoubtful = "doubtful";

// Whether a published arithmetic ("float32", "bfloat16 autocast") is that of a record, whose products of float32 may be
// sums of products of bfloat16 terms, which are about as exact.
bool is_same_arithmetic(std::string_view published, const Record& record);

// "0.52 to 0.61"; "0.52" where both ends read alike.
std::string range_text(const std::vector<double>& values, const std::function<std::string(double)>& text);

// The times of a phase or of the pass by its name; null where it was not timed.
const TimeStats* time_of_part(const Record& record, std::string_view part);

// What "95 % interval" means wherever it stands on a page.
PageWord interval_word();

// The verdicts on these records, the best first.
std::vector<PageWord> verdict_words(const std::vector<const Record*>& records);

// Puts the words of verdicts that a section uses beside what they mean, each once: in the first figure that shows it,
// or else below the lines and answers.
void explain_verdicts(const PageView& view, PageSection& section);

// The arithmetics of these records that are more than multiply-adds of a number type, in the words of their tables.
std::vector<PageWord> arithmetic_words(const std::vector<const Record*>& records);

}  // namespace laptime
