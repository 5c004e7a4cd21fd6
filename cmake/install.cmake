# The contents of an installation: the program, its completion scripts, its manual page and the sweep files. cpack
# builds packages from the same components; a wheel (pyproject.toml) puts them where a Python environment expects them.
if(NOT TARGET laptime)
  return()
endif()
include(GNUInstallDirs)
if(SKBUILD)
  set(bin ${SKBUILD_SCRIPTS_DIR})
  set(share ${SKBUILD_DATA_DIR}/share)
else()
  set(bin ${CMAKE_INSTALL_BINDIR})
  set(share ${CMAKE_INSTALL_DATADIR})
endif()
# Installing needs the program, not its tests.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

# The program itself writes its manual page during installation.
set(texts ${CMAKE_BINARY_DIR}/generated/share)
install(CODE "
  file(MAKE_DIRECTORY ${texts})
  execute_process(COMMAND ${CMAKE_BINARY_DIR}/laptime man OUTPUT_FILE ${texts}/man COMMAND_ERROR_IS_FATAL ANY)
" ALL_COMPONENTS)

# The component `program` is in every installation, `plain` in all except Debian's package, `debian` only in that package.
install(TARGETS laptime RUNTIME DESTINATION ${bin} COMPONENT program)
install(FILES completion/laptime.bash DESTINATION ${share}/bash-completion/completions RENAME laptime COMPONENT program)
install(FILES completion/laptime.fish DESTINATION ${share}/fish/vendor_completions.d RENAME laptime.fish COMPONENT program)
install(DIRECTORY sweeps DESTINATION ${share}/laptime COMPONENT program FILES_MATCHING PATTERN "*.toml")
install(FILES completion/laptime.zsh DESTINATION ${share}/zsh/site-functions RENAME _laptime COMPONENT plain)
install(FILES ${texts}/man DESTINATION ${share}/man/man1 RENAME laptime.1 COMPONENT plain)
install(FILES LICENSE DESTINATION ${share}/doc/laptime COMPONENT plain)
# The chart library is part of the program, and its licence requires these files to accompany it.
install(FILES third_party/echarts/LICENSE third_party/echarts/NOTICE DESTINATION ${share}/doc/laptime/echarts COMPONENT program)

# Debian has a different folder for zsh and requires compressed documents.
install(CODE "
  foreach(pair \"${texts}/man;laptime.1\" \"${CMAKE_SOURCE_DIR}/CHANGELOG.md;changelog\")
    list(GET pair 0 from)
    list(GET pair 1 name)
    execute_process(COMMAND gzip -9nc \${from} OUTPUT_FILE ${texts}/\${name}.gz COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
" COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES completion/laptime.zsh DESTINATION ${share}/zsh/vendor-completions RENAME _laptime COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${texts}/laptime.1.gz DESTINATION ${share}/man/man1 COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES ${texts}/changelog.gz DESTINATION ${share}/doc/laptime COMPONENT debian EXCLUDE_FROM_ALL)
install(FILES LICENSE DESTINATION ${share}/doc/laptime RENAME copyright COMPONENT debian EXCLUDE_FROM_ALL)

if(SKBUILD)
  return()
endif()
set(CPACK_GENERATOR DEB TGZ)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
string(TOLOWER ${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR} system)
set(CPACK_PACKAGE_FILE_NAME laptime-${PROJECT_VERSION}-${system})
set(CPACK_PACKAGE_CONTACT "laptime contributors <laptime@localhost>" CACHE STRING "Maintainer that packages name")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY ${PROJECT_DESCRIPTION})
set(CPACK_PACKAGE_DESCRIPTION "laptime measures forward, backward and optimizer of a GPT-style transformer
with an engine of its own, and says how long each part takes, how much memory
it holds, and how far that is from what the machine can do.")
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS bash-completion)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_LAPTIME_BUILD_DIR ${CMAKE_BINARY_DIR})
set(CPACK_PROJECT_CONFIG_FILE ${CMAKE_SOURCE_DIR}/cmake/package_components.cmake)
include(CPack)
