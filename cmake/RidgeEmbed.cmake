# Writes a C++ source that holds description files as text. Run as a script:
#   cmake -DROOT=<source root> -DOUTPUT=<file.cpp> "-DFILES=a.toml|b.toml" -P RidgeEmbed.cmake

string(REPLACE "|" ";" files "${FILES}")
list(SORT files)
set(body "")
foreach(path IN LISTS files)
  file(READ "${ROOT}/${path}" text)
  if(text MATCHES "\\)ridge_toml\"")
    message(FATAL_ERROR "${path} holds the delimiter of the embedded text")
  endif()
  string(APPEND body "    {\"${path}\", R\"ridge_toml(${text})ridge_toml\"},\n")
endforeach()
list(LENGTH files count)
file(WRITE "${OUTPUT}.new" "// Written by cmake/RidgeEmbed.cmake; do not edit.
#include \"hardware/embedded.h\"

#include <array>

namespace ridge::hardware {
namespace {

constexpr std::array<EmbeddedFile, ${count}> files{{
${body}}};

}  // namespace

std::span<const EmbeddedFile> embedded_files() {
    return files;
}

}  // namespace ridge::hardware
")
file(COPY_FILE "${OUTPUT}.new" "${OUTPUT}")
file(REMOVE "${OUTPUT}.new")
