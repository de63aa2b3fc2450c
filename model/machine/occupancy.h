// How many blocks of a kernel one SM can hold, and what limits it.
//
//   occupancy({.threads = 256, .registers = 128, .shared = 64.0 * units::KiB}, limits).blocks == 2
//   fewer_registers({.threads = 256, .registers = 128}, limits)    // 96: a third block fits
//
// Method: the minimum over threads, warps, blocks, registers (allocated per warp in units, within
// the partitions of the register file) and shared memory (allocated in units plus the driver's
// reserve); docs/model.md equation O1, after the CUDA occupancy calculator (cuda_occupancy.h).
//
// Limits: barriers and clusters are not counted; shared memory may use the largest carve-out.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "hardware/quantity.h"
#include "model/machine/machine.h"

namespace ridge::model {

/// The resources that one block requests.
struct BlockResources {
    std::int64_t threads = 0;
    std::int64_t registers = 0;  ///< per thread
    Bytes shared{};              ///< static and dynamic
};

enum class OccupancyLimiter : std::uint8_t { threads, blocks, registers, shared };
inline constexpr std::size_t occupancy_limiter_count = 4;

struct Occupancy {
    std::int64_t blocks = 0;  ///< per SM; 0 if a block cannot run at all
    std::int64_t warps = 0;   ///< per SM
    double fraction = 0.0;    ///< resident warps / maximum
    OccupancyLimiter limiter = OccupancyLimiter::blocks;
    /// Blocks that each resource alone would allow, by `OccupancyLimiter`; at most `limits.blocks`
    /// if a block uses none of it.
    std::array<std::int64_t, occupancy_limiter_count> by{};
};

[[nodiscard]] Occupancy occupancy(const BlockResources& block, const SmLimits& limits);
[[nodiscard]] std::string_view name_of(OccupancyLimiter limiter);

/// Resources that a warp and a block take of an SM, rounded up to the units of allocation.
[[nodiscard]] std::int64_t registers_of_warp(const BlockResources& block, const SmLimits& limits);
[[nodiscard]] Bytes shared_of_block(const BlockResources& block, const SmLimits& limits);

/// The most registers per thread, fewer than those of `block`, with which more blocks are resident;
/// empty if there is no such number.
[[nodiscard]] std::optional<std::int64_t> fewer_registers(const BlockResources& block,
                                                          const SmLimits& limits);
/// The most shared memory per block, less than that of `block`, with which more blocks are
/// resident.
[[nodiscard]] std::optional<Bytes> less_shared(const BlockResources& block, const SmLimits& limits);

/// The smallest carve-out that holds the resident blocks; empty if the L1 does not share its
/// memory.
[[nodiscard]] std::optional<Bytes> carveout_of(const BlockResources& block, const SmLimits& limits);

}  // namespace ridge::model
