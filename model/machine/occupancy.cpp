#include "model/machine/occupancy.h"

#include <array>
#include <cmath>

#include "hardware/checked.h"

namespace ridge::model {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
    return ceil_divide(value, unit) * unit;
}

/// Blocks that fit by registers. A kernel that uses none is not limited.
std::int64_t blocks_by_registers(const BlockResources& block, std::int64_t warps,
                                 const SmLimits& limits, std::int64_t unlimited) {
    if (block.registers <= 0) return unlimited;
    if (block.registers > limits.registers_per_thread) return 0;
    const std::int64_t per_warp =
        round_up(block.registers * limits.warp_size, limits.register_unit);
    // Registers live in the SM's four partitions, each of which holds whole warps.
    constexpr std::int64_t partitions = 4;
    const std::int64_t warps_held = limits.registers / partitions / per_warp * partitions;
    return warps_held / warps;
}

std::int64_t blocks_by_shared(const BlockResources& block, const SmLimits& limits,
                              std::int64_t unlimited) {
    const Bytes asked = block.shared + limits.shared_reserved;
    if (asked <= Bytes{}) return unlimited;
    if (block.shared > limits.shared_per_block) return 0;
    const double units_taken = std::ceil(asked / limits.shared_unit);
    return static_cast<std::int64_t>(limits.shared / (units_taken * limits.shared_unit));
}

}  // namespace

Occupancy occupancy(const BlockResources& block, const SmLimits& limits) {
    const std::int64_t warps = ceil_divide(block.threads, limits.warp_size);
    if (warps < 1 || block.threads > limits.threads_per_block) return {};
    struct Candidate {
        std::int64_t blocks;
        OccupancyLimiter limiter;
    };
    const std::array candidates{
        Candidate{limits.warps / warps, OccupancyLimiter::threads},
        Candidate{limits.blocks, OccupancyLimiter::blocks},
        Candidate{blocks_by_registers(block, warps, limits, limits.blocks),
                  OccupancyLimiter::registers},
        Candidate{blocks_by_shared(block, limits, limits.blocks), OccupancyLimiter::shared}};
    Candidate least = candidates.front();
    for (const Candidate& candidate : candidates) {
        if (candidate.blocks < least.blocks) least = candidate;
    }
    const std::int64_t resident = least.blocks * warps;
    return {.blocks = least.blocks,
            .warps = resident,
            .fraction = static_cast<double>(resident) / static_cast<double>(limits.warps),
            .limiter = least.limiter};
}

std::string_view name_of(OccupancyLimiter limiter) {
    constexpr std::array<std::string_view, 4> names{"threads", "blocks", "registers",
                                                    "shared memory"};
    return names[static_cast<std::size_t>(limiter)];
}

}  // namespace ridge::model
