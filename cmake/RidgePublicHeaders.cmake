# The headers that users may include are ridge/*.h. This script finds them and, transitively, the project's headers
# that they include, and installs the first as include/ridge/NAME.h and the others under include/ridge/internal/.
# Nothing else is installed. `cmake --install` runs it; so does the API reference, for which it prints the list:
#
#   cmake -DROOT=. -P cmake/RidgePublicHeaders.cmake

cmake_policy(VERSION 3.25)

function(ridge_public_headers root result)
  file(GLOB found RELATIVE ${root} ${root}/ridge/*.h)
  set(open ${found})
  while(open)
    list(POP_FRONT open header)
    file(STRINGS ${root}/${header} lines REGEX "^#include \"")
    foreach(line IN LISTS lines)
      string(REGEX REPLACE "^#include \"([^\"]+)\".*" "\\1" included "${line}")
      if(EXISTS ${root}/${included} AND NOT included IN_LIST found)
        list(APPEND found ${included})
        list(APPEND open ${included})
      endif()
    endforeach()
  endwhile()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

get_filename_component(ROOT "${ROOT}" ABSOLUTE)
ridge_public_headers(${ROOT} headers)
if(CMAKE_INSTALL_PREFIX AND INCLUDE_FOLDER)
  foreach(header IN LISTS headers)
    get_filename_component(folder ${header} DIRECTORY)
    if(NOT folder STREQUAL ridge)
      set(folder ridge/internal/${folder})
    endif()
    file(INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/${INCLUDE_FOLDER}/${folder}" TYPE FILE FILES ${ROOT}/${header})
  endforeach()
else()
  list(JOIN headers "\n" lines)
  execute_process(COMMAND ${CMAKE_COMMAND} -E echo "${lines}")
endif()
