# One test program per layer (tests/<layer>/*_test.cpp -> test_<layer>), and the end-to-end scripts.
find_package(GTest REQUIRED)

# layer | libraries that its tests link in addition to the layer. Tests may use layers that the layer itself may not
# use.
set(LAPTIME_TEST_LINKS
  "config  | points"
  "graph   | cards"
  "ops     | cards kernels"
  "model   | points passes exec kernels data"
  "passes  | model exec kernels data"
  "plan    | model passes exec kernels backend/roofline"
  "exec    | model passes kernels backend/roofline"
  "record  | measure"
  "report  | measure"
  "page    | measure"
  "export  | measure"
  "prepare | explain measure sweep report"
  "sweep   | explain report"
  "explain | report"
  "verify  | report"
  "widths  | model points passes exec kernels data"
)

# The code under test is in the libraries, so test sources need neither optimisation nor debug symbols. The tests of the
# ops compute results of their own, and the support library runs CUDA kernels on the host.
set(LAPTIME_TEST_FLAGS "" CACHE STRING "Compiler flags of the tests' own sources, e.g. -O0")
set(LAPTIME_COMPUTING_TEST_FLAGS "" CACHE STRING "Compiler flags of test sources that compute much, e.g. -O1")
separate_arguments(test_flags UNIX_COMMAND "${LAPTIME_TEST_FLAGS}")
separate_arguments(computing_test_flags UNIX_COMMAND "${LAPTIME_COMPUTING_TEST_FLAGS}")
set(test_headers <gmock/gmock.h> <gtest/gtest.h>)

# All CUDA kernels, compiled for the host, for the tests of the ops and for the GPU that tests/fake_cuda simulates.
file(GLOB host_kernel_sources CONFIGURE_DEPENDS tests/support/cuda/*.cpp)
add_library(laptime_host_kernels OBJECT ${host_kernel_sources})
target_include_directories(laptime_host_kernels PRIVATE ${CMAKE_SOURCE_DIR}/tests)
target_compile_options(laptime_host_kernels PRIVATE -fPIC $<IF:$<CONFIG:Sanitize>,-O1,-O2>)
target_link_libraries(laptime_host_kernels PRIVATE fmt::fmt)

file(GLOB support_sources CONFIGURE_DEPENDS tests/support/*.cpp)
add_library(laptime_test_support INTERFACE)
target_include_directories(laptime_test_support INTERFACE ${CMAKE_SOURCE_DIR}/tests)
target_compile_definitions(laptime_test_support INTERFACE
  LAPTIME_GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden" LAPTIME_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
if(support_sources)
  add_library(laptime_test_support_objects STATIC ${support_sources} $<TARGET_OBJECTS:laptime_host_kernels>)
  target_include_directories(laptime_test_support_objects PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  target_link_libraries(laptime_test_support_objects PUBLIC GTest::gtest laptime_base)
  if(TARGET laptime_kernels)  # for harnesses that run kernels (conformance, gradient_check)
    target_link_libraries(laptime_test_support_objects PUBLIC laptime_kernels)
  endif()
  target_compile_options(laptime_test_support_objects PRIVATE ${computing_test_flags})
  laptime_precompile(laptime_test_support_objects laptime_test_support_objects ${test_headers})
  target_link_libraries(laptime_test_support INTERFACE laptime_test_support_objects)
endif()
target_link_libraries(laptime_test_support INTERFACE GTest::gtest GTest::gmock GTest::gtest_main)

# Links the library of `layer` if it exists.
function(laptime_link_if_there target layer)
  laptime_target_of(${layer} library)
  if(TARGET ${library})
    target_link_libraries(${target} PRIVATE ${library})
  endif()
endfunction()

set(test_folders base tensor timeline distribution config table data graph ops backend backend/cpu backend/cuda backend/roofline
  model points passes plan comm exec record predict analysis report page export prepare measure cluster sweep explain verify cli support
  widths)

# The target tests_LAYER builds the test programs of a layer, the target tests those of all layers. The labels of their
# tests are the same.
foreach(folder IN LISTS test_folders)
  string(REPLACE "/" "_" name ${folder})
  add_custom_target(tests_${name})
endforeach()
add_custom_target(tests)
function(laptime_add_test name layer)
  add_test(NAME ${name} COMMAND ${ARGN} WORKING_DIRECTORY ${CMAKE_BINARY_DIR})
  set_tests_properties(${name} PROPERTIES LABELS "tests;tests_${layer}")
  list(GET ARGN 0 program)
  add_dependencies(tests_${layer} ${program})
  add_dependencies(tests ${program})
endfunction()

if(LAPTIME_SANITIZE)
  # These folders test text and tables, or compile all kernels once more (widths). The other tests and the fuzz
  # targets cover the code that reads files, memory and threads.
  list(REMOVE_ITEM test_folders report export explain verify cli support widths)
endif()

# For tests that open the libraries of fake_cuda. A sanitizer opens libraries on the program's behalf and does not know its
# run path. It also looks for the thread-local variables of opened libraries, and may crash at exit because it misreads
# where glibc keeps them.
set(LAPTIME_OPENS_FAKE_LIBRARIES
  "LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/fake_cuda;ASAN_OPTIONS=intercept_tls_get_addr=0")

# Adds the tests of a program. The ops have thousands of cases. They run in four parts, so that no core waits for them
# at the end; under a sanitizer, where they would take most of an hour, only every 24th case runs.
function(laptime_add_tests name)
  if(NOT name STREQUAL "ops")
    laptime_add_test(${name} ${name} test_${name})
    return()
  endif()
  set(parts 4)
  set(last 3)
  if(LAPTIME_SANITIZE)
    set(parts 24)
    set(last 0)
  endif()
  foreach(part RANGE ${last})
    laptime_add_test(ops_${part} ops test_ops)
    set_tests_properties(ops_${part} PROPERTIES ENVIRONMENT
      "GTEST_TOTAL_SHARDS=${parts};GTEST_SHARD_INDEX=${part};${LAPTIME_OPENS_FAKE_LIBRARIES}")
  endforeach()
endfunction()

foreach(folder IN LISTS test_folders)
  if(folder STREQUAL "ops")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS tests/ops/*_test.cpp)
  else()
    file(GLOB sources CONFIGURE_DEPENDS tests/${folder}/*_test.cpp)
  endif()
  if(sources)
    string(REPLACE "/" "_" name ${folder})
    add_executable(test_${name} ${sources})
    target_link_libraries(test_${name} PRIVATE laptime_test_support)
    if(name STREQUAL "ops")
      target_compile_options(test_ops PRIVATE ${computing_test_flags})
      laptime_precompile(test_ops laptime_test_support_objects)
    else()
      target_compile_options(test_${name} PRIVATE ${test_flags})
      laptime_precompile(test_${name} test_base ${test_headers})
      set(test_headers "")  # the other programs reuse those of test_base, the first one
    endif()
    laptime_unite(test_${name} LAPTIME_UNITE_TESTS)
    laptime_row(LAPTIME_TEST_LINKS ${folder} links)
    foreach(layer ${folder} ${links})
      laptime_link_if_there(test_${name} ${layer})
    endforeach()
    laptime_add_tests(${name})
  endif()
endforeach()

# A machine with AVX2 but not AVX-512 has kernels of one vector width. To compare two widths there, the kernels are also
# compiled for AVX2 with vectors of 16 lanes, in the namespace lanes16.
option(LAPTIME_TEST_LANES16 "Compile kernels with 16 lanes for the tests on a machine without AVX-512" ON)
if(TARGET test_widths AND LAPTIME_TEST_LANES16)
  file(STRINGS /proc/cpuinfo cpu_flags REGEX "^flags" LIMIT_COUNT 1)
  if(cpu_flags MATCHES "avx2" AND NOT cpu_flags MATCHES "avx512f")
    set(width_sources "")
    foreach(layer kernels backend/cpu)
      laptime_sources_of(${layer} sources isa_sources)
      list(APPEND width_sources ${isa_sources})
    endforeach()
    list(FILTER width_sources INCLUDE REGEX "_(isa|cpu)\\.cpp$")
    list(FILTER width_sources EXCLUDE REGEX "/peak/")
    separate_arguments(width_flags UNIX_COMMAND "${avx2}")
    add_library(laptime_lanes16 OBJECT ${width_sources})
    target_compile_definitions(laptime_lanes16 PRIVATE LAPTIME_ISA=lanes16 LAPTIME_LANES=16)
    target_compile_options(laptime_lanes16 PRIVATE -O1 -Wno-psabi ${LAPTIME_KERNEL_FLAGS} ${width_flags})
    set(launcher ${CMAKE_SOURCE_DIR}/tools/isolate_symbols.sh lanes16 ${CMAKE_CXX_COMPILER_LAUNCHER})
    set_target_properties(laptime_lanes16 PROPERTIES CXX_COMPILER_LAUNCHER "${launcher}")
    target_sources(test_widths PRIVATE $<TARGET_OBJECTS:laptime_lanes16>)
    target_compile_definitions(test_widths PRIVATE LAPTIME_LANES16)
  endif()
endif()

# Python tests (unittest) of the tools, and end-to-end tests, which find the program through LAPTIME_BINARY. They run in
# parallel, except the test that compares the CPU time of runs. They use the Python in build/venv (tools/make_venv.sh) if
# it exists.
set(test_python ${CMAKE_COMMAND} -E env "PATH=${CMAKE_SOURCE_DIR}/build/venv/bin:$ENV{PATH}" python3)
set(tests_alone "^e2e_scale$")
foreach(folder tools e2e)
  file(GLOB scripts CONFIGURE_DEPENDS tests/${folder}/*_test.py)
  foreach(script IN LISTS scripts)
    cmake_path(GET script STEM stem)
    string(REGEX REPLACE "_test$" "" name ${folder}_${stem})
    add_test(NAME ${name} COMMAND ${test_python} -m unittest -v ${stem} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/tests/${folder})
    set_tests_properties(${name} PROPERTIES LABELS ${folder} ENVIRONMENT
      "LAPTIME_BINARY=${CMAKE_BINARY_DIR}/laptime;LAPTIME_GOLDEN_DIR=${CMAKE_SOURCE_DIR}/tests/golden;PYTHONDONTWRITEBYTECODE=1")
    if(name MATCHES "${tests_alone}")
      set_tests_properties(${name} PROPERTIES RUN_SERIAL TRUE)
    endif()
  endforeach()
endforeach()

add_test(NAME peers COMMAND ${test_python} -m unittest -v test_comparison test_attention test_devices
         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}/peers)
set_tests_properties(peers PROPERTIES LABELS tools ENVIRONMENT PYTHONDONTWRITEBYTECODE=1)

# Approximate seconds, so that ctest starts long tests first and does not wait for them at the end.
set(LAPTIME_LONG_TESTS "verify 90" "e2e_cuda 60" "ops_0 60" "ops_1 60" "ops_2 60" "ops_3 60" "e2e_report_browser 50"
  "e2e_cuda_ranks 50" "e2e_kill 45" "e2e_ranks 43" "e2e_tutorial 43" "e2e_slurm 40" "peers 36" "e2e_profile 36"
  "e2e_compare 34" "e2e_resume 30" "e2e_python_module 30" "e2e_python_types 24" "e2e_record 16" "e2e_measure 12" "e2e_plan 22"
  "e2e_scale 22" "e2e_model_folder 21" "measure 21" "data 20" "e2e_output 20" "explain 20" "sweep 20" "e2e_readme 18"
  "e2e_history 18" "e2e_launcher 14" "passes 12")
foreach(row IN LISTS LAPTIME_LONG_TESTS)
  separate_arguments(row UNIX_COMMAND "${row}")
  list(GET row 0 name)
  list(GET row 1 seconds)
  if(TEST ${name})
    set_tests_properties(${name} PROPERTIES COST ${seconds})
  endif()
endforeach()

# Stand-ins for libcuda, libcublasLt, libcudnn, libnccl, libcupti and libnvidia-ml, and a tool that receives NVTX ranges.
# The GPU that they simulate runs kernels on this machine, as the tests of ops do. Programs use the stand-ins if
# LD_LIBRARY_PATH or the run path has the folder.
add_library(laptime_fake_cuda SHARED tests/fake_cuda/fake_cuda.cpp tests/fake_cuda/fake_streams.cpp
  $<TARGET_OBJECTS:laptime_host_kernels> src/base/error.cpp src/base/units.cpp)
target_link_libraries(laptime_fake_cuda PRIVATE fmt::fmt)
set_target_properties(laptime_fake_cuda PROPERTIES OUTPUT_NAME cuda SOVERSION 1)
add_library(laptime_fake_cublaslt SHARED tests/fake_cuda/fake_cublaslt.cpp)
target_link_libraries(laptime_fake_cublaslt PRIVATE laptime_fake_cuda)
set_target_properties(laptime_fake_cublaslt PROPERTIES OUTPUT_NAME cublasLt SOVERSION 13)
add_library(laptime_fake_cudnn SHARED tests/fake_cuda/fake_cudnn.cpp)
target_link_libraries(laptime_fake_cudnn PRIVATE laptime_fake_cuda)
set_target_properties(laptime_fake_cudnn PROPERTIES OUTPUT_NAME cudnn SOVERSION 9)
add_library(laptime_fake_nccl SHARED tests/fake_cuda/fake_nccl.cpp)
target_link_libraries(laptime_fake_nccl PRIVATE laptime_fake_cuda)
set_target_properties(laptime_fake_nccl PROPERTIES OUTPUT_NAME nccl SOVERSION 2)
add_library(laptime_fake_nvml SHARED tests/fake_cuda/fake_nvml.cpp)
set_target_properties(laptime_fake_nvml PROPERTIES OUTPUT_NAME nvidia-ml SOVERSION 1)
add_library(laptime_fake_cupti SHARED tests/fake_cuda/fake_cupti.cpp)
target_link_libraries(laptime_fake_cupti PRIVATE laptime_fake_cuda)
set_target_properties(laptime_fake_cupti PROPERTIES OUTPUT_NAME cupti SOVERSION 13)
set(fake_libraries laptime_fake_cuda laptime_fake_cublaslt laptime_fake_cudnn laptime_fake_nccl laptime_fake_cupti
  laptime_fake_nvml)
if(LAPTIME_NVTX)
  add_library(laptime_fake_nvtx SHARED tests/fake_cuda/fake_nvtx.cpp)
  target_include_directories(laptime_fake_nvtx SYSTEM PRIVATE ${LAPTIME_NVTX})
  list(APPEND fake_libraries laptime_fake_nvtx)
endif()
foreach(library IN LISTS fake_libraries)
  target_include_directories(${library} PRIVATE ${CMAKE_SOURCE_DIR}/tests ${CMAKE_SOURCE_DIR}/src)
  target_compile_options(${library} PRIVATE -O2)
  set_target_properties(${library} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fake_cuda)
  add_dependencies(tests ${library})
endforeach()
foreach(name backend_cuda ops)
  if(TARGET test_${name})
    set_target_properties(test_${name} PROPERTIES BUILD_RPATH ${CMAKE_BINARY_DIR}/fake_cuda)
    add_dependencies(test_${name} ${fake_libraries})
  endif()
endforeach()
if(TEST backend_cuda)
  set_property(TEST backend_cuda APPEND PROPERTY ENVIRONMENT "${LAPTIME_OPENS_FAKE_LIBRARIES}")
endif()

# The toolkit's real cuDNN, if installed, makes plans without a card, on a driver that only loads code.
find_library(LAPTIME_CUDNN NAMES libcudnn.so.9 HINTS ${nvcc_folder}/../lib64 ${nvcc_folder}/../lib)
if(LAPTIME_CUDNN AND TARGET test_backend_cuda AND NOT LAPTIME_SANITIZE)
  add_library(laptime_cardless_driver SHARED tests/fake_cuda/cardless_driver.cpp)
  target_include_directories(laptime_cardless_driver PRIVATE ${CMAKE_SOURCE_DIR}/src)
  set_target_properties(laptime_cardless_driver PROPERTIES OUTPUT_NAME cuda SOVERSION 1
                        LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/cardless_driver)
  add_dependencies(test_backend_cuda laptime_cardless_driver)
  get_filename_component(cudnn_folder ${LAPTIME_CUDNN} DIRECTORY)
  add_test(NAME cudnn_plans COMMAND test_backend_cuda --gtest_filter=DnnAttention.SlowRealLibrary*)
  set_tests_properties(cudnn_plans PROPERTIES
    ENVIRONMENT "LAPTIME_CUDNN=${LAPTIME_CUDNN};LD_LIBRARY_PATH=${CMAKE_BINARY_DIR}/cardless_driver:${cudnn_folder}")
endif()
