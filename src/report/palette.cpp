// Tables of colours and patterns.
#include "report/palette.h"

#include <algorithm>
#include <array>

namespace laptime {
namespace {

// The optimizer is a phase and a class of work, and its state a category of memory.
constexpr std::string_view kOptimizerColor = "#9988dd";
constexpr std::string_view kSavedColor = "#228833";
constexpr std::string_view kGrey = "#bbbbbb";

constexpr std::array kPhases{NamedLook{"forward", {"#4477aa", 0}}, NamedLook{"inference", {"#66ccee", 1}},
                             NamedLook{"backward", {"#ee6677", 2}}, NamedLook{"optimizer", {kOptimizerColor, 8}}};
constexpr std::array kClasses{NamedLook{"matmul", {"#88ccee", 0}},         NamedLook{"attention", {"#44aa99", 1}},
                              NamedLook{"softmax", {"#117733", 2}},        NamedLook{"elementwise", {"#ddcc77", 3}},
                              NamedLook{"reduction", {"#999933", 4}},      NamedLook{"cast", {"#cc6677", 5}},
                              NamedLook{"copy", {"#aa4499", 6}},           NamedLook{"loss", {"#882255", 7}},
                              NamedLook{"optimizer", {kOptimizerColor, 8}}};
constexpr std::array kNumberTypes{NamedLook{"float32", {"#332288", 0}}, NamedLook{"bfloat16", {"#ee7733", 1}},
                                  NamedLook{"float16", {"#009988", 2}}, NamedLook{"tf32", {"#999933", 3}}};
constexpr std::array kBounds{NamedLook{"compute", {"#4477aa", 0}}, NamedLook{"memory", {"#ccbb44", 1}}};
constexpr std::array<std::string_view, 2> kModes{"eager", "compile"};
// In the order of MemoryCategory.
constexpr std::array<Look, kMemoryCategoryCount> kCategories{{{"#4477aa", 0},
                                                              {kOptimizerColor, 8},
                                                              {"#332288", 2},
                                                              {"#ee6677", 3},
                                                              {"#aa3377", 4},
                                                              {kSavedColor, 5},
                                                              {"#ccbb44", 6},
                                                              {kGrey, 7}}};

Look find_look(std::span<const NamedLook> looks, std::string_view name) {
  const auto found = std::find_if(looks.begin(), looks.end(), [&](const NamedLook& one) { return one.name == name; });
  return found == looks.end() ? Look{kGrey, 9} : found->look;
}

}  // namespace

std::span<const NamedLook> phase_looks() { return kPhases; }
std::span<const NamedLook> class_looks() { return kClasses; }
Look look_of_phase(std::string_view phase) { return find_look(kPhases, phase); }
Look look_of_class(std::string_view work_class) { return find_look(kClasses, work_class); }
Look look_of_number_type(std::string_view number_type) { return find_look(kNumberTypes, number_type); }
Look look_of_bound(std::string_view bound) { return find_look(kBounds, bound); }
size_t pattern_of_mode(std::string_view mode) {
  return static_cast<size_t>(std::find(kModes.begin(), kModes.end(), mode) - kModes.begin());
}
Look look_of(MemoryCategory category) { return kCategories.at(static_cast<size_t>(category)); }
Look look_of_all_activations() { return {kSavedColor, 1}; }
Look look_of_gaps() { return {"#555555", 9}; }

}  // namespace laptime
