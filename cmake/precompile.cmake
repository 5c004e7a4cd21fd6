# Precompiled headers, and unity builds for quickstart, ./check, tests and sanitizers. They speed up full builds, and are
# used if the preset or the command line asks for them. The dev preset uses neither, so that missing includes are found.
option(LAPTIME_PRECOMPILE "Precompile the headers that most sources include" OFF)
option(LAPTIME_UNITE "Compile the sources of a layer several at a time" OFF)
option(LAPTIME_UNITE_TESTS "Compile the sources of a test program several at a time" OFF)

set(LAPTIME_PRECOMPILED <fmt/format.h> <algorithm> <array> <atomic> <cmath> <cstdint> <cstring> <functional>
  <map> <memory> <optional> <span> <string> <string_view> <thread> <utility> <variant> <vector>)

# layer | headers to precompile for it, which most of its sources include, or `as` another layer whose precompiled headers
# it reuses; both must then be compiled with the same flags. Layers without a row reuse those of base.
set(records_headers config/option_table.h config/sweep.h record/record.h record/step_trace.h <filesystem>)
list(JOIN records_headers " " records_headers)
set(LAPTIME_LAYER_PRECOMPILED
  "cards       | graph/builder.h graph/structural_ops.h"
  "backend/cpu | backend/cpu/gemm/gemm_kernels.h backend/cpu/vector/rows.h backend/cpu/vector/strips.h"
  "kernels     | as backend/cpu"
  "record      | ${records_headers} base/words.h record/listing.h"
  "analysis    | as record"
  "report      | as record"
  "page        | as record"
  "export      | as record"
  "prepare     | ${records_headers} prepare/prepare.h"
  "measure     | as prepare"
  "cluster     | ${records_headers} base/words.h measure/run_one.h"
  "sweep       | as cluster"
  "explain     | as cluster"
  "verify      | as cluster"
  "cli         | as cluster"
)

# Layers that only read and show records, or wait for other processes. Nothing in them runs during a sample, so release
# builds compile them with less optimisation, which takes a third less time.
set(LAPTIME_UNTIMED_LAYERS record analysis report page export sweep cluster explain verify cli)

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
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10)
    # GCC treats the sources of a unity build as included files, and would warn about their anonymous namespaces.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()
