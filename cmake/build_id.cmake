# The build id in records (commit, build type, compiler, libraries), and the ids of the kernels. They are in a generated
# source of laptime_base, which is rewritten only when they change, so that a new commit recompiles a single small file.
if(NOT EXISTS ${CMAKE_SOURCE_DIR}/src/base/build_id.h)
  return()
endif()

find_package(Git QUIET)
set(build_id_cpp ${CMAKE_BINARY_DIR}/generated/build_id.cpp)
add_custom_target(laptime_build_id
  COMMAND ${CMAKE_COMMAND}
    -D GIT=${GIT_EXECUTABLE} -D SOURCE_DIR=${CMAKE_SOURCE_DIR} -D OUTPUT=${build_id_cpp}
    -D VERSION=${PROJECT_VERSION} -D BUILD_TYPE=${CMAKE_BUILD_TYPE} -D SANITIZER=${LAPTIME_SANITIZE}
    -D COMPILER=${CMAKE_CXX_COMPILER_ID}-${CMAKE_CXX_COMPILER_VERSION}
    -D "LIBRARIES=fmt ${fmt_VERSION} nlohmann_json ${nlohmann_json_VERSION} tomlplusplus ${tomlplusplus_VERSION} sqlite ${SQLite3_VERSION}"
    -P ${CMAKE_SOURCE_DIR}/cmake/write_build_id.cmake
  BYPRODUCTS ${build_id_cpp}
  COMMENT "" VERBATIM)
set_source_files_properties(${build_id_cpp} PROPERTIES GENERATED TRUE)
target_sources(laptime_base PRIVATE ${build_id_cpp})
add_dependencies(laptime_base laptime_build_id)
