// How many blocks of a kernel one SM can hold, and what limits it.
//
//   occupancy({.threads = 256, .registers = 128, .shared = 64.0 * units::KiB}, limits).blocks == 2
//
// Method: the minimum over threads, warps, blocks, registers (allocated per warp in units) and
// shared memory (allocated in units plus the driver's reserve); docs/model.md equation O1, after
// the CUDA occupancy calculator.
#pragma once

#include <cstdint>
#include <string_view>

#include "hardware/quantity.h"
#include "model/machine/machine.h"

namespace ridge::model {

/// What one block asks for.
struct BlockResources {
    std::int64_t threads = 0;
    std::int64_t registers = 0;  ///< per thread
    Bytes shared{};              ///< static and dynamic
};

enum class OccupancyLimiter : std::uint8_t { threads, blocks, registers, shared };

struct Occupancy {
    std::int64_t blocks = 0;  ///< per SM; 0 when a block cannot run at all
    std::int64_t warps = 0;   ///< per SM
    double fraction = 0.0;    ///< resident warps / maximum
    OccupancyLimiter limiter = OccupancyLimiter::blocks;
};

[[nodiscard]] Occupancy occupancy(const BlockResources& block, const SmLimits& limits);
[[nodiscard]] std::string_view name_of(OccupancyLimiter limiter);

}  // namespace ridge::model
