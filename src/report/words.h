// The words for findings: one function for each kind, used wherever people read them.
#pragma once

#include <string>
#include <vector>

#include "analysis/finding.h"
#include "report/phrases.h"

namespace laptime {

// "softmax takes 21 % as long as the two products (1.20 ms against 5.70 ms), for 1.2 % of their FLOPs". Without a
// period. Aborts for a kind that has no words.
std::string words(const Finding& finding);

// "1.10 s per step: matmul 66 %, optimizer 27 %, all else 7 %".
std::string profile_headline(const std::vector<Finding>& findings);
// "581 MiB at the peak, in the optimizer, by adamw at token_embeddings".
std::string memory_headline(const std::vector<Finding>& findings);
// "optimizer state 261 MiB 45 %", the largest first, at most `count`; the rest together.
std::vector<std::string> memory_shares(const std::vector<Finding>& findings, size_t count);
// "peak in forward 491 MiB, backward 523 MiB, optimizer 581 MiB".
std::string phase_peaks(const std::vector<Finding>& findings);
// "forward saves 70.0 MiB, 24.0 MiB a layer"; empty where nothing is saved.
std::string saved_words(const std::vector<Finding>& findings);

}  // namespace laptime
