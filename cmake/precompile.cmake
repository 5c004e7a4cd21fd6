# How builds from nothing become quick, where a preset asks for it: precompiled headers, and several sources in one
# compilation. The dev preset builds without either, so that an include that is missing shows.
option(LAPTIME_PRECOMPILE "Precompile the headers that most sources include" OFF)
option(LAPTIME_UNITE "Compile the sources of a layer, and those of a test program, several at a time" OFF)

set(LAPTIME_PRECOMPILED <fmt/format.h> <fmt/ranges.h> <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional>
  <map> <memory> <optional> <span> <string> <string_view> <thread> <utility> <variant> <vector>)

# Gives `target` precompiled headers, those of `owner` once there is one (the flags of both must be the same): the list
# above and what else is named.
function(laptime_precompile target owner)
  if(NOT LAPTIME_PRECOMPILE)
    return()
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${LAPTIME_PRECOMPILED} ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# Compiles the sources of `target` several at a time. Not for ops: each states its card in the same words (`infer`,
# `gradient`), and so do their tests.
function(laptime_unite target)
  if(LAPTIME_UNITE)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
  endif()
endfunction()
