// Deterministic mutations of inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace laptime::fuzz {

// Mutant `number`, made from one of the seeds (at least one) by one to eight changes: flipped bits, ranges that are
// removed, doubled or copied from another seed, and inserted words and extreme numbers.
std::string mutant(const std::vector<std::string>& seeds, const std::vector<std::string>& words, uint64_t number);

}  // namespace laptime::fuzz
