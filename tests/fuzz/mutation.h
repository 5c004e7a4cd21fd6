// Mutations of an input, the same for the same number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace laptime::fuzz {

// Input `number` made from the seeds (at least one) and words: a seed with one to eight changes, such as bits turned,
// stretches cut, doubled or taken from another seed, words and extreme numbers put in.
std::string mutant(const std::vector<std::string>& seeds, const std::vector<std::string>& words, uint64_t number);

}  // namespace laptime::fuzz
