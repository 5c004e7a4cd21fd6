# The layers: one library per folder of src/, with the layers that each may include and therefore links.

# tools/check_layers.py reads the same table and checks every include against it.
#   layer | named layers
# A layer may include the layers it names and everything those may include. With `only` it may include just the named
# layers, but links the rest too. `cards` is src/ops without the kernels. `kernels` is the *_cpu.cpp and *_cuda.cpp
# files of the ops, each of which may include only its own op, and the tables in src/ops/kernels_{isa,cpu,cuda}.cpp that
# list them all.
set(LAPTIME_LAYERS
  "base             |"
  "tensor           | base"
  "timeline         | base"
  "distribution     | base"
  "config           | tensor base"
  "table            | base"
  "graph            | tensor base"
  "cards            | graph"
  "backend          | graph timeline"
  "model            | config cards graph"
  "points           | model"
  "data             | model"
  "passes           | config cards graph"
  "plan             | backend graph"
  "comm             | backend"
  "backend/cpu      | backend"
  "predict          | config graph"
  "backend/roofline | backend predict"
  "backend/cuda     | backend"
  "kernels          | cards backend/cpu backend/cuda"
  "exec             | plan backend timeline distribution"
  "record           | data timeline distribution config"
  "analysis         | record distribution table config"
  "report           | only analysis record distribution config table base"
  "page             | only report analysis record distribution config table base"
  "export           | only report analysis record distribution config table base"
  "prepare          | record points passes plan kernels backend/roofline comm"
  "measure          | prepare exec"
  "cluster          | measure report"
  "sweep            | measure"
  "explain          | measure analysis"
  "verify           | measure"
  "demo             | prepare exec report"
  "cli              | sweep cluster explain verify demo export page report"
  "main             | cli"
)

# The target of a layer: backend/cpu -> laptime_backend_cpu.
function(laptime_target_of layer out)
  string(REPLACE "/" "_" name ${layer})
  set(${out} laptime_${name} PARENT_SCOPE)
endfunction()

# The second column of the row of `layer` in `table`, as a list.
function(laptime_row table layer out)
  set(found "")
  foreach(row IN LISTS ${table})
    if(row MATCHES "^([a-z_/]+) *\\|(.*)$" AND CMAKE_MATCH_1 STREQUAL layer)
      separate_arguments(found UNIX_COMMAND "${CMAKE_MATCH_2}")
    endif()
  endforeach()
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

# The sources of a layer, without those compiled once per instruction set. A subfolder belongs to its parent layer
# unless it has a row of its own.
function(laptime_sources_of layer out out_isa)
  set(root ${CMAKE_SOURCE_DIR}/src)
  set(isa "")
  if(layer STREQUAL "cards")
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${root}/ops/*.cpp)
    list(FILTER sources EXCLUDE REGEX "_(cpu|cuda)\\.cpp$|${LAPTIME_ISA_SOURCES}")
  elseif(layer STREQUAL "kernels")
    file(GLOB sources CONFIGURE_DEPENDS ${root}/ops/*_cpu.cpp ${root}/ops/*_cuda.cpp ${root}/ops/*/*_cuda.cpp)
    file(GLOB_RECURSE isa CONFIGURE_DEPENDS ${root}/ops/*.cpp)
    list(FILTER isa INCLUDE REGEX "/ops/[^/]+/.+_cpu\\.cpp$|${LAPTIME_ISA_SOURCES}")
  elseif(layer STREQUAL "main")
    set(sources "")
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${root}/${layer}/*.cpp)
    foreach(row IN LISTS LAPTIME_LAYERS)
      string(REGEX MATCH "^[a-z_/]+" other "${row}")
      if(other MATCHES "^${layer}/")
        list(FILTER sources EXCLUDE REGEX "^${root}/${other}/")
      endif()
    endforeach()
    set(isa ${sources})
    list(FILTER isa INCLUDE REGEX "${LAPTIME_ISA_SOURCES}")
    list(FILTER sources EXCLUDE REGEX "${LAPTIME_ISA_SOURCES}")
  endif()
  set(${out} "${sources}" PARENT_SCOPE)
  set(${out_isa} "${isa}" PARENT_SCOPE)
endfunction()

# Links `target` to the layers in the row of `layer`.
function(laptime_link_layer target layer)
  laptime_row(LAPTIME_LAYERS ${layer} lower)
  list(REMOVE_ITEM lower only)
  foreach(name IN LISTS lower)
    laptime_target_of(${name} library)
    if(TARGET ${library})
      target_link_libraries(${target} PUBLIC ${library})
    else()
      laptime_link_layer(${target} ${name})
    endif()
  endforeach()
  laptime_row(LAPTIME_LAYER_LIBRARIES ${layer} libraries)
  target_link_libraries(${target} PUBLIC ${libraries})
endfunction()

foreach(row IN LISTS LAPTIME_LAYERS)
  string(REGEX MATCH "^[a-z_/]+" layer "${row}")
  laptime_sources_of(${layer} sources isa_sources)
  if(sources OR isa_sources)
    laptime_target_of(${layer} target)
    add_library(${target} STATIC ${sources})
    laptime_link_layer(${target} ${layer})
    if(layer IN_LIST LAPTIME_UNTIMED_LAYERS)
      # At -O1, GCC 12 falsely warns that optionals may be read while they are empty.
      target_compile_options(${target} PRIVATE $<$<CONFIG:Release>:-O1> $<$<CONFIG:Release>:-Wno-maybe-uninitialized>)
    endif()
    laptime_row(LAPTIME_LAYER_PRECOMPILED ${layer} headers)
    set(owner base)
    if(headers MATCHES "^as;(.+)$")
      set(owner ${CMAKE_MATCH_1})
      set(headers "")
    endif()
    laptime_target_of(${owner} owner)
    list(TRANSFORM headers PREPEND ${CMAKE_SOURCE_DIR}/src/ REGEX "^[^<]")
    if(isa_sources)
      laptime_precompile(${target} laptime_base)
      laptime_add_isa_sources(${target} ${owner} "${headers}" ${isa_sources})
    else()
      laptime_precompile(${target} ${owner} ${headers})
    endif()
    if(NOT layer MATCHES "^(cards|kernels|model)$")
      laptime_unite(${target} LAPTIME_UNITE)
    endif()
  endif()
endforeach()
