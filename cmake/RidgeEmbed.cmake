# Embeds files as text in a layer.
#
#   ridge_embed(ridge_embedded_presets          # variable that receives the source to compile
#     GLOBS programs/presets/*.json             # patterns below the source root; the list follows the folders
#     HEADER programs/configs/presets.h         # declares the function
#     NAMESPACE ridge::programs FUNCTION embedded_presets
#     REFUSE "regex")                           # optional: text that no file may contain
#
# The function returns the files, sorted by path, as a span of hardware::EmbeddedFile. The same file, run as a
# script while building, writes the source:
#   cmake -DROOT=<source root> -DOUTPUT=<file.cpp> "-DFILES=a.toml|b.toml" -DHEADER=... -DNAMESPACE=... -DFUNCTION=...
#         -DREFUSE=... -P RidgeEmbed.cmake

if(NOT CMAKE_SCRIPT_MODE_FILE)
  set(ridge_embed_script ${CMAKE_CURRENT_LIST_FILE})

  function(ridge_embed name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER;NAMESPACE;FUNCTION;REFUSE" "GLOBS")
    list(TRANSFORM arg_GLOBS PREPEND ${PROJECT_SOURCE_DIR}/)
    file(GLOB paths RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${arg_GLOBS})
    set(files ${paths})
    list(TRANSFORM files PREPEND ${PROJECT_SOURCE_DIR}/)
    list(JOIN paths "|" joined)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
    add_custom_command(
      OUTPUT ${output}
      COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUTPUT=${output} "-DFILES=${joined}"
              -DHEADER=${arg_HEADER} -DNAMESPACE=${arg_NAMESPACE} -DFUNCTION=${arg_FUNCTION} "-DREFUSE=${arg_REFUSE}"
              -P ${ridge_embed_script}
      DEPENDS ${files} ${ridge_embed_script}
      COMMENT "Embedding the files of ${arg_NAMESPACE}::${arg_FUNCTION}"
      VERBATIM)
    set(${name} ${output} PARENT_SCOPE)
  endfunction()

  return()
endif()

string(REPLACE "|" ";" files "${FILES}")
list(SORT files)
set(body "")
foreach(path IN LISTS files)
  file(READ "${ROOT}/${path}" text)
  if(text MATCHES "\\)ridge_text\"")
    message(FATAL_ERROR "${path} contains the delimiter of the embedded text")
  endif()
  if(REFUSE AND text MATCHES "${REFUSE}")
    message(FATAL_ERROR "${path} contains ${CMAKE_MATCH_0}, which embedded files here may not")
  endif()
  # A string_view literal has a known length; counting it would take the compiler one step per byte.
  string(APPEND body "    {\"${path}\", R\"ridge_text(${text})ridge_text\"sv},\n")
endforeach()
list(LENGTH files count)
file(WRITE "${OUTPUT}.new" "// Written by cmake/RidgeEmbed.cmake; do not edit.
#include \"${HEADER}\"

#include <array>
#include <string_view>

#include \"hardware/embedded.h\"

using namespace std::string_view_literals;

// C++ asks compilers for literals of 65536 characters; GCC and Clang take longer ones.
#pragma GCC diagnostic ignored \"-Woverlength-strings\"

namespace ${NAMESPACE} {
namespace {

constexpr std::array<hardware::EmbeddedFile, ${count}> files{{
${body}}};

}  // namespace

std::span<const hardware::EmbeddedFile> ${FUNCTION}() {
    return files;
}

}  // namespace ${NAMESPACE}
")
file(COPY_FILE "${OUTPUT}.new" "${OUTPUT}")
file(REMOVE "${OUTPUT}.new")
