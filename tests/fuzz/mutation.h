// Deterministic mutations of inputs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace laptime::fuzz {

// Mutant `number`, made from one of the seeds (at least one) by one to eight changes: bits are flipped; ranges are
// removed, duplicated or copied from another seed; words and extreme numbers are inserted.
std::string mutant(const std::vector<std::string>& seeds, const std::vector<std::string>& words, uint64_t number);

}  // namespace laptime::fuzz
