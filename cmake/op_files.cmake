# Kernel sources, by suffix: which flags compile them, once per instruction set.

# isa | flags. The first column is also LAPTIME_ISA, the namespace of that copy; in order of width. The last one adds to
# avx512 an instruction that few sources use: it compiles only those named *_avx512_bf16.cpp, the others all the rest.
set(LAPTIME_ISAS
  "plain       | -march=x86-64"
  "avx2        | -march=x86-64 -mavx2 -mfma -mf16c -mbmi -mbmi2"
  "avx512      | -march=x86-64 -mavx2 -mfma -mf16c -mbmi -mbmi2 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mprefer-vector-width=512"
  "avx512_bf16 | -march=x86-64 -mavx2 -mfma -mf16c -mbmi -mbmi2 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512bf16 -mprefer-vector-width=512"
)

# The copies that are built: all, or a list of theirs; never without plain. Sources expand it from generated/isas.inc.
set(LAPTIME_ONLY_ISAS "" CACHE STRING "Instruction sets to compile kernels for, e.g. plain;avx2 (default: all)")
set(isas_inc "// LAPTIME_ISA_ROW(instruction set) for each that all kernels are compiled for, in order of width.\n")
set(LAPTIME_BUILT_ISAS "")
foreach(row IN LISTS LAPTIME_ISAS)
  string(REGEX MATCH "^[a-z0-9_]+" isa "${row}")
  if(NOT LAPTIME_ONLY_ISAS OR isa STREQUAL "plain" OR isa IN_LIST LAPTIME_ONLY_ISAS)
    list(APPEND LAPTIME_BUILT_ISAS "${row}")
    if(isa STREQUAL "avx512_bf16")
      add_compile_definitions(LAPTIME_AVX512_BF16)  # the sources of that name are there
    else()
      string(APPEND isas_inc "LAPTIME_ISA_ROW(${isa})\n")
    endif()
  endif()
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/isas.inc CONTENT "${isas_inc}" @ONLY)
include_directories(${CMAKE_BINARY_DIR}/generated)

# What lets a compiler vectorise without changing what NaN and infinity do (so no -ffast-math).
set(LAPTIME_KERNEL_FLAGS -fno-math-errno -fno-trapping-math -ffp-contract=fast -fopenmp-simd)

# Sources whose results must have the same bits on every instruction set: no product and sum may become one rounding.
# They do without the precompiled headers, whose flags are others.
set(LAPTIME_EXACT_SOURCES ${CMAKE_SOURCE_DIR}/src/data/fill_loops_isa.cpp)
set_source_files_properties(${LAPTIME_EXACT_SOURCES} PROPERTIES
  COMPILE_OPTIONS -ffp-contract=off SKIP_PRECOMPILE_HEADERS ON)

# Compiles each source once per instruction set into `target`; `headers` are precompiled with it, or none are named and it
# takes those of `owner`.
#
# An inline function of a shared header that such a copy emits is a weak symbol, and a linker keeps one of all equal
# names: an AVX-512 copy of std::vector's growth could end up in code that runs on every machine. The launcher
# tools/isolate_symbols.sh therefore gives the weak symbols of each copy names of its own.
function(laptime_add_isa_sources target owner headers)
  foreach(row IN LISTS LAPTIME_BUILT_ISAS)
    string(REGEX MATCH "^([a-z0-9_]+) *\\|(.*)$" matched "${row}")
    set(isa ${CMAKE_MATCH_1})
    separate_arguments(flags UNIX_COMMAND "${CMAKE_MATCH_2}")
    set(sources ${ARGN})
    if(isa STREQUAL "avx512_bf16")
      list(FILTER sources INCLUDE REGEX "_avx512_bf16\\.cpp$")
    else()
      list(FILTER sources EXCLUDE REGEX "_avx512_bf16\\.cpp$")
    endif()
    if(NOT sources)
      continue()
    endif()
    set(precompiled_sources ${sources})
    list(REMOVE_ITEM precompiled_sources ${LAPTIME_EXACT_SOURCES})
    add_library(${target}_${isa} OBJECT ${sources})
    target_compile_definitions(${target}_${isa} PRIVATE LAPTIME_ISA=${isa})
    # Under a sanitizer -O3 would take minutes to compile, and who has no AVX2 is not here for speed.
    set(optimise $<IF:$<CONFIG:Sanitize>,-O1,-O3>)
    if(isa STREQUAL "plain")
      set(optimise -O1)
    endif()
    target_compile_options(${target}_${isa} PRIVATE ${optimise} ${LAPTIME_KERNEL_FLAGS} ${flags})
    if(precompiled_sources AND NOT isa STREQUAL "avx512_bf16")
      laptime_precompile(${target}_${isa} ${owner}_${isa} ${headers})
    endif()
    if(NOT isa STREQUAL "plain")
      set(launcher ${CMAKE_SOURCE_DIR}/tools/isolate_symbols.sh ${isa} ${CMAKE_CXX_COMPILER_LAUNCHER})
      set_target_properties(${target}_${isa} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
    endif()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
  endforeach()
endfunction()
