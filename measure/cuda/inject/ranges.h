// NVTX ranges of the program as records of the activity file.
//
// Method: NVTX hands its table of functions to a library that it is told to load
// (NVTX_INJECTION64_PATH); ours replace those that push, pop, start and end ranges, in the default domain
// and in named ones. A range's name is its message; a registered string is kept by its handle.
//
// Limits: marks, colours, payloads and categories are not kept. Ranges of several domains on one thread
// are taken to nest.
#pragma once

#include <cstdint>

namespace ridge::measure::cuda {

/// 1 where the functions were set, 0 where this NVTX has none.
[[nodiscard]] int set_range_functions(const void* (*export_table)(std::uint32_t));

}  // namespace ridge::measure::cuda
