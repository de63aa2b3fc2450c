// Records the program's NVTX ranges in the activity file.
//
// Method: NVTX gives its function table to a library that it is told to load
// (NVTX_INJECTION64_PATH). Our functions replace those that push, pop, start and end ranges, in the
// default domain and in named ones. A range's name is its message; a registered string is stored by
// its handle.
//
// Limits: marks, colours, payloads and categories are not recorded. Ranges of several domains on
// one thread are assumed to nest.
#pragma once

#include <cstdint>

namespace ridge::measure::cuda {

/// Returns 1 if the functions were set, 0 if this NVTX does not have them.
[[nodiscard]] int set_range_functions(const void* (*export_table)(std::uint32_t));

}  // namespace ridge::measure::cuda
