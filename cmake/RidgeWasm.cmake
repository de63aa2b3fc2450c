# The libraries of a build for WebAssembly (`emcmake cmake --preset wasm`). Emscripten has none of them and must not
# see /usr/include, which belongs to another C library, so a folder of the build links to the headers of each.
# fmt and toml++ are compiled from their headers; wasm/zlib.h stands for zlib.

set(ridge_wasm_headers ${CMAKE_BINARY_DIR}/headers)
set(ridge_wasm_from "/usr/include" CACHE PATH "Folder with the headers of fmt, toml++, nlohmann-json, CLI11, Eigen, fast_float and protozero")
file(MAKE_DIRECTORY ${ridge_wasm_headers})
foreach(folder IN ITEMS fmt toml++ nlohmann CLI eigen3 fast_float protozero)
  if(NOT EXISTS ${ridge_wasm_from}/${folder})
    message(FATAL_ERROR "${ridge_wasm_from}/${folder} is missing; scripts/setup wasm installs it")
  endif()
  file(CREATE_LINK ${ridge_wasm_from}/${folder} ${ridge_wasm_headers}/${folder} SYMBOLIC)
endforeach()

foreach(library IN ITEMS fmt::fmt FastFloat::fast_float tomlplusplus::tomlplusplus nlohmann_json::nlohmann_json
                         CLI11::CLI11 Eigen3::Eigen Threads::Threads ZLIB::ZLIB)
  add_library(${library} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${library} SYSTEM INTERFACE ${ridge_wasm_headers})
endforeach()
target_include_directories(ZLIB::ZLIB SYSTEM INTERFACE ${CMAKE_CURRENT_LIST_DIR}/wasm)
target_include_directories(Eigen3::Eigen SYSTEM INTERFACE ${ridge_wasm_headers}/eigen3)
set(RIDGE_PROTOZERO_INCLUDE ${ridge_wasm_headers})
set(RIDGE_HAVE_CUDA OFF)

add_compile_options(-fwasm-exceptions)
add_link_options(-fwasm-exceptions)
