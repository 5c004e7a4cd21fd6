// How things look in pictures: each phase, class of work, category of memory and number type has one colour and one
// pattern, the same in every picture.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "analysis/memory_ledger.h"

namespace laptime {

// People who are colour-blind can tell the colours of a kind apart (after Paul Tol's bright and muted schemes). A page
// draws the pattern over the colour, so that things can be told apart in black and white too; it is a number that no
// other thing of the same kind has.
struct Look {
  std::string_view color;  // "#4477aa"
  size_t pattern = 0;
};

struct NamedLook {
  std::string_view name;
  Look look;
};
std::span<const NamedLook> phase_looks();
std::span<const NamedLook> class_looks();  // of classes of work

// An unknown name is grey, with the pattern after the known ones.
Look look_of_phase(std::string_view phase);              // "forward"
Look look_of_class(std::string_view work_class);         // "matmul"
Look look_of_number_type(std::string_view number_type);  // "float32"
Look look_of_bound(std::string_view bound);              // "compute", "memory"
size_t pattern_of_mode(std::string_view mode);           // "eager"
Look look_of(MemoryCategory category);
Look look_of_all_activations();  // saved and temporary, where they are not told apart
Look look_of_gaps();             // bytes that belong to no category

}  // namespace laptime
