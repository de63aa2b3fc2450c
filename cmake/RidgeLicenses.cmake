# Writes one file with the licences of everything compiled into the portable program, from the copyright
# files that Debian and Ubuntu install with each package. Run as a script:
#   cmake -DOUTPUT=LICENSES -DGCC=12 -DCUDA=OFF -DDOCS=/usr/share/doc -P RidgeLicenses.cmake
# If such a file is missing, as on other systems, the licence is only named with its address.

function(append_licence title)
  set(text "")
  foreach(package IN LISTS ARGN)
    if(text STREQUAL "" AND EXISTS "${DOCS}/${package}/copyright")
      file(READ "${DOCS}/${package}/copyright" text)
    endif()
  endforeach()
  if(text STREQUAL "")
    message(WARNING "No licence text in ${DOCS}/{${ARGN}}: ${OUTPUT} only names it")
  endif()
  string(REPEAT "=" 100 rule)
  file(APPEND "${OUTPUT}.new" "${rule}\n${title}\n${rule}\n\n${text}\n")
endfunction()

file(WRITE "${OUTPUT}.new"
  "The program ridge is licensed under the Apache License 2.0 (LICENSE). It contains the following:\n\n")
append_licence("fast_float: MIT, https://github.com/fastfloat/fast_float" libfast-float-dev)
append_licence("fmt: MIT, https://fmt.dev" libfmt-dev)
append_licence("toml++: MIT, https://marzer.github.io/tomlplusplus" libtomlplusplus-dev)
append_licence("CLI11: BSD-3-Clause, https://github.com/CLIUtils/CLI11" libcli11-dev)
append_licence("JSON for Modern C++: MIT, https://json.nlohmann.me" nlohmann-json3-dev)
append_licence("protozero: BSD-2-Clause, https://github.com/mapbox/protozero" libprotozero-dev)
append_licence("zlib: zlib licence, https://zlib.net" zlib1g-dev)
append_licence("Eigen: MPL-2.0, https://eigen.tuxfamily.org; its source is unchanged" libeigen3-dev)
append_licence("libstdc++ and libgcc: GPL-3.0 with the GCC Runtime Library Exception 3.1, https://gcc.gnu.org"
  libgcc-${GCC}-dev gcc-${GCC}-base gcc-12-base gcc-13-base gcc-14-base)
if(CUDA)
  string(REPEAT "=" 100 rule)
  file(APPEND "${OUTPUT}.new"
    "${rule}\nNVIDIA CUDA runtime: CUDA Toolkit End User License Agreement, https://docs.nvidia.com/cuda/eula\n${rule}\n")
endif()
file(COPY_FILE "${OUTPUT}.new" "${OUTPUT}")
file(REMOVE "${OUTPUT}.new")
