# `cmake --install` installs the program, the libraries with the public headers (<ridge/...>), and the CMake package
# `ridge`: find_package(ridge) gives ridge::hardware, ridge::model, ridge::measure,
# ridge::programs, ridge::plot, ridge::effects, ridge::answers.

include(CMakePackageConfigHelpers)

set(ridge_layers hardware model measure kernel programs plot effects answers)
set(ridge_exported "")
foreach(layer IN LISTS ridge_layers)
  if(TARGET ridge_${layer})
    list(APPEND ridge_exported ridge_${layer})
  endif()
endforeach()

# The public headers are ridge/*.h; what they include follows under ridge/internal/.
install(CODE "set(ROOT [==[${PROJECT_SOURCE_DIR}]==])
set(INCLUDE_FOLDER [==[${CMAKE_INSTALL_INCLUDEDIR}]==])
include([==[${PROJECT_SOURCE_DIR}/cmake/RidgePublicHeaders.cmake]==])")

install(TARGETS ${ridge_exported} EXPORT ridge-targets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS ridge RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(EXPORT ridge-targets NAMESPACE ridge:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ridge)

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/ridge-config.cmake.in
  ${CMAKE_CURRENT_BINARY_DIR}/ridge-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ridge)
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/ridge-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_CURRENT_BINARY_DIR}/ridge-config.cmake
  ${CMAKE_CURRENT_BINARY_DIR}/ridge-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/ridge)
# The explorer, if scripts/explorer has built it.
install(FILES ${PROJECT_SOURCE_DIR}/build/wasm/explorer.html
        DESTINATION ${CMAKE_INSTALL_DATADIR}/ridge OPTIONAL)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE ${PROJECT_SOURCE_DIR}/README.md
        DESTINATION ${CMAKE_INSTALL_DOCDIR})
