# Precompiled headers, where a preset asks for them: a third of the time of a build from nothing. The dev preset builds
# without, so that an include that is missing shows.
option(LAPTIME_PRECOMPILE "Precompile the headers that most sources include" OFF)

set(LAPTIME_PRECOMPILED <fmt/format.h> <fmt/ranges.h> <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional>
  <map> <memory> <optional> <span> <string> <string_view> <thread> <utility> <variant> <vector>)

# Gives `target` precompiled headers, those of `owner` once there is one (the flags of both must be the same).
function(laptime_precompile target owner)
  if(NOT LAPTIME_PRECOMPILE)
    return()
  endif()
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${LAPTIME_PRECOMPILED})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()
