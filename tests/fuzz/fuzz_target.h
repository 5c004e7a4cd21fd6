// What a fuzz target gives: the parser under test, inputs to begin with, and words that its grammar knows. A parser may
// answer any input with an Error; everything else that it might do (crash, hang, another exception) is a defect.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace laptime::fuzz {

// Valid inputs, or nearly so.
std::vector<std::string> seeds();
// Pieces that mutations put in; may be none.
std::vector<std::string> words();

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// Runs `parse`, which may refuse its input.
template <class Parse>
void accept_or_refuse(const Parse& parse) {
  try {
    parse();
  } catch (const Error&) {  // refused, with a reason
  }
}

}  // namespace laptime::fuzz
