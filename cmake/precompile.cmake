# How builds from nothing become quick, where a preset asks for it: precompiled headers, and several sources in one
# compilation. The dev preset builds without either, so that an include that is missing shows.
option(LAPTIME_PRECOMPILE "Precompile the headers that most sources include" OFF)
option(LAPTIME_UNITE "Compile the sources of a layer, and those of a test program, several at a time" OFF)

set(LAPTIME_PRECOMPILED <fmt/format.h> <fmt/ranges.h> <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional>
  <map> <memory> <optional> <span> <string> <string_view> <thread> <utility> <variant> <vector>)

# layer | headers that most of its sources include, which has precompiled headers of its own, or `as` whose headers it has;
# the others have those of base
set(LAPTIME_LAYER_PRECOMPILED
  "cards       | graph/builder.h graph/structural_ops.h"
  "backend/cpu | backend/cpu/gemm/gemm_kernels.h backend/cpu/vector/rows.h backend/cpu/vector/strips.h"
  "kernels     | as backend/cpu"
  "config      | <nlohmann/json.hpp>"
  "data        | as config"
  "record      | as config"
  "report      | as config"
  "prepare     | as config"
  "measure     | as config"
  "sweep       | as config"
  "explain     | as config"
  "verify      | as config"
  "cli         | as config"
)

# Gives `target` precompiled headers: of its own, the list above and what else is named; or those of `owner`, if that is
# another and nothing is named (the flags of both must be the same).
function(laptime_precompile target owner)
  if(NOT LAPTIME_PRECOMPILE)
    return()
  endif()
  if(target STREQUAL owner OR ARGN)
    target_precompile_headers(${target} PRIVATE ${LAPTIME_PRECOMPILED} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# Compiles the sources of `target` several at a time. Not for ops and models: each states its card in the same words
# (`infer`, `gradient`; `check`, `describe`).
function(laptime_unite target)
  if(LAPTIME_UNITE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
  endif()
endfunction()
