# One static library per layer. `ridge_layer(model DEPENDS hardware LINK Eigen3::Eigen ROOMS core roof)`
# makes ridge_model, with the alias ridge::model, from the .cpp files in the layer's folder and in the
# named rooms (and from SOURCES made elsewhere). The include root is the repository root, so a path in
# an #include names its layer and room. LEAN layers, whose speed does not matter, are compiled at -O1,
# which halves their compile time, and under sanitizers at -O0, which halves it again. FAST lists those
# of their files that are still compiled at -O2.

include(CheckLinkerFlag)

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
if(NOT EMSCRIPTEN)  # where it would be slower code for nothing
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)
endif()
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

# Every compilation uses ccache if it is installed, unless another launcher is requested.
option(RIDGE_CCACHE "Compile through ccache when it is installed" ${PROJECT_IS_TOP_LEVEL})
if(RIDGE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(RIDGE_CCACHE_PROGRAM ccache)
  mark_as_advanced(RIDGE_CCACHE_PROGRAM)
  if(RIDGE_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${RIDGE_CCACHE_PROGRAM})
    set(CMAKE_CUDA_COMPILER_LAUNCHER ${RIDGE_CCACHE_PROGRAM})
  endif()
endif()

# Headers of the standard library and fmt are parsed once for several layers instead of in every file. With
# ccache the object files are cached instead, and a precompiled header would tie them to one build folder.
set(ridge_precompile ${PROJECT_IS_TOP_LEVEL})
if(CMAKE_CXX_COMPILER_LAUNCHER OR CMAKE_CXX_CLANG_TIDY)
  set(ridge_precompile OFF)
endif()
option(RIDGE_PRECOMPILE "Precompile the headers that nearly every file includes" ${ridge_precompile})
set(ridge_common_headers <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <optional>
  <ostream> <span> <string> <string_view> <variant> <vector>)

# In GCC 12 and 13, -Wrestrict and -Wmaybe-uninitialized give false warnings for std::string in
# optimised builds (GCC bugs 105651 and 105562), so they are off.
add_library(ridge_options INTERFACE)
target_compile_options(ridge_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion;-Wsign-conversion;-Wnon-virtual-dtor;-Wold-style-cast>
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-restrict;-Wno-maybe-uninitialized>
  $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${RIDGE_WARNINGS_AS_ERRORS}>>:-Werror>)
# With a precompiled header GCC 12 forgets that std::string comes from a system header and gives more
# such warnings (GCC bug 105329); builds without one keep these warnings on.
if(RIDGE_PRECOMPILE)
  target_compile_options(ridge_options INTERFACE
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>)
endif()
# GCC collects the garbage of its tables when they exceed 128 MiB. With half a GiB it never does, which takes up to
# a tenth off the compile time of a unity file, for 100 MiB.
target_compile_options(ridge_options INTERFACE
  $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=ggc-min-heapsize=524288>)
# In a unity build a name may hide one from another file, which is no mistake in its own file. GCC still checks names
# within a function, and the plain build and `scripts/check alone` keep -Wshadow.
if(CMAKE_UNITY_BUILD)
  target_compile_options(ridge_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-shadow> $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-Wshadow=local>)
endif()
if(RIDGE_SANITIZE)
  target_compile_options(ridge_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-fsanitize=${RIDGE_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>)
  target_link_options(ridge_options INTERFACE -fsanitize=${RIDGE_SANITIZE})
  # The programs are large, and lld links them several times as fast.
  check_linker_flag(CXX -fuse-ld=lld RIDGE_HAVE_LLD)
  if(RIDGE_HAVE_LLD)
    target_link_options(ridge_options INTERFACE -fuse-ld=lld)
  endif()
  # The sanitizer of undefined behaviour checks the project's own code, not the templates of Eigen, JSON, TOML and the
  # containers of the standard library.
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    target_compile_options(ridge_options INTERFACE
      $<$<COMPILE_LANGUAGE:CXX>:-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/sanitize-ignore.txt>)
  endif()
endif()

# In a unity build (CMAKE_UNITY_BUILD) the files of each room of a layer are compiled together, at most ten at
# a time, so that their headers are parsed and instantiated once. Names, including those in anonymous
# namespaces, must therefore be unique in a room (scripts/lint/unique-names.py). The tables of parameters use names
# of one letter and are compiled separately.
function(ridge_unite_rooms target)
  set(UNITED_FILES 10)
  set(rooms)
  foreach(source IN LISTS ARGN)
    if(source MATCHES "_parameters\\.cpp$")
      continue()
    endif()
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY "${PROJECT_SOURCE_DIR}")
    string(MAKE_C_IDENTIFIER "${folder}" room)
    list(APPEND rooms ${room})
    list(APPEND files_of_${room} ${source})
  endforeach()
  list(REMOVE_DUPLICATES rooms)
  foreach(room IN LISTS rooms)
    list(LENGTH files_of_${room} count)
    math(EXPR parts "(${count} + ${UNITED_FILES} - 1) / ${UNITED_FILES}")
    set(at 0)
    foreach(source IN LISTS files_of_${room})
      math(EXPR part "${at} * ${parts} / ${count}")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP "${room}_${part}")
      math(EXPR at "${at} + 1")
    endforeach()
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

function(ridge_layer name)
  cmake_parse_arguments(layer "LEAN" "" "DEPENDS;LINK;ROOMS;SOURCES;EXCLUDE;FAST" ${ARGN})
  set(patterns ${layer_ROOMS})
  list(TRANSFORM patterns APPEND "/*.cpp")
  file(GLOB sources CONFIGURE_DEPENDS *.cpp ${patterns})
  foreach(excluded IN LISTS layer_EXCLUDE)
    list(REMOVE_ITEM sources ${CMAKE_CURRENT_SOURCE_DIR}/${excluded})
  endforeach()
  add_library(ridge_${name} STATIC ${sources} ${layer_SOURCES})
  ridge_unite_rooms(ridge_${name} ${sources})
  add_library(ridge::${name} ALIAS ridge_${name})
  set_target_properties(ridge_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(ridge_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/ridge/internal>)
  target_compile_features(ridge_${name} PUBLIC cxx_std_20)
  foreach(dependency IN LISTS layer_DEPENDS)
    target_link_libraries(ridge_${name} PUBLIC ridge::${dependency})
  endforeach()
  target_link_libraries(ridge_${name} PRIVATE ${layer_LINK} $<BUILD_INTERFACE:ridge_options>)
  if(layer_LEAN)
    set(level -O1)
    if(RIDGE_SANITIZE)
      set(level -O0)
    endif()
    target_compile_options(ridge_${name} PRIVATE "$<$<CONFIG:Release,RelWithDebInfo>:${level}>")
    set_source_files_properties(${layer_FAST} PROPERTIES
      COMPILE_OPTIONS "$<$<CONFIG:Release,RelWithDebInfo>:-O2>" SKIP_PRECOMPILE_HEADERS ON)
  endif()
  # A precompiled header fits the same definitions and optimisation only: layers that link fmt share the one of the
  # first of them, LEAN ones another.
  if(RIDGE_PRECOMPILE AND NOT "fmt::fmt" IN_LIST layer_LINK)
    target_precompile_headers(ridge_${name} PRIVATE ${ridge_common_headers})
  elseif(RIDGE_PRECOMPILE)
    get_property(owner GLOBAL PROPERTY ridge_precompiled_${layer_LEAN})
    if(owner)
      target_precompile_headers(ridge_${name} REUSE_FROM ${owner})
    else()
      target_precompile_headers(ridge_${name} PRIVATE <fmt/format.h> ${ridge_common_headers})
      set_property(GLOBAL PROPERTY ridge_precompiled_${layer_LEAN} ridge_${name})
    endif()
  endif()
endfunction()
