# The portable release: one program that needs nothing but libc and libm, its manual page, the shell
# completions and the licences, as .tar.gz and .deb. `scripts/package` builds them in Release; the test
# `portable_package` packages the build that it runs in.
#
# fmt, toml++, libstdc++ and libgcc are compiled or linked in; CUDA's driver, CUPTI and NVML are
# searched for at run time. The target ridge_portable links the same libraries as ridge, so it costs
# only one more link. A sanitizer's run-time library is not portable, so such builds have no package.

if(RIDGE_SANITIZE OR NOT PROJECT_IS_TOP_LEVEL)
  return()
endif()

set(portable_default EXCLUDE_FROM_ALL)
set(portable_all "")
if(RIDGE_BUILD_TESTS)
  set(portable_default "")
  set(portable_all ALL)
endif()
set(portable_folder ${CMAKE_BINARY_DIR}/portable)

add_executable(ridge_portable ${portable_default} cli/main.cpp)
target_link_libraries(ridge_portable PRIVATE ridge::cli ridge_self_contained)
set_target_properties(ridge_portable PROPERTIES
  OUTPUT_NAME ridge RUNTIME_OUTPUT_DIRECTORY ${portable_folder}
  CXX_CLANG_TIDY "" SKIP_BUILD_RPATH ON)

add_executable(ridge_manual ${portable_default} cli/manual_main.cpp)
target_link_libraries(ridge_manual PRIVATE ridge::cli ridge_options)

file(GENERATE OUTPUT ${portable_folder}/write.sh
  CONTENT "set -eu\nfor shell in bash zsh fish; do \"$1\" completions \$shell >completions.\$shell; done\n\"$2\" >ridge.1\n")
string(REGEX MATCH "^[0-9]+" gcc_major "${CMAKE_CXX_COMPILER_VERSION}")
add_custom_command(
  OUTPUT ${portable_folder}/ridge.1 ${portable_folder}/completions.bash
         ${portable_folder}/completions.zsh ${portable_folder}/completions.fish
  COMMAND sh write.sh $<TARGET_FILE:ridge_portable> $<TARGET_FILE:ridge_manual>
  DEPENDS ridge_portable ridge_manual ${portable_folder}/write.sh
  WORKING_DIRECTORY ${portable_folder}
  COMMENT "Writing the manual page and the completions"
  VERBATIM)
add_custom_command(
  OUTPUT ${portable_folder}/LICENSES
  COMMAND ${CMAKE_COMMAND} -DOUTPUT=${portable_folder}/LICENSES -DGCC=${gcc_major}
          -DCUDA=${RIDGE_HAVE_CUDA} -DDOCS=/usr/share/doc
          -P ${PROJECT_SOURCE_DIR}/cmake/RidgeLicenses.cmake
  DEPENDS ${PROJECT_SOURCE_DIR}/cmake/RidgeLicenses.cmake
  COMMENT "Collecting the licences"
  VERBATIM)
add_custom_target(ridge_package_files ${portable_all}
  DEPENDS ridge_portable ${portable_folder}/ridge.1 ${portable_folder}/LICENSES)

# This is a separate component: `cmake --install` without one installs the usual program and libraries.
set(portable COMPONENT portable EXCLUDE_FROM_ALL)
install(TARGETS ridge_portable RUNTIME DESTINATION bin ${portable})
if(TARGET ridge_inject)
  install(TARGETS ridge_inject LIBRARY DESTINATION lib/ridge ${portable})
endif()
install(FILES ${portable_folder}/completions.bash
        DESTINATION share/bash-completion/completions RENAME ridge ${portable})
install(FILES ${portable_folder}/completions.zsh
        DESTINATION share/zsh/vendor-completions RENAME _ridge ${portable})
install(FILES ${portable_folder}/completions.fish
        DESTINATION share/fish/vendor_completions.d RENAME ridge.fish ${portable})
install(FILES ${portable_folder}/ridge.1 DESTINATION share/man/man1 ${portable})
install(FILES build/wasm/explorer.html DESTINATION share/ridge ${portable} OPTIONAL)
install(FILES README.md LICENSE ${portable_folder}/LICENSES DESTINATION share/doc/ridge ${portable})

set(CPACK_GENERATOR TGZ)
find_program(RIDGE_DPKG_SHLIBDEPS dpkg-shlibdeps)
mark_as_advanced(RIDGE_DPKG_SHLIBDEPS)
if(RIDGE_DPKG_SHLIBDEPS)
  list(APPEND CPACK_GENERATOR DEB)
endif()
set(CPACK_PACKAGE_NAME ridge)
set(CPACK_PACKAGE_VENDOR "the ridge developers")
set(CPACK_PACKAGE_CONTACT "the ridge developers")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_FILE_NAME "ridge-${PROJECT_VERSION}-linux-${CMAKE_SYSTEM_PROCESSOR}")
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL portable)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
# Only the archive has a top-level folder; CPack reads this file once per kind of package.
set(CPACK_PROJECT_CONFIG_FILE ${portable_folder}/cpack.cmake)
file(WRITE ${CPACK_PROJECT_CONFIG_FILE} [[
if(CPACK_GENERATOR STREQUAL "TGZ")
  set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
endif()
]])
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
include(CPack)
