// Answers of laptime compare, about A and B measured in rounds (with the part of the step that explains the difference)
// or about stored records of the same points.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/compared_points.h"
#include "distribution/paired_ratio.h"
#include "record/record.h"
#include "record/step_trace.h"
#include "report/answer.h"

namespace laptime {

// Results of one process of a round.
struct RoundFigures {
  std::string pass;                    // key in `time` of the compared time
  std::map<std::string, double> time;  // medians in seconds, by keys of Record::time
  std::vector<std::string> phases;     // the keys of `time` that are phases, in order
  // Mean seconds in a traced step, keyed by phase and part ("backward layers.*.ffn") and by op; empty without a trace.
  std::map<std::string, std::map<std::string, double>> parts;
  double traced = 0;  // mean seconds of a traced step
};

// The results of a process from its record, which must have status ok, and from its trace.
RoundFigures round_figures(const Record& record, const std::optional<StepTrace>& trace);

struct ComparedRound {
  RoundFigures a, b;
};

// Names of the two sides ("mode eager", "mode compile"), and a description of what both sides share.
struct ComparedNames {
  std::string a, b;
  std::string point;
};

struct RoundTimes {
  std::vector<double> a, b;
};
RoundTimes times_of(const std::vector<ComparedRound>& rounds);

PairedRatio ratio_of(const std::vector<ComparedRound>& rounds);

// Shows the ratio and its cause, the phases, the ops or parts that differ most, and the rounds; with `verbose`, all
// tables. Requires at least one round. `margin`: the largest difference that does not matter, as a fraction.
PointAnswer comparison_answer(const ComparedNames& names, const std::vector<ComparedRound>& rounds, double margin,
                              bool verbose = false);

// Compares stored records. `confidence`: level of the intervals, as a fraction. Requires at least one pair.
PointAnswer stored_comparison_answer(const std::string& a, const std::string& b, const std::vector<StoredPair>& pairs,
                                     double margin, double confidence);

}  // namespace laptime
