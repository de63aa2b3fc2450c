# Writes a C++ source that holds description files as text. Run as a script:
#   cmake -DROOT=<source root> -DOUTPUT=<file.cpp> "-DFILES=a.toml|b.toml"
#         -DHEADER=<header> -DNAMESPACE=<namespace> -DFUNCTION=<function> -P RidgeEmbed.cmake
# The header declares the function, which returns the files as hardware::EmbeddedFile.

string(REPLACE "|" ";" files "${FILES}")
list(SORT files)
set(body "")
foreach(path IN LISTS files)
  file(READ "${ROOT}/${path}" text)
  if(text MATCHES "\\)ridge_toml\"")
    message(FATAL_ERROR "${path} contains the delimiter of the embedded text")
  endif()
  # A string_view literal has a known length; counting it would take the compiler one step per byte.
  string(APPEND body "    {\"${path}\", R\"ridge_toml(${text})ridge_toml\"sv},\n")
endforeach()
list(LENGTH files count)
file(WRITE "${OUTPUT}.new" "// Written by cmake/RidgeEmbed.cmake; do not edit.
#include \"${HEADER}\"

#include <array>
#include <string_view>

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
