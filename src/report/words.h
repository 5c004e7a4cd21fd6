// Sentences for findings, one per kind, and the short phrases used in answers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/finding.h"

namespace laptime {

// A sentence for a finding, without a final period: "softmax takes 21 % as long as the two products of attention
// (forward: 1.20 ms against 5.70 ms), for 1.2 % of their FLOPs". Aborts for a kind that has no words.
std::string words(const Finding& finding);
// The words for the first finding of a kind; empty if there is none.
std::string words_of(const std::vector<Finding>& findings, std::string_view kind);

// "1.10 s per step: matmul 66 %, optimizer 27 %, all else 7 %".
std::string profile_headline(const std::vector<Finding>& findings);
// "optimizer state 261 MiB 45 %", largest first, at most `count` entries; the rest is summed.
std::vector<std::string> memory_shares(const std::vector<Finding>& findings, size_t count);
// "tensors alone: forward 491 MiB, backward 523 MiB, optimizer 581 MiB"; empty for fewer than two phases.
std::string phase_peaks(const std::vector<Finding>& findings);

// Seconds and bytes with three digits: "1.10 s", "581 MiB".
std::string brief_seconds(double seconds);
std::string brief_bytes(int64_t bytes);
// The number with commas, "31,500"; four digits have no comma.
std::string grouped(int64_t number);
// A price: "3.25", "31,500".
std::string price_words(double price);
// A count; from a million on, with three digits: "31,500", "1.5B", "15.6T".
std::string count_words(double count);
// A time in a suitable unit: "38 s", "12 min", "8.8 h", "3.2 days".
std::string long_time(double seconds);
// "76.0 GiB (95 % of 80.0 GiB)", "3.00 GiB (--memory-limit)": the memory that a step may use.
std::string usable_words(const Finding& memory);
// "matmul at layers.3.attn.scores"; only the op if it has no scope.
std::string place_words(const std::string& op, const std::string& scope);

}  // namespace laptime
