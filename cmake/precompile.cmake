# Speeds up full builds with precompiled headers, and builds of tests and sanitizers with unity builds, if the preset asks
# for them. The dev preset uses neither, so that missing includes are found.
option(LAPTIME_PRECOMPILE "Precompile the headers that most sources include" OFF)
option(LAPTIME_UNITE "Compile the sources of a layer several at a time" OFF)
option(LAPTIME_UNITE_TESTS "Compile the sources of a test program several at a time" OFF)

set(LAPTIME_PRECOMPILED <fmt/format.h> <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional>
  <map> <memory> <optional> <span> <string> <string_view> <thread> <utility> <variant> <vector>)

# layer | headers to precompile for it, which most of its sources include, or `as` another layer whose precompiled headers
# it reuses. Layers without a row reuse those of base.
set(LAPTIME_LAYER_PRECOMPILED
  "cards       | graph/builder.h graph/structural_ops.h"
  "backend/cpu | backend/cpu/gemm/gemm_kernels.h backend/cpu/vector/rows.h backend/cpu/vector/strips.h"
  "kernels     | as backend/cpu"
  "record      | config/option_table.h config/sweep.h record/record.h record/step_trace.h <filesystem>"
  "analysis    | as record"
  "report      | as record"
  "page        | as record"
  "export      | as record"
  "prepare     | as record"
  "measure     | as record"
  "sweep       | as record"
  "explain     | as record"
  "verify      | as record"
  "cli         | as record"
)

# Gives `target` precompiled headers: its own with the list above and the named headers, or those of `owner` if that is
# another target and no header is named. In that case the flags of both targets must be the same.
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

# Enables a unity build of `target` if `option` is on. Not used for ops and models, whose cards define functions with
# equal names (`infer`, `gradient`; `check`, `describe`).
function(laptime_unite target option)
  if(${option})
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 5)
  endif()
endfunction()
