// Geometry of the bundled attention kernels: tiles of queries and keys, splits of the keys, grids.
//
//   constexpr AttentionExtents call{.heads = 32, .kv_heads = 8, .queries = 1, .keys = 8192};
//   decode_splits(call, 132)               // 31 parts of the keys
//   decode_grid(call, 31).blocks()         // 248
//
// Method: mma_sync has one block per head and tile of queries. wgmma is persistent: one block per
// multiprocessor takes tile after tile. The decode kernel packs the query heads that share a
// key-value head into one tile and splits the keys; a second kernel combines the parts.
//
// Limits: elements of two bytes, head_dim 64 or 128.
#pragma once

#include <algorithm>
#include <array>

#include "model/bundled/launch_grid.h"

namespace ridge::model::bundled {

struct AttentionExtents {
    std::int64_t batch = 1;
    std::int64_t heads = 1;
    std::int64_t kv_heads = 1;
    std::int64_t queries = 1;
    std::int64_t keys = 1;
    std::int64_t head_dim = 128;
    bool causal = false;

    /// Query heads that share a key-value head.
    [[nodiscard]] constexpr std::int64_t group() const { return heads / kv_heads; }
};

struct AttentionKernel {
    std::int32_t queries = 0;  ///< of a tile
    std::int32_t keys = 0;     ///< of a block of keys
    std::int32_t threads = 0;
    std::int32_t stages = 2;         ///< blocks of keys in shared memory
    std::int32_t blocks_per_sm = 1;  ///< that share a multiprocessor if it has room
    std::int64_t shared_bytes = 0;
};

inline constexpr std::int64_t attention_element = 2;  ///< bytes

/// Shared memory holds Q, and two buffers each of K and V.
[[nodiscard]] constexpr AttentionKernel attention_mma_sync(std::int64_t head_dim) {
    constexpr std::int32_t queries = 128;
    constexpr std::int32_t keys = 64;
    constexpr std::int32_t stages = 2;
    return {.queries = queries,
            .keys = keys,
            .threads = 128,
            .stages = stages,
            .blocks_per_sm = 2,
            .shared_bytes = (queries + 2 * stages * keys) * head_dim * attention_element};
}

inline constexpr std::int32_t attention_warpgroup = 128;      ///< threads
inline constexpr std::int32_t attention_warpgroup_rows = 64;  ///< queries

/// A producer warpgroup and two or three consumer warpgroups of 64 queries each. Shared memory
/// holds Q, the stages of K and V, the numbers of tiles, and two barriers of each consumer and
/// stage, in whole KiB for the copy engine.
[[nodiscard]] constexpr AttentionKernel attention_wgmma(std::int64_t head_dim, bool causal) {
    constexpr std::int32_t stages = 2;
    const std::int32_t consumers = head_dim == 128 ? 2 : 3;
    const std::int32_t queries = consumers * attention_warpgroup_rows;
    const std::int32_t keys = head_dim == 128 && !causal ? 176 : 128;
    const std::int64_t operands = (queries + 2 * stages * keys) * head_dim * attention_element;
    const std::int64_t numbers = rounded_up((consumers + 1) * 4, 8);
    const std::int64_t barriers = (2 * consumers + 2 * 2 * stages) * 8;
    return {.queries = queries,
            .keys = keys,
            .threads = (1 + consumers) * attention_warpgroup,
            .stages = stages,
            .shared_bytes = rounded_up(operands + numbers + barriers, 1024)};
}

inline constexpr std::int32_t decode_slice = 16;  ///< keys that a warp takes at a time
inline constexpr std::int32_t decode_warps = 4;
inline constexpr std::int64_t decode_most_splits = 256;
inline constexpr std::int64_t decode_least_keys = 256;  ///< of a split

/// Each warp has its own ring of slices of K and V, 96 KiB in all.
[[nodiscard]] constexpr AttentionKernel attention_decode(std::int64_t head_dim) {
    const std::int32_t stages = head_dim == 128 ? 3 : 6;
    return {
        .queries = 16,
        .keys = decode_warps * decode_slice,
        .threads = decode_warps * warp_threads,
        .stages = stages,
        .blocks_per_sm = 2,
        .shared_bytes = decode_warps * stages * 2 * decode_slice * head_dim * attention_element};
}

/// Whether the decode kernel runs instead of mma_sync: at most 64 rows (queries x query heads)
/// share a key-value head, and there are more keys than queries.
[[nodiscard]] constexpr bool decodes(const AttentionExtents& extents) {
    constexpr std::int64_t most_rows = 64;
    return extents.queries * extents.group() <= most_rows && extents.keys > extents.queries;
}

/// Tiles of rows that share one key-value head.
[[nodiscard]] constexpr std::int64_t decode_row_tiles(const AttentionExtents& extents) {
    return ceil_divide(extents.queries * extents.group(),
                       attention_decode(extents.head_dim).queries);
}

/// The fewest splits, at most one per 256 keys, whose last wave is at least 95 % as full as the
/// best.
[[nodiscard]] constexpr std::int64_t decode_splits(const AttentionExtents& extents,
                                                   std::int64_t sm_count) {
    constexpr double full_enough = 0.95;
    const std::int64_t tiles = extents.batch * extents.kv_heads * decode_row_tiles(extents);
    const std::int64_t slots = attention_decode(extents.head_dim).blocks_per_sm * sm_count;
    const std::int64_t most =
        std::clamp<std::int64_t>(extents.keys / decode_least_keys, 1, decode_most_splits);
    std::array<double, decode_most_splits> fullness{};
    double best = 0.0;
    for (std::int64_t splits = 1; splits <= most; ++splits) {
        const std::int64_t blocks = tiles * splits;
        const double waves = static_cast<double>(blocks) / static_cast<double>(slots);
        const double full = waves / static_cast<double>(ceil_divide(blocks, slots));
        fullness[static_cast<std::size_t>(splits - 1)] = full;
        best = std::max(best, full);
    }
    std::int64_t splits = 1;
    while (fullness[static_cast<std::size_t>(splits - 1)] < full_enough * best) ++splits;
    return splits;
}

/// Keys of a split: whole blocks of keys.
[[nodiscard]] constexpr std::int64_t decode_keys_per_split(const AttentionExtents& extents,
                                                           std::int64_t splits) {
    return rounded_up(ceil_divide(extents.keys, splits), attention_decode(extents.head_dim).keys);
}

[[nodiscard]] constexpr LaunchGrid decode_grid(const AttentionExtents& extents,
                                               std::int64_t splits) {
    const AttentionKernel kernel = attention_decode(extents.head_dim);
    return {.x = splits,
            .y = decode_row_tiles(extents),
            .z = extents.batch * extents.kv_heads,
            .threads = kernel.threads,
            .shared_bytes = kernel.shared_bytes};
}

/// The kernel that combines the splits, with a block per query and head. Shared memory holds a
/// weight of each split and a value of each warp.
[[nodiscard]] constexpr LaunchGrid decode_combine_grid(const AttentionExtents& extents) {
    constexpr std::int64_t value = 4;  // bytes
    return {.x = extents.batch * extents.heads * extents.queries,
            .threads = static_cast<std::int32_t>(extents.head_dim),
            .shared_bytes = (decode_most_splits + extents.head_dim / warp_threads) * value};
}

[[nodiscard]] constexpr LaunchGrid attention_mma_sync_grid(const AttentionExtents& extents) {
    const AttentionKernel kernel = attention_mma_sync(extents.head_dim);
    return {.x = ceil_divide(extents.queries, kernel.queries),
            .y = extents.heads,
            .z = extents.batch,
            .threads = kernel.threads,
            .shared_bytes = kernel.shared_bytes};
}

/// Tiles of queries of all heads, which the blocks of wgmma take in turn.
[[nodiscard]] constexpr std::int64_t attention_wgmma_tiles(const AttentionExtents& extents) {
    const AttentionKernel kernel = attention_wgmma(extents.head_dim, extents.causal);
    return extents.batch * extents.heads * ceil_divide(extents.queries, kernel.queries);
}

[[nodiscard]] constexpr LaunchGrid attention_wgmma_grid(const AttentionExtents& extents,
                                                        std::int64_t sm_count) {
    const AttentionKernel kernel = attention_wgmma(extents.head_dim, extents.causal);
    return {.x = std::min(attention_wgmma_tiles(extents), sm_count),
            .threads = kernel.threads,
            .shared_bytes = kernel.shared_bytes};
}

/// Groups of heads that wgmma walks one after the other. The keys and values of each group fit in
/// two thirds of the L2.
[[nodiscard]] constexpr std::int64_t wgmma_head_groups(const AttentionExtents& extents,
                                                       std::int64_t l2_bytes) {
    const std::int64_t kv_bytes = 2 * extents.keys * extents.head_dim * attention_element;
    const std::int64_t together = std::max<std::int64_t>(1, l2_bytes * 2 / 3 / kv_bytes);
    const std::int64_t heads = extents.batch * extents.heads;
    return ceil_divide(heads, std::min(heads, together * extents.group()));
}

/// Heads of a group: groups of even size that hold whole key-value heads.
[[nodiscard]] constexpr std::int64_t wgmma_heads_per_group(const AttentionExtents& extents,
                                                           std::int64_t groups) {
    return rounded_up(ceil_divide(extents.batch * extents.heads, groups), extents.group());
}

}  // namespace ridge::model::bundled
