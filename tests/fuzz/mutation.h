// Deterministic mutations of inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace laptime::fuzz {

// Mutant `number`, made from one of the seeds (at least one) by one to eight changes: bits are flipped and bytes set;
// ranges are removed, duplicated or copied from a seed; words and extreme values are inserted, or replace words and
// numbers.
std::string mutant(const std::vector<std::string>& seeds, const std::vector<std::string>& words, uint64_t number);

}  // namespace laptime::fuzz
