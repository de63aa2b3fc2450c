// Sectors of 32 bytes that runs of bytes touch, averaged over their starts (docs/model.md M23): a
// run of w bytes that starts at multiples of g bytes touches (w + 32 - g) / 32.
//
//   bytes_in_runs(row, 128)   // for a row of `row` bytes that is moved 128 bytes at a time
#pragma once

#include <cstdint>

#include "hardware/checked.h"

namespace ridge::model {

inline constexpr std::int64_t sector_size = 32;

/// Bytes that a run which begins at multiples of `granularity` touches beyond its own.
[[nodiscard]] constexpr double beside_run(std::int64_t granularity) {
    const std::int64_t either = granularity | sector_size;
    return static_cast<double>(sector_size - (either & -either));  // a sector is a power of two
}

/// Bytes of a row in whole sectors, moved in runs of `run` bytes. Where runs meet, they touch the
/// share `share` of the common sectors twice.
[[nodiscard]] constexpr double bytes_in_runs(std::int64_t row, std::int64_t run,
                                             double share = 1.0) {
    return static_cast<double>(row) + share * static_cast<double>(ceil_divide(row, run)) *
                                          beside_run(row | run);  // their gcd's power of 2
}

}  // namespace ridge::model
