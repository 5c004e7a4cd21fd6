# Compiles kernel sources once per instruction set, with the flags of the instruction set.

# isa | sources | optimisation | flags, in order of vector width. The first column is also LAPTIME_ISA, the namespace of the
# copy. Sources: `all` kernel sources, or `own`, only those named *_ISA.cpp; for `own`, a macro LAPTIME_<ISA> is defined if
# they are built. `plain` serves machines without AVX2 and is not tuned for speed.
set(avx2 "-march=x86-64 -mavx2 -mfma -mf16c -mbmi -mbmi2")
set(avx512 "${avx2} -mavx512f -mavx512bw -mavx512vl -mavx512dq -mprefer-vector-width=512")
set(LAPTIME_ISAS
  "plain       | all | -O1 | -march=x86-64"
  "avx2        | all | -O3 | ${avx2}"
  "avx512      | all | -O3 | ${avx512}"
  "avx512_bf16 | own | -O3 | ${avx512} -mavx512bf16 -ffp-contract=fast"
)
set(LAPTIME_ISA_ROW "^([a-z0-9_]+) *\\| *(all|own) *\\| *(-O[0-9]) *\\|(.*)$")

# The instruction sets to build: all, or a list. Sources read them from generated/isas.inc.
# `native` builds the widest `all` row and the `own` rows that this machine has.
set(LAPTIME_ONLY_ISAS "" CACHE STRING "Instruction sets to compile kernels for: plain;avx2, native, ... (default: all)")

# The widest `all` row and all `own` rows that this machine can run, judged by the flags that -march=native enables;
# every row if the compiler does not list its flags.
function(laptime_native_isas out)
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -march=native -Q --help=target
                  OUTPUT_VARIABLE enabled RESULT_VARIABLE failed ERROR_QUIET)
  set(all "")
  set(own "")
  foreach(row IN LISTS LAPTIME_ISAS)
    string(REGEX MATCH "${LAPTIME_ISA_ROW}" matched "${row}")
    set(isa ${CMAKE_MATCH_1})
    set(which ${CMAKE_MATCH_2})
    set(is_native TRUE)
    string(REGEX MATCHALL "-m[a-z0-9]+ " flags "${CMAKE_MATCH_4} ")
    foreach(flag IN LISTS flags)
      string(STRIP "${flag}" flag)
      if(NOT failed AND NOT enabled MATCHES "${flag}[ \t]+\\[enabled\\]")
        set(is_native FALSE)
      endif()
    endforeach()
    if(is_native)
      if(which STREQUAL "own" OR failed)
        list(APPEND own ${isa})
      else()
        set(all ${isa})
      endif()
    endif()
  endforeach()
  set(${out} ${all} ${own} PARENT_SCOPE)
endfunction()
if(LAPTIME_ONLY_ISAS STREQUAL "native")
  laptime_native_isas(LAPTIME_ONLY_ISAS)
  message(STATUS "Kernels are compiled for this machine alone: ${LAPTIME_ONLY_ISAS}")
endif()
set(isas_inc "// LAPTIME_ISA_ROW(instruction set) for each that all kernels are compiled for, in order of width.\n")
set(LAPTIME_BUILT_ISAS "")
set(LAPTIME_ISA_SOURCES "_(isa")  # pattern for source names that are compiled once per instruction set
foreach(row IN LISTS LAPTIME_ISAS)
  string(REGEX MATCH "${LAPTIME_ISA_ROW}" matched "${row}")
  set(isa ${CMAKE_MATCH_1})
  set(which ${CMAKE_MATCH_2})
  if(which STREQUAL "own")
    string(APPEND LAPTIME_ISA_SOURCES "|${isa}")
  endif()
  if(NOT LAPTIME_ONLY_ISAS OR isa IN_LIST LAPTIME_ONLY_ISAS)
    list(APPEND LAPTIME_BUILT_ISAS "${row}")
    if(which STREQUAL "own")
      string(TOUPPER "LAPTIME_${isa}" definition)
      add_compile_definitions(${definition})
    else()
      string(APPEND isas_inc "LAPTIME_ISA_ROW(${isa})\n")
    endif()
  endif()
endforeach()
if(NOT isas_inc MATCHES "LAPTIME_ISA_ROW\\([a-z0-9_]+\\)")
  message(FATAL_ERROR "LAPTIME_ONLY_ISAS=${LAPTIME_ONLY_ISAS} names no set that all kernels are compiled for: plain, avx2, avx512")
endif()
string(APPEND LAPTIME_ISA_SOURCES ")\\.cpp$")
file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/generated/isas.inc CONTENT "${isas_inc}" @ONLY)
include_directories(${CMAKE_BINARY_DIR}/generated)

# Flags that help the compiler vectorise without changing the behaviour of NaN and infinity, unlike -ffast-math.
# Multiply-adds are fused only if a source requests it: the compiler's own choice would depend on the vector width.
set(LAPTIME_KERNEL_FLAGS -fno-math-errno -fno-trapping-math -ffp-contract=off -fopenmp-simd)

# Compiles each source once per instruction set into `target`. `headers` are precompiled for `target`; without any, it
# reuses the precompiled headers of `owner`, if there are some.
#
# Inline functions of shared headers become weak symbols, of which the linker keeps only one copy. An AVX-512 copy of a
# std::vector function could thus end up in code that runs on every machine, so the launcher tools/isolate_symbols.sh
# renames the weak symbols of each copy.
function(laptime_add_isa_sources target owner headers)
  foreach(row IN LISTS LAPTIME_BUILT_ISAS)
    string(REGEX MATCH "${LAPTIME_ISA_ROW}" matched "${row}")
    set(isa ${CMAKE_MATCH_1})
    set(which ${CMAKE_MATCH_2})
    set(optimise ${CMAKE_MATCH_3})
    separate_arguments(flags UNIX_COMMAND "${CMAKE_MATCH_4}")
    set(sources ${ARGN})
    if(which STREQUAL "own")
      list(FILTER sources INCLUDE REGEX "_${isa}\\.cpp$")
    else()
      list(FILTER sources INCLUDE REGEX "_(isa|cpu)\\.cpp$")
    endif()
    if(NOT sources)
      continue()
    endif()
    add_library(${target}_${isa} OBJECT ${sources})
    target_compile_definitions(${target}_${isa} PRIVATE LAPTIME_ISA=${isa})
    # Under a sanitizer, compiling with -O3 would take minutes.
    target_compile_options(${target}_${isa} PRIVATE $<IF:$<CONFIG:Sanitize>,-O1,${optimise}> ${LAPTIME_KERNEL_FLAGS} ${flags})
    if(which STREQUAL "all" AND (headers OR TARGET ${owner}_${isa}))
      laptime_precompile(${target}_${isa} ${owner}_${isa} ${headers})
    endif()
    if(NOT isa STREQUAL "plain")
      set(launcher ${CMAKE_SOURCE_DIR}/tools/isolate_symbols.sh ${isa} ${CMAKE_CXX_COMPILER_LAUNCHER})
      set_target_properties(${target}_${isa} PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
    endif()
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:${target}_${isa}>)
  endforeach()
endfunction()
