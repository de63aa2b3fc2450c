#include "model/machine/occupancy.h"

#include <algorithm>
#include <cmath>

#include "hardware/checked.h"

namespace ridge::model {
namespace {

std::int64_t warps_of(const BlockResources& block, const SmLimits& limits) {
    return ceil_divide(block.threads, limits.warp_size);
}

/// Blocks that fit by registers. A kernel that uses no registers is not limited.
std::int64_t blocks_by_registers(const BlockResources& block, const SmLimits& limits) {
    if (block.registers <= 0) return limits.blocks;
    if (block.registers > limits.registers_per_thread) return 0;
    const std::int64_t warps = warps_of(block, limits);
    const std::int64_t per_warp = registers_of_warp(block, limits);
    // One block is checked as if its warps were spread evenly over four partitions, even if there
    // are two.
    constexpr std::int64_t checked = 4;
    const std::int64_t assumed = per_warp * ceil_divide(warps, checked) * checked;
    if (assumed > limits.registers_per_block) return 0;
    const std::int64_t warps_held =
        limits.registers / limits.partitions / per_warp * limits.partitions;
    return warps_held / warps;
}

std::int64_t blocks_by_shared(const BlockResources& block, const SmLimits& limits) {
    const Bytes taken = shared_of_block(block, limits);
    if (taken <= Bytes{}) return limits.blocks;
    if (block.shared > limits.shared_per_block) return 0;
    return static_cast<std::int64_t>(limits.shared / taken);
}

}  // namespace

std::int64_t registers_of_warp(const BlockResources& block, const SmLimits& limits) {
    return ceil_divide(block.registers * limits.warp_size, limits.register_unit) *
           limits.register_unit;
}

Bytes shared_of_block(const BlockResources& block, const SmLimits& limits) {
    return std::ceil((block.shared + limits.shared_reserved) / limits.shared_unit) *
           limits.shared_unit;
}

Occupancy occupancy(const BlockResources& block, const SmLimits& limits) {
    if (block.threads < 1 || block.threads > limits.threads_per_block) {
        return {.limiter = OccupancyLimiter::threads};
    }
    const std::int64_t warps = warps_of(block, limits);
    Occupancy found;
    found.by = {limits.warps / warps, limits.blocks, blocks_by_registers(block, limits),
                blocks_by_shared(block, limits)};
    const auto* const least = std::min_element(found.by.begin(), found.by.end());
    found.blocks = *least;
    found.warps = found.blocks * warps;
    found.fraction = static_cast<double>(found.warps) / static_cast<double>(limits.warps);
    found.limiter = static_cast<OccupancyLimiter>(least - found.by.begin());
    return found;
}

std::string_view name_of(OccupancyLimiter limiter) {
    constexpr std::array<std::string_view, occupancy_limiter_count> names{
        "threads", "blocks", "registers", "shared memory"};
    return names[static_cast<std::size_t>(limiter)];
}

std::optional<std::int64_t> fewer_registers(const BlockResources& block, const SmLimits& limits) {
    const std::int64_t resident = occupancy(block, limits).blocks;
    BlockResources less = block;
    while (--less.registers > 0) {
        if (occupancy(less, limits).blocks > resident) return less.registers;
    }
    return std::nullopt;
}

std::optional<Bytes> less_shared(const BlockResources& block, const SmLimits& limits) {
    const Occupancy now = occupancy(block, limits);
    if (block.shared <= Bytes{} || now.limiter != OccupancyLimiter::shared) return std::nullopt;
    // One more block takes whole units of its share.
    const double share = limits.shared / static_cast<double>(now.blocks + 1) / limits.shared_unit;
    const Bytes left = std::min(std::floor(share) * limits.shared_unit - limits.shared_reserved,
                                limits.shared_per_block);
    if (left < Bytes{}) return std::nullopt;
    BlockResources less = block;
    less.shared = left;
    if (occupancy(less, limits).blocks <= now.blocks) return std::nullopt;
    return left;
}

std::optional<Bytes> carveout_of(const BlockResources& block, const SmLimits& limits) {
    const std::int64_t resident = occupancy(block, limits).blocks;
    const Bytes needed = static_cast<double>(resident) * shared_of_block(block, limits);
    for (const Bytes size : limits.shared_carveouts) {
        if (size >= needed) return size;
    }
    return std::nullopt;
}

}  // namespace ridge::model
