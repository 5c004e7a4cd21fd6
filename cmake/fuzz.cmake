# Fuzz targets: tests/fuzz/<parser>_fuzz.cpp -> fuzz_<parser>. With LAPTIME_FUZZ (preset `fuzz`, clang) each is a libFuzzer
# program; under a sanitizer a driver runs its seeds and a fixed number of mutants, as a test.
if(NOT LAPTIME_FUZZ AND NOT LAPTIME_SANITIZE)
  return()
endif()

if(LAPTIME_FUZZ AND CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
  message(FATAL_ERROR "the preset fuzz needs clang 15 or newer, because older ones have no _Float16 on x86; this is "
    "clang ${CMAKE_CXX_COMPILER_VERSION}. Name another with -DCMAKE_CXX_COMPILER=clang++-15, or run the fuzz targets of "
    "the preset sanitize, which need no clang")
endif()

# target | mutants for the test, which takes a few seconds under the sanitizers | layers that it links
set(LAPTIME_FUZZ_TARGETS
  "safetensors_header | 5000 | data"
  "safetensors_file   | 5000 | data"
  "tokens             | 5000 | data"
  "golden             | 200 | data"
  "sweep_file         | 500 | points"
  "option             | 250 | points"
  "record             | 1000 | record"
  "store              | 100  | record"
  "child_message      | 500  | sweep"
  "filter             | 500 | report"
  "kernels_file       | 2000 | prepare"
  "step_line          | 2000 | measure"
  "published_runs     | 1000 | cluster"
)

if(NOT LAPTIME_FUZZ)
  add_library(laptime_fuzz_driver OBJECT tests/fuzz/driver.cpp tests/fuzz/mutation.cpp)
  target_include_directories(laptime_fuzz_driver PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(laptime_fuzz_driver PRIVATE laptime_base)
endif()
add_custom_target(fuzz_targets)
foreach(row IN LISTS LAPTIME_FUZZ_TARGETS)
  string(REGEX MATCH "^([a-z_]+) *\\| *([0-9]+) *\\| *([a-z]+)$" matched "${row}")
  set(target fuzz_${CMAKE_MATCH_1})
  set(mutants ${CMAKE_MATCH_2})
  set(layer ${CMAKE_MATCH_3})
  laptime_target_of(${layer} library)
  add_executable(${target} tests/fuzz/${CMAKE_MATCH_1}_fuzz.cpp)
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_compile_definitions(${target} PRIVATE LAPTIME_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(${target} PRIVATE ${library})
  add_dependencies(fuzz_targets ${target})
  if(LAPTIME_FUZZ)
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
  else()
    target_link_libraries(${target} PRIVATE laptime_fuzz_driver)
    laptime_add_test(${target} ${layer} ${target} ${mutants})
  endif()
endforeach()
